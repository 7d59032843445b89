//! A job gives in a session what it gives with `--local`: the exit code, the reason, and each file of its output.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use it::bed::{Case, Given, text_of};
use it::mapreduce::{files, is_same, read, with_hdfs};
use it::session::stop;
use it::{Finished, mapreduce};
use storage::Storage;

use crate::{program, start};

pub const CASES: &[(&str, Case)] = &[
    ("inputs are read with --local as in a session", inputs),
    (
        "settings and outputs do with --local what they do in a session",
        settings,
    ),
    (
        "what mappers do wrong has with --local the outcome that it has in a session",
        mistakes,
    ),
];

/// Where the files of a case lie in HDFS.
const TREE: &str = "/agree";

/// A job that is run in both ways.
struct Tried<'a> {
    /// The example `faulty` instead of a word count.
    is_faulty: bool,
    options: &'a [&'a str],
    /// Below the folder `in` of the tree.
    inputs: &'a [&'a str],
    /// Below the tree; empty: one that nothing else has.
    output: &'a str,
    code: i32,
    /// What both say.
    words: &'a str,
}

/// A word count that ends well.
const COUNTED: Tried<'_> = Tried {
    is_faulty: false,
    options: &[],
    inputs: &["one.txt"],
    output: "",
    code: 0,
    words: "",
};

fn inputs(given: &Given) -> Result<()> {
    let long = [vec![b'l'; 3_000_000], b"\nshort\n".to_vec()].concat();
    let zipped = gzip(b"z y\nz\n")?;
    let cut = zipped.split_at(zipped.len() / 2).0;
    let all_bytes: Vec<u8> = (0..=255_u8).cycle().take(256 * 20).collect();
    let tree = Tree::new(given)?;
    for (name, bytes) in [
        ("one.txt", &b"a b\nb c\n"[..]),
        ("empty.txt", b""),
        ("open.txt", b"x y"),
        ("crlf.txt", b"a b\r\nb c\r\n"),
        ("bytes.txt", &all_bytes),
        ("long.txt", &long),
        ("flat/p1", b"a\na\na\n"),
        ("flat/p2", b"b\n"),
        ("flat/_SUCCESS", b""),
        ("flat/.p1.crc", b"hidden\n"),
        ("deep/p", b"a\n"),
        ("deep/below/p", b"deep\n"),
        ("whole.gz", &zipped),
        ("twice.gz", &[&zipped[..], &zipped[..]].concat()),
        ("cut.gz", cut),
        ("bad.gz", b"nothing of gzip"),
        ("bad.snappy", b"abc"),
        ("two words", b"s\n"),
        ("br{a}ce", b"b\n"),
        ("pct%20", b"p\n"),
        ("star*", b"s\n"),
        ("umläut", b"u\n"),
    ] {
        tree.put(name, bytes)?;
    }
    tree.make_folder("none")?;
    start(given)?;
    let plain: [&[&str]; 23] = [
        &["one.txt"],
        &["empty.txt"],
        &["open.txt"],
        &["crlf.txt"],
        &["bytes.txt"],
        &["long.txt"],
        &["flat"],
        &["flat/"],
        &["none"],
        &["whole.gz"],
        &["twice.gz"],
        &["two words"],
        &["br{a}ce"],
        &["pct%20"],
        &["star*"],
        &["umläut"],
        &["fl*"],
        &["{one,open}.txt"],
        &["[oe]*.txt"],
        &["./one.txt"],
        &["one.txt", "open.txt"],
        &["one.txt", "one.txt"],
        &["none", "one.txt"],
    ];
    for inputs in plain {
        tree.agrees(&Tried { inputs, ..COUNTED })?;
    }
    let refused: [(&str, i32, &str); 8] = [
        ("nothing", 64, "there is no such file"),
        ("no*thing", 64, "there is no such file"),
        ("one.txt/x", 64, "there is no such file"),
        ("deep", 64, "is a folder inside of an input folder"),
        ("bad.gz", 1, "Gzip data of"),
        ("cut.gz", 1, "Gzip data of"),
        ("bad.snappy", 1, "Snappy data of"),
        ("b*.gz", 1, "Gzip data of"),
    ];
    for (input, code, words) in refused {
        tree.agrees(&Tried {
            options: ONCE,
            inputs: &[input],
            code,
            words,
            ..COUNTED
        })?;
    }
    tree.agrees(&Tried {
        options: &[
            "-D",
            "mapreduce.input.fileinputformat.input.dir.recursive=true",
        ],
        inputs: &["deep"],
        ..COUNTED
    })?;
    stop(given, "s")
}

