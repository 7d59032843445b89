//! Hadoop Streaming's command lines on the cluster: what a node does that this machine alone does not.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use it::Finished;
use it::bed::{Case, Given};
use it::session::stop;

use crate::{files, mr, put, start};

pub const CASES: &[(&str, Case)] = &[
    (
        "old streaming scripts run, with an archive and a combiner, and fail with a sentence",
        scripts,
    ),
    (
        "elements of XML go through splits once, and tasks that write nothing leave no file",
        elements,
    ),
    (
        "streaming leaves out the records on which commands fail, and speaks typed bytes",
        skipping,
    ),
];

/// Bytes that a command may leave unread.
const UNREAD: usize = 128 << 10;

fn scripts(given: &Given) -> Result<()> {
    let words = "to be or not to be\n".repeat(2000);
    let input = put(given, "/streaming/in", &[("a", &words), ("b", "to cat\n")])?;
    drop(input);
    let few = "x\n".repeat(UNREAD / 2 - 100);
    put(given, "/streaming/few", &[("a", &few)])?;
    put(given, "/streaming/many", &[("a", &few.repeat(3))])?;
    fs::write(given.folder.join("known.txt"), "be\ncat\n")?;
    let mut tar = Command::new("tar");
    tar.args(["-czf", "known.tgz", "known.txt"])
        .current_dir(&given.folder);
    ensure!(tar.status()?.success(), "tar has failed");
    start(given)?;
    let archive = format!("{}#lists", given.folder.join("known.tgz").display());
    let count = "awk '{n[$1]+=$2} END {for (k in n) print k \"\\t\" n[k]}'";
    // The combiner prints in whatever order: each key comes to its reduce once a map.
    let done = streaming(
        given,
        "/streaming/in",
        "/streaming/counts",
        &[
            "-archives",
            &archive,
            "-mapper",
            "sh -c 'tr \" \" \"\\n\" | grep -x -f lists/known.txt | sed \"s/$/\\t1/\"'",
            "-combiner",
            count,
            "-reducer",
            count,
        ],
    )?;
    let done = done.success("gerbil mr streaming")?;
    let parts = files(given, "/streaming/counts")?;
    let text: Vec<u8> = parts
        .into_iter()
        .filter(|(name, _)| name.starts_with("part-"))
        .flat_map(|(_, part)| part)
        .collect();
    let mut lines: Vec<&str> = str::from_utf8(&text)?.lines().collect();
    lines.sort_unstable();
    ensure!(
        lines == ["be\t4000", "cat\t1"],
        "{lines:?} {}",
        done.stderr_text()
    );
    // More than Hadoop's own buffer hides is not left.
    let head = ["-mapper", "head -n 1", "-reducer", "NONE"];
    let left = streaming(given, "/streaming/many", "/streaming/left", &head)?;
    fails(&left, 1, "left more than 131072 bytes of its input unread")?;
    let below = "sh -c 'cat >/dev/null; echo reporter:counter:g,c,-3 >&2'";
    let below = streaming(
        given,
        "/streaming/few",
        "/streaming/below",
        &["-mapper", below, "-reducer", "NONE"],
    )?;
    let below = below.success("counting below 0")?;
    ensure!(
        below.stderr_text().contains("c=-3\n"),
        "{}",
        below.stderr_text()
    );
    let bad = [
        "-mapper",
        "cat",
        "-combiner",
        "sh -c 'echo no list >&2; exit 3'",
        "-reducer",
        "cat",
    ];
    let bad = streaming(given, "/streaming/few", "/streaming/bad", &bad)?;
    fails(&bad, 1, "combiner: ")?;
    fails(
        &bad,
        1,
        "ended with exit code 3; the last that it said: no list",
    )?;
    stop(given, "s")
}

fn elements(given: &Given) -> Result<()> {
    let page = |number: usize| format!("<p>{number}\n{}</p> between\n", "x".repeat(number % 90));
    let pages: String = (0..400).map(page).collect();
    put(given, "/elements/in", &[("pages.xml", &pages)])?;
    start(given)?;
    let reader = "StreamXmlRecordReader,begin=<p>,end=</p>";
    let options = |reduces: &'static str, mapper: &'static str| {
        let splits = "mapreduce.input.fileinputformat.split.maxsize=1000";
        [
            &["-D", splits, "-inputreader", reader, "-lazyOutput"][..],
            &["-numReduceTasks", reduces, "-mapper", mapper],
        ]
        .concat()
    };
    let parts = |output: &str| -> Result<Vec<(String, String)>> {
        let parts = files(given, output)?.into_iter();
        parts
            .filter(|(name, _)| name.starts_with("part-"))
            .map(|(name, part)| Ok((name, String::from_utf8(part)?)))
            .collect()
    };
    let all = options("0", "sed s/^.p.//;/x/d");
    streaming(given, "/elements/in", "/elements/all", &all)?.success("gerbil mr streaming")?;
    let all = parts("/elements/all")?;
    let mut numbers: Vec<usize> = all
        .iter()
        .flat_map(|(_, part)| part.split_whitespace())
        .filter_map(|word| word.parse().ok())
        .collect();
    numbers.sort_unstable();
    ensure!(
        numbers == (0..400).collect::<Vec<_>>() && all.len() > 10,
        "{} parts of {numbers:?}",
        all.len()
    );
    // Two of the maps print something, and one of the reduces.
    for (reduces, wanted) in [("0", 2), ("7", 1)] {
        let output = format!("/elements/of-{reduces}");
        let few = options(reduces, "sed -n /^<p>[23]07$/s/.*/k/p");
        streaming(given, "/elements/in", &output, &few)?.success("gerbil mr streaming")?;
        let few = parts(&output)?;
        let text: String = few.iter().map(|(_, part)| part.as_str()).collect();
        ensure!(
            few.len() == wanted && text == "k\t\nk\t\n",
            "{few:?} instead of {wanted}"
        );
    }
    stop(given, "s")
}

