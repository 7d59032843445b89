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
    fails(&below, 1, "has counted -3 under g,c")?;
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