/// A map that fails is not tried again: a local one never is.
const ONCE: &[&str] = &["-D", "mapreduce.map.maxattempts=1"];

fn settings(given: &Given) -> Result<()> {
    let tree = Tree::new(given)?;
    let lines: String = (0..4000)
        .map(|line| format!("the quick {} fox\n", line % 97))
        .collect();
    tree.put("one.txt", lines.as_bytes())?;
    tree.put("../there/old", b"old\n")?;
    tree.put("../file", b"file\n")?;
    tree.make_folder("none")?;
    start(given)?;
    let taken = [
        "mapreduce.job.reduces=0",
        "mapreduce.job.reduces=7",
        "mapred.reduce.tasks=3",
        "mapreduce.input.fileinputformat.split.maxsize=1000",
        "mapreduce.output.fileoutputformat.compress=true",
        "mapreduce.map.output.compress=true",
        "mapreduce.task.io.sort.mb=1",
        "mapreduce.map.skip.maxrecords=5",
        "mapreduce.job.ubertask.enable=true",
    ];
    for setting in taken {
        tree.agrees(&Tried {
            options: &["-D", setting],
            ..COUNTED
        })?;
    }
    // Each reduce has a file, also where no map has given it anything.
    tree.agrees(&Tried {
        options: &["-D", "mapreduce.job.reduces=3"],
        inputs: &["none"],
        ..COUNTED
    })?;
    tree.agrees(&Tried {
        options: &["-D", "mapreduce.job.reduces=0"],
        inputs: &["none"],
        ..COUNTED
    })?;
    let refused = [
        ("mapreduce.job.reduces=-1", "mapreduce.job.reduces"),
        ("mapreduce.job.reduces=many", "mapreduce.job.reduces"),
        ("mapreduce.task.timeout=soon", "mapreduce.task.timeout"),
        (
            "mapreduce.output.fileoutputformat.compress=maybe",
            "mapreduce.output.fileoutputformat.compress",
        ),
        ("mapreduce.nonsense=1", "means nothing here"),
        ("nonsense", "a setting is NAME=VALUE"),
    ];
    for (setting, words) in refused {
        tree.agrees(&Tried {
            options: &["-D", setting],
            code: 64,
            words,
            ..COUNTED
        })?;
    }
    for (output, words) in [
        ("there", "there"),
        ("file", "the output is a folder"),
        ("file/x/y", "is a file"),
    ] {
        tree.agrees(&Tried {
            output,
            code: 64,
            words,
            ..COUNTED
        })?;
    }
    for output in ["a/b/c", "two words", "ends/"] {
        tree.agrees(&Tried { output, ..COUNTED })?;
    }
    stop(given, "s")
}

fn mistakes(given: &Given) -> Result<()> {
    let tree = Tree::new(given)?;
    let ends_well = ["status", "print", "stdin", "chdir", "own counters", "fork"];
    let fails = [
        ("panic", "this line is not empty"),
        ("error", "this line is refused"),
        ("exit", "ended its process with exit code 0"),
        ("abort", "was killed by signal 6"),
        ("params", "the job's params"),
        ("many counters", "the task counts under more than"),
    ];
    for name in ends_well.iter().chain(fails.iter().map(|(name, _)| name)) {
        tree.put(name, format!("good\n{name}\nfine\n").as_bytes())?;
    }
    start(given)?;
    let faulty = Tried {
        is_faulty: true,
        ..COUNTED
    };
    for input in ends_well {
        tree.agrees(&Tried {
            inputs: &[input],
            ..faulty
        })?;
    }
    for (input, words) in fails {
        let inputs = &[input];
        tree.agrees(&Tried {
            options: ONCE,
            inputs,
            code: 1,
            words,
            ..faulty
        })?;
        tree.agrees(&Tried {
            options: &["--skip-bad", "3"],
            inputs,
            ..faulty
        })?;
    }
    stop(given, "s")
}