/// What Python raises on one key is a group's fault, and what awk exits on is a record's; both may be left out.
fn skipping(given: &Given) -> Result<()> {
    let line = |number: usize| match number {
        4000 | 4002 => "bad line\n".to_owned(),
        number => format!("k{} 1\n", number % 3),
    };
    let lines: String = (0..5000).map(line).collect();
    put(given, "/skipping/in", &[("a", &lines)])?;
    let adds = "import itertools, sys\nfor key, lines in itertools.groupby(sys.stdin, lambda line: line.split('\\t')[0]):\n    \
                if key == 'k1': raise ValueError('not ' + key)\n    print(key, sum(1 for _ in lines), sep='\\t')\n";
    fs::write(given.folder.join("adds.py"), adds)?;
    start(given)?;
    let adds = given.folder.join("adds.py").display().to_string();
    let options = [
        "-files",
        &adds,
        "-mapper",
        "awk '/bad/{print \"no such key\" > \"/dev/stderr\"; exit 3} {print $1 \"\\t\" $2}'",
        "-reducer",
        "python3 adds.py",
    ];
    let with = |more: &[&str], output: &str| {
        let all = [more, &options].concat();
        streaming(given, "/skipping/in", output, &all)
    };
    let bad = "/skipping/in/a, record 4000 at byte 20000: it begins with \"bad line\": `awk ";
    let done = with(&["--skip-bad", "2"], "/skipping/out")?.success("gerbil mr streaming")?;
    let said = done.stderr_text();
    for named in [
        bad,
        "record 4002 at byte ",
        "it begins with \"k1\\t1\"",
        "ValueError: not k1",
    ] {
        ensure!(said.contains(named), "no {named:?}: {said}");
    }
    let parts = files(given, "/skipping/out")?;
    let part = parts
        .get("part-00000")
        .map(|part| String::from_utf8_lossy(part));
    ensure!(
        part.as_deref() == Some("k0\t1666\nk2\t1666\n"),
        "{part:?}: {said}"
    );
    // As many as there are is too many.
    let few = with(&["--skip-bad", "1"], "/skipping/few")?;
    fails(&few, 1, "record 4002 at byte ")?;
    let none = with(&[], "/skipping/none")?;
    fails(&none, 1, "/skipping/in/a: `awk ")?;
    let typed = [
        "-io",
        "typedbytes",
        "-mapper",
        "head -c 18",
        "-reducer",
        "cat",
    ];
    streaming(given, "/skipping/in", "/skipping/typed", &typed)?.success("gerbil mr streaming")?;
    let parts = files(given, "/skipping/typed")?;
    let part = parts
        .get("part-00000")
        .map(|part| String::from_utf8_lossy(part));
    ensure!(part.as_deref() == Some("0\tk0 1\n"), "{part:?}");
    let broken = [
        "-io",
        "typedbytes",
        "-mapper",
        "sh -c 'cat >/dev/null; echo !'",
        "-reducer",
        "cat",
    ];
    let broken = streaming(given, "/skipping/in", "/skipping/broken", &broken)?;
    fails(&broken, 1, "at byte 0 of its output, type code 33: ")?;
    stop(given, "s")
}

/// `gerbil mr --session s streaming … OPTIONS`, a task tried once.
fn streaming(given: &Given, input: &str, output: &str, options: &[&str]) -> Result<Finished> {
    let once = ["-D", "mapreduce.map.maxattempts=1"];
    let ends = ["-input", input, "-output", output];
    // Options of all programs stand first.
    let line = [&["streaming"][..], &once, options, &ends].concat();
    mr(given, &line)?.finish()
}

fn fails(ran: &Finished, code: i32, sentence: &str) -> Result<()> {
    ensure!(
        ran.code() == code && ran.stderr_text().contains(sentence),
        "exit code {}, without {sentence:?}: {}",
        ran.code(),
        ran.stderr_text()
    );
    Ok(())
}
