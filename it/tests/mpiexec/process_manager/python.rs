//! mpi4py in a virtual environment: started where it lies, brought along, and with spawned workers.

use anyhow::{Context as _, Result, ensure};
use it::Mpi4py;
use it::bed::{Case, Given, text_of};

pub const CASES: &[(&str, Case)] = &[
    (
        "python: an environment that the nodes have",
        at_its_own_path,
    ),
    ("python: an environment that is brought", brought),
    ("python: a pool of spawned workers", pool),
];

pub(super) fn example(name: &str) -> Result<String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    text_of(&path.join(name))
}

/// Four ranks have heard of each other.
fn is_whole(text: &str) -> Result<()> {
    ensure!(text.matches("the sum is 6").count() == 4, "{text}");
    Ok(())
}

fn at_its_own_path(given: &Given) -> Result<()> {
    let (python, ring) = (text_of(&Mpi4py::install()?.python())?, example("ring.py")?);
    let line = ["-n", "4", "-ppn", "1", "--files", &ring, &python, "ring.py"];
    is_whole(&given.succeeds(&line)?.stdout_text())
}

fn brought(given: &Given) -> Result<()> {
    let mpi4py = Mpi4py::install()?;
    let folder = text_of(mpi4py.folder())?;
    let ring = example("ring.py")?;
    let line = ["-n", "4", "-ppn", "2", "--venv", &folder, "--files", &ring];
    let finished = given.succeeds(&[&line[..], &["python3", "ring.py"]].concat())?;
    is_whole(&finished.stdout_text())?;
    // Nothing of it is loaded from where it was made, which these nodes could see too.
    let where_from = "import sys, os, mpi4py.MPI, encodings\n\
                      maps = open('/proc/self/maps').read()\n\
                      print(sys.prefix, sys.executable, encodings.__file__, maps)";
    let line = ["-n", "1", "--venv", &folder, "python3", "-c", where_from];
    let text = given.succeeds(&line)?.stdout_text();
    let home = std::fs::read_to_string(mpi4py.folder().join("pyvenv.cfg"))?;
    let home = home.lines().find_map(|line| line.strip_prefix("home = "));
    let base = home
        .and_then(|home| home.strip_suffix("/bin"))
        .context("no home")?;
    ensure!(!text.contains(&folder), "{text}");
    ensure!(base == "/usr" || !text.contains(base), "{base}: {text}");
    Ok(())
}

fn pool(given: &Given) -> Result<()> {
    let (python, pool) = (text_of(&Mpi4py::install()?.python())?, example("pool.py")?);
    let line = ["-n", "1", "--files", &pool, &python, "pool.py"];
    let text = given.succeeds(&line)?.stdout_text();
    ensure!(
        text.contains("[0, 1, 4, 9, 16, 25, 36, 49, 64, 81]"),
        "{text}"
    );
    Ok(())
}