/// The same files on this machine and in HDFS.
struct Tree<'a> {
    given: &'a Given,
    here: PathBuf,
    wordcount: String,
    faulty: String,
}

impl<'a> Tree<'a> {
    fn new(given: &'a Given) -> Result<Self> {
        let here = given.folder.join("agree");
        fs::create_dir_all(here.join("in"))?;
        let tree = Self {
            given,
            here,
            wordcount: program("wordcount")?,
            faulty: program("faulty")?,
        };
        tree.with_hdfs(async |hdfs| {
            hdfs.remove(TREE).await?;
            hdfs.make_folder(&format!("{TREE}/in")).await
        })?;
        Ok(tree)
    }

    fn with_hdfs<T>(
        &self,
        act: impl AsyncFnOnce(Storage) -> Result<T, storage::StorageError>,
    ) -> Result<T> {
        with_hdfs(&self.given.cluster, async |hdfs| Ok(act(hdfs).await?))
    }

    /// A file below `in`, or beside it behind `../`.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let name = match name.strip_prefix("../") {
            Some(beside) => beside.to_owned(),
            None => format!("in/{name}"),
        };
        let path = self.here.join(&name);
        fs::create_dir_all(path.parent().context("a path without a folder")?)?;
        fs::write(path, bytes)?;
        self.with_hdfs(async |hdfs| hdfs.write(&format!("{TREE}/{name}"), bytes.to_vec()).await)
    }

    fn make_folder(&self, name: &str) -> Result<()> {
        fs::create_dir_all(self.here.join("in").join(name))?;
        self.with_hdfs(async |hdfs| hdfs.make_folder(&format!("{TREE}/in/{name}")).await)
    }

    /// Runs a job in both ways.
    fn agrees(&self, tried: &Tried<'_>) -> Result<()> {
        let both = format!("{:?} {:?} {:?}", tried.options, tried.inputs, tried.output);
        let output = match tried.output {
            "" => "fresh",
            named => named,
        };
        let local = self.run(&["--local"], &text_of(&self.here)?, output, tried)?;
        let session = self.run(&["--session", "s"], TREE, output, tried)?;
        for (way, finished) in [("--local", &local), ("in a session", &session)] {
            let said = finished.stderr_text();
            ensure!(
                finished.code() == tried.code && said.contains(tried.words),
                "{both} {way}: {} instead of {}, with {:?}: {said}",
                finished.code(),
                tried.code,
                tried.words
            );
        }
        let (here, there) = (self.here.join(output), format!("{TREE}/{output}"));
        if tried.code == 0 {
            let ours = files(&self.given.cluster, &there);
            is_same(&read(&here)?, &ours?).with_context(|| both.clone())?;
        }
        if tried.output.is_empty() {
            drop(fs::remove_dir_all(&here));
            self.with_hdfs(async |hdfs| hdfs.remove(&there).await)?;
        }
        Ok(())
    }

    fn run(&self, way: &[&str], tree: &str, output: &str, tried: &Tried<'_>) -> Result<Finished> {
        let program = match tried.is_faulty {
            true => &self.faulty,
            false => &self.wordcount,
        };
        let inputs = tried.inputs.iter().map(|name| format!("{tree}/in/{name}"));
        let mut paths: Vec<String> = inputs.collect();
        paths.push(format!("{tree}/{output}"));
        let mut line = [way, tried.options, &[program]].concat();
        line.extend(paths.iter().map(String::as_str));
        let run = mapreduce::mr(&self.given.cluster, &self.given.folder, &line)?;
        run.deadline(it::bed::DEADLINE).finish()
    }
}

/// What `gzip` makes of it.
fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut child = Command::new("gzip")
        .arg("-c")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().context("gzip reads nothing")?;
    std::io::Write::write_all(&mut input, bytes)?;
    drop(input);
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("gzip ended with {}", output.status);
    }
    Ok(output.stdout)
}
