//! Runs a row, and compares what became of it with what the row says.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::{FailureRow, Surroundings};
use crate::program::{Bed, command, example};

/// Variable by which a row's processes are found.
#[cfg(test)]
const MARK: &str = "HOW_IT_FAILS";

/// The command of a row, marked by `mark`.
#[cfg(test)]
fn run_of(row: &FailureRow, bed: &Bed, mark: &str) -> Command {
    let output = match row.place {
        Surroundings::SmallOutput => "small/out",
        _ => "out",
    };
    let options = [&["--local", "--quiet"], row.options].concat();
    let job = command(
        row.program,
        &options,
        &[&bed.at(row.name), &bed.at(output)],
        &[],
    );
    let is_root = rustix::process::geteuid().is_root();
    let mut run = match row.place {
        Surroundings::AsNobody if is_root => {
            // Who needs the program, and folders to write to.
            fs::copy(example("faulty"), bed.path("faulty")).unwrap();
            for folder in [".", "spills"] {
                let mode = fs::Permissions::from_mode(0o777);
                fs::set_permissions(bed.path(folder), mode).unwrap();
            }
            let mut other = Command::new("setpriv");
            other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
            other.arg(bed.path("faulty")).args(job.get_args());
            other
        }
        Surroundings::SmallSpills | Surroundings::SmallOutput => {
            fs::create_dir(bed.path("small")).unwrap();
            let folder = match row.place {
                Surroundings::SmallSpills => bed.at("spills"),
                _ => bed.at("small"),
            };
            // What is left on the small disk is looked at before it goes with the namespace.
            let script = format!(
                "mount -t tmpfs -o size=512k none {folder} && \"$@\"; code=$?; left=$(ls -A {folder}); test -z \
                 \"$left\" || echo \"left: $left\" >&2; exit $code"
            );
            let mut shell = mounting();
            shell.args(["sh", "-c", &script, "sh"]);
            shell.arg(job.get_program()).args(job.get_args());
            shell
        }
        _ => job,
    };
    if let Surroundings::Odd(role) = row.place {
        run.env("FAULTY_PLAN", role);
    }
    run.env("TMPDIR", bed.path("spills")).env(MARK, mark);
    run
}

/// What goes before a command that mounts what nobody else sees: anybody may, but root himself, in a namespace where he
/// is root.
#[cfg(test)]
pub(super) fn mounting() -> Command {
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command.arg("--mount");
    command
}

/// Whether `text` is `pattern`, in which `*` stands for anything.
#[cfg(test)]
fn is_like(text: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => text == pattern,
        Some((before, rest)) => text.strip_prefix(before).is_some_and(|text| {
            (0..=text.len()).any(|at| text.get(at..).is_some_and(|text| is_like(text, rest)))
        }),
    }
}

/// Processes that have `mark` in their environment, which are ended: none should be there.
#[cfg(test)]
fn marked(mark: &str) -> Vec<String> {
    let mark = format!("{MARK}={mark}\0");
    let processes = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let environment = fs::read(entry.path().join("environ")).ok()?;
            let is_marked = environment
                .windows(mark.len())
                .any(|part| part == mark.as_bytes());
            let command = fs::read(entry.path().join("cmdline")).ok()?;
            is_marked.then(|| String::from_utf8_lossy(&command).into_owned())
        });
    processes.collect()
}

/// Runs a row; what is not as it should be.
#[cfg(test)]
fn wrong(row: &FailureRow) -> Vec<String> {
    let bed = Bed::new();
    fs::create_dir(bed.path("spills")).unwrap();
    (row.input)(&bed);
    let mark = bed.at("");
    let done = run_of(row, &bed, &mark).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    let mut wrong = Vec::new();
    if done.status.code() != Some(row.code) {
        wrong.push(format!("exit code {:?}", done.status.code()));
    }
    // A panic is told by Rust itself, too, and what a mapper prints is its own affair.
    let sentences: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix(row.program)?.strip_prefix(": "))
        .collect();
    let says = row.says.replace("{}", bed.at("").trim_end_matches('/'));
    match (sentences.as_slice(), says.as_str()) {
        ([], "") => {}
        ([sentence], says) if is_like(sentence, says) => {}
        _ => wrong.push(format!("it said {sentences:#?}")),
    }
    if said.contains("left: ") {
        wrong.push("something is left on the small disk".to_owned());
    }
    let spills: Vec<_> = fs::read_dir(bed.path("spills"))
        .unwrap()
        .flatten()
        .collect();
    if !spills.is_empty() {
        wrong.push(format!("spills are left: {spills:?}"));
    }
    let left = marked(&mark);
    if !left.is_empty() {
        wrong.push(format!("processes are left: {left:?}"));
    }
    match row.leaves {
        Some(leaves) => {
            let found = String::from_utf8_lossy(&bed.parts("out")).into_owned();
            if found != leaves || !bed.path("out/_SUCCESS").exists() {
                wrong.push(format!("the output is {found:?}"));
            }
        }
        None if bed.path("out/mine").exists() => {
            let names = fs::read_dir(bed.path("out")).unwrap().count();
            wrong.extend((names > 1).then(|| "somebody's output was changed".to_owned()));
        }
        None if bed.path("out").exists() => wrong.push("output is left".to_owned()),
        None => {}
    }
    if !wrong.is_empty() {
        wrong.push(said);
    }
    wrong
}

/// Runs rows, all of them, and tells of each that is not as it says.
#[cfg(test)]
pub(super) fn hold(rows: &[FailureRow]) {
    let told: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let wrong = wrong(row);
            (!wrong.is_empty()).then(|| format!("{}: {}", row.what, wrong.join("\n  ")))
        })
        .collect();
    assert!(told.is_empty(), "{}", told.join("\n\n"));
}
