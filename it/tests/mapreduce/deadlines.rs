//! Jobs that cannot keep their deadlines.

use anyhow::{Result, ensure};
use it::bed::{Case, Given};
use it::session::{stop, told};

use crate::{program, put, succeeds};

pub const CASES: &[(&str, Case)] = &[(
    "a job that will miss its deadline is told so once, sooner if it has run before, and one that keeps it is not",
    missed,
)];

fn missed(given: &Given) -> Result<()> {
    // Maps of 600 ms each, one after the other.
    let files: Vec<String> = (0..8).map(|number| number.to_string()).collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|name| (name.as_str(), "sleep\nsleep\n"))
        .collect();
    put(given, "/late/in", &files)?;
    let line = [
        "start",
        "s",
        "--containers",
        "1",
        "--slots-per-container",
        "1",
        "--memory",
        "768",
        "--policy",
        "fifo:order=deadline",
    ];
    told(given, &line, 0)?;
    let faulty = program("faulty")?;
    // Of the third it is known at once, by the runs before it.
    let runs = [
        ("2s", "/late/out", 1),
        ("1h", "/late/in-time", 0),
        ("2s", "/late/again", 2),
    ];
    for (deadline, out, times) in runs {
        let options = ["--deadline", deadline, "-D", "gerbil.split.pack=1"];
        let line = [&options[..], &[&faulty, "/late/in", out]].concat();
        let said = succeeds(given, &line)?.stderr_text();
        let notices = said.matches(" its deadline").count();
        ensure!(notices == times, "--deadline {deadline}: {said}");
        ensure!(
            said.contains("by its last run, job 2, 8 maps (1) and 1 reduce (1) take about ")
                == (times == 2),
            "--deadline {deadline}: {said}"
        );
        if times > 0 {
            ensure!(
                said.contains("s on all slots for maps (1)"),
                "it does not say why: {said}"
            );
        }
    }
    stop(given, "s")
}
