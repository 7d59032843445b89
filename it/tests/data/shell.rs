//! `gerbil hadoop fs` beside Hadoop's own shell: the same commands on the same files leave the same, and say the same.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::{Finished, Run, session};

pub const CASES: &[(&str, Case)] = &[(
    "gerbil hadoop fs puts and gets folders as Hadoop's shell does",
    folders,
)];

/// Who does it, and below which name in HDFS and here.
#[derive(Clone, Copy)]
enum Shell {
    Ours,
    Hadoops,
}

impl Shell {
    const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Hadoops => "theirs",
        }
    }

    /// With a line as its standard input.
    fn run(self, given: &Given, words: &[&str]) -> Result<Finished> {
        let run = match self {
            Self::Ours => {
                let words = [&["hadoop", "fs"], words].concat();
                session::command(given, &words)?
            }
            Self::Hadoops => {
                let class = "org.apache.hadoop.fs.FsShell";
                Run::new(given.cluster.tool(class, words)).deadline(DEADLINE)
            }
        };
        run.stdin(b"a line\n".to_vec()).finish()
    }
}

fn folders(given: &Given) -> Result<()> {
    let here = given.folder.join("shell");
    for (name, text) in [
        ("tree/a", "a\n"),
        ("tree/two words", "b\n"),
        ("tree/below/c", "c\n"),
        ("tree/below/deeper/d", "d\n"),
        ("one", "1\n"),
    ] {
        let path = here.join(name);
        fs::create_dir_all(path.parent().context("no folder")?)?;
        fs::write(path, text)?;
    }
    fs::create_dir(here.join("tree/none"))?;
    // More than are written at once.
    fs::create_dir(here.join("tree/many"))?;
    for number in 0..40 {
        let path = here.join(format!("tree/many/{number}"));
        fs::write(path, format!("{number}\n"))?;
    }
    let tree = here.join("tree").display().to_string();
    let one = here.join("one").display().to_string();
    let missing = here.join("missing").display().to_string();
    let of = |shell: Shell| -> Result<Vec<(i32, BTreeSet<String>)>> {
        let name = shell.name();
        let (top, back) = (format!("/shell/{name}"), here.join(name));
        fs::create_dir(&back)?;
        let local = back.display().to_string();
        let at = |below: &str| format!("{top}/{below}");
        let mut told = Vec::new();
        for words in [
            &["-mkdir", "-p", &top][..],
            // It is new; it is there, and gets another one inside; that has the files already.
            &["-put", &tree, &at("new")],
            &["-put", &tree, &one, &at("new")],
            &["-put", &tree, &at("new")],
            &["-put", "-f", &tree, &at("new")],
            &["-put", &missing, &at("new")],
            &["-put", &tree, &at("new/one")],
            // Of two with one name the first is there.
            &["-put", &one, &format!("{tree}/../one"), &at("new/below")],
            &["-put", &tree, &one, &at("other")],
            &["-put", "-", &at("input")],
            &["-put", "-", &at("input")],
            &["-put", "-f", "-", &at("input")],
            &["-put", "-", &at("new")],
            &["-put", "-", &at("input/below")],
            &["-put", "-", &one, &at("new/below")],
            &["-appendToFile", "-", &at("input")],
            &["-appendToFile", &one, &one, &at("appended")],
            &["-get", &at("input"), &format!("{local}/input")],
            &["-get", &at("appended"), &format!("{local}/appended")],
            &["-get", &at("new"), &local],
            &["-get", &at("new/tree"), &format!("{local}/new")],
            &["-get", &at("new/one"), &format!("{local}/renamed")],
        ] {
            let finished = shell.run(given, words)?;
            let said = finished.stderr_text();
            let lines = said.lines().filter(|line| line.contains(": "));
            // Loggers of Hadoop have a time in front.
            let own = lines.filter(|line| !line.starts_with(|first: char| first.is_ascii_digit()));
            told.push((
                finished.code(),
                own.map(|line| line.replace(&top, "TOP").replace(&local, "LOCAL"))
                    .collect(),
            ));
        }
        Ok(told)
    };
    let (ours, theirs) = (of(Shell::Ours)?, of(Shell::Hadoops)?);
    for (number, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        ensure!(
            ours == theirs,
            "command {number}: {ours:?}, Hadoop: {theirs:?}"
        );
    }
    let listed = given.cluster.dfs(&["-ls", "-R", "/shell"])?.stdout_text();
    let below = |name: &str| -> BTreeSet<String> {
        let top = format!("/shell/{name}");
        let paths = listed.lines().filter_map(|line| line.split_once(&top));
        let kind = |line: &str| line.chars().next().unwrap_or_default();
        paths
            .map(|(line, path)| format!("{} {path}", kind(line)))
            .collect()
    };
    ensure!(
        below("ours") == below("theirs") && below("ours").len() > 12,
        "{listed}"
    );
    let read = |shell: Shell| files_below(&here.join(shell.name()));
    let (ours, theirs) = (read(Shell::Ours)?, read(Shell::Hadoops)?);
    ensure!(ours == theirs && ours.len() > 8, "{ours:?} {theirs:?}");
    Ok(())
}

/// Names below a folder of this machine, and what is in those that are files.
fn files_below(top: &Path) -> Result<BTreeSet<(PathBuf, Option<String>)>> {
    let mut all = BTreeSet::new();
    let mut rest = vec![top.to_owned()];
    while let Some(folder) = rest.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.strip_prefix(top)?.to_owned();
            if path.is_dir() {
                all.insert((name, None));
                rest.push(path);
            } else if !name.to_string_lossy().ends_with(".crc") {
                all.insert((name, Some(fs::read_to_string(&path)?)));
            }
        }
    }
    Ok(all)
}
