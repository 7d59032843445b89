//! A program that speaks the task protocol, and says untrue things of its map's output: a whole job of it, with client,
//! ApplicationMaster and launchers.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::local::User;

/// What the program does to the index, or to the file that comes with it, before it sends both; and what is said of it.
/// The output has two partitions of three records and 53 bytes each.
const FORGED: [(&str, &str); 10] = [
    (
        "index[1]['length'] += 1000",
        "has 1053 bytes from byte 53 on as partition 1, and the file has 106 bytes",
    ),
    (
        "index[1]['offset'] = 1 << 62",
        "has 53 bytes from byte 4611686018427387904 on as partition 1, and the file has 106 bytes",
    ),
    (
        "index[1]['offset'] -= 1",
        "has partition 1 begin at byte 52, and the one before it end at byte 53",
    ),
    (
        "index.reverse()",
        "has partition 1 begin at byte 0, and the one before it end at byte 106",
    ),
    ("index.pop()", "has 1 partitions, and the job 2 reduces"),
    (
        "index.extend(index * 5000)",
        "has 10002 partitions, and the job 2 reduces",
    ),
    (
        "index[0]['records'] = (1 << 64) - 1",
        "has 18446744073709551615 records in 53 bytes as partition 0",
    ),
    (
        "index[0]['offset'] = -1",
        "a message on the task socket that makes no sense: partitions: offset: -1 is no u64",
    ),
    (
        "output = (os.open('/', os.O_RDONLY),)",
        "what it handed over as its output is no file",
    ),
    (
        "[say({'type': 'status', 'text': ''}, *output) for _ in range(20)]",
        "messages on the task socket with descriptors that do not belong to them",
    ),
];

/// The example of a task in Python, with a statement before it sends a map's output.
pub(super) fn program(folder: &Path, name: &str, statement: &str) -> PathBuf {
    let example = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../container-launcher/mapreduce/protocol/examples/wordcount.py");
    let text = std::fs::read_to_string(example).unwrap();
    let sends = "    say({\"type\": \"map_done\"";
    let ends = "\"partitions\": partitions}, output)";
    assert_eq!(
        (text.matches(sends).count(), text.matches(ends).count()),
        (1, 1)
    );
    let forged = format!("    index, output = partitions, (output,)\n    {statement}\n{sends}");
    let text = text
        .replace(sends, &forged)
        .replace(ends, "\"partitions\": index}, *output)")
        .replace("    os.close(output)\n", "")
        .replace("\"drives\": True", "\"drives\": False");
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_a_program_forges_fails_its_map_and_no_reduce_reads_by_it() {
    let user = User::new();
    let folder = user.folder.path();
    let start = ["session", "start", "here", "--local"];
    let (code, _, said) = user.gerbil(&start).await;
    assert_eq!(code, Some(0), "{said}");
    std::fs::write(folder.join("in"), "a b c d e f\n").unwrap();
    let at = |name: &str| format!("file:{}", folder.join(name).display());
    let mr = async |name: &str, statement: &str| {
        let program = program(folder, name, statement).display().to_string();
        let words = [
            "mr",
            "--session",
            "here",
            "-D",
            "mapreduce.job.reduces=2",
            "-D",
            "mapreduce.map.maxattempts=1",
            &program,
            &at("in"),
            &at(&format!("out-{name}")),
        ];
        user.gerbil(&words).await
    };
    for (number, (statement, sentence)) in (0..).zip(FORGED) {
        let name = format!("forged-{number}");
        let (code, _, said) = mr(&name, statement).await;
        assert_eq!(code, Some(1), "{statement}: {said}");
        let is_why = |line: &str| {
            let (_, why) = line
                .split_once("wordcount: map 0 failed: ")
                .unwrap_or_default();
            // The node that says it stands first.
            let (_, why) = why.split_once("map 0: ").unwrap_or_default();
            why.trim_start_matches("the index of its output ") == sentence
        };
        assert!(said.lines().any(is_why), "{statement}: {said}");
        assert!(!said.contains("panicked"), "{statement}: {said}");
        assert!(said.contains("1 attempt failed"), "a reduce began: {said}");
        assert!(!folder.join(format!("out-{name}")).exists(), "{statement}");
    }
    // Launchers and session go on, and the same program without a forgery is right.
    let (code, _, said) = mr("true", "pass").await;
    assert_eq!(code, Some(0), "{said}");
    let part = |number| {
        let path = folder.join(format!("out-true/part-r-0000{number}"));
        std::fs::read_to_string(path).unwrap()
    };
    assert_eq!(part(0) + &part(1), "d\t1\ne\t1\nf\t1\na\t1\nb\t1\nc\t1\n");
    let (code, _, said) = user.gerbil(&["session", "stop", "here"]).await;
    assert_eq!(code, Some(0), "{said}");
    user.until_nothing_is_left().await;
}
