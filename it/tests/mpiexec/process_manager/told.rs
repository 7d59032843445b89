//! What ranks are told: names, ports, which of them share a node, how many there may be.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, Given, text_of};
use it::{IntelMpi, expect};

pub const CASES: &[(&str, Case)] = &[
    ("told: names", names),
    ("told: which ranks share a node, and the universe", nodes),
    ("told: Intel MPI, 2 and 8 ranks over two nodes", intel),
    ("told: ports, with Intel MPI", ports),
    ("told: Intel MPI brought along", shipped),
];

fn names(given: &Given) -> Result<()> {
    let program = given.program("spawn")?;
    let line = ["-n", "4", "-ppn", "1", &program, "names"];
    let finished = given.succeeds(&line)?;
    let mut lines: Vec<String> = finished.stdout_text().lines().map(str::to_owned).collect();
    lines.sort();
    ensure!(
        lines
            == [
                "0: gone MPI_ERR_NAME",
                "0: lookup success <tag#7$entry#00A1$>",
                "0: missing MPI_ERR_NAME",
                "3: again MPI_ERR_NAME",
                "3: publish success",
                "3: unpublish success",
            ],
        "{lines:?}"
    );
    Ok(())
}

/// The size of the universe as `options` say it, and how many ranks each rank finds on its node, four
/// of six being on the first.
fn found(given: &Given, options: &[&str]) -> Result<String> {
    let program = given.program("spawn")?;
    let hosts = given.cluster.nodes();
    let hosts = format!("{}:4,{}:2", hosts[0].host, hosts[1].host);
    let line = ["-hosts", &hosts, &program, "nodes"];
    let finished = given.succeeds(&[options, &line].concat())?;
    let stdout = finished.stdout_text();
    let mut universe = None;
    let mut neighbours = BTreeMap::new();
    for line in stdout.lines() {
        let (rank, rest) = line.split_once(": ").context("no rank")?;
        let (count, size) = rest
            .split_once(" on its node, universe ")
            .context("no size")?;
        neighbours.insert(rank.parse::<u32>()?, count.parse::<u32>()?);
        universe = Some(size.to_owned());
    }
    let neighbours: Vec<u32> = neighbours.into_values().collect();
    ensure!(neighbours == [4, 4, 4, 4, 2, 2], "{stdout}");
    universe.context("nothing was said")
}

fn nodes(given: &Given) -> Result<()> {
    let found = |more: &[&str]| found(given, more);
    ensure!(found(&[])? == "-1");
    ensure!(found(&["-usize", "12"])? == "12");
    ensure!(found(&["-usize", "INFINITE"])? == "-1");
    // The two nodes are one machine, and see its cores.
    let cores = std::thread::available_parallelism()?.get();
    let system = found(&["-usize", "SYSTEM"])?;
    ensure!(system == (2 * cores).to_string(), "{system}");
    Ok(())
}

fn with_intel(given: &Given, arguments: &[&str]) -> Result<String> {
    let program = given.program("spawn")?;
    let options = IntelMpi::install()?.options();
    let mut line: Vec<&str> = options.iter().map(String::as_str).collect();
    line.extend(&arguments[..arguments.len() - 1]);
    line.extend([&program, arguments[arguments.len() - 1]]);
    Ok(given.succeeds(&line)?.stdout_text())
}

fn intel(given: &Given) -> Result<()> {
    for each in [1, 4] {
        let ppn = each.to_string();
        let all = (2 * each).to_string();
        let stdout = with_intel(given, &["-n", &all, "-ppn", &ppn, "nodes"])?;
        let line = format!(": {each} on its node, universe -1");
        ensure!(stdout.matches(&line).count() == 2 * each, "{stdout}");
    }
    Ok(())
}

/// Nothing that the ranks load lies where Intel MPI is installed, where these nodes, being on one machine,
/// could find it too: neither what the linker loads nor what the library opens by itself.
fn shipped(given: &Given) -> Result<()> {
    let intel = IntelMpi::install()?;
    let libraries = text_of(&intel.libraries())?;
    // As the scripts of an installation set them. On nodes without it they would lead astray.
    let run = |line: &[&str]| {
        let run = given.gerbil(line)?.env("LD_LIBRARY_PATH", &libraries);
        let run = run.env("I_MPI_ROOT", "/nowhere");
        expect::job(&given.cluster, run.env("FI_PROVIDER_PATH", "/nowhere/prov"))
    };
    let loaded = given.program("loaded")?;
    let line = ["-x", "I_MPI_DEBUG=6", "-n", "4", "-ppn", "2", &loaded];
    let text = run(&line)?.stdout_text();
    ensure!(text.matches(": sum 6").count() == 4, "{text}");
    for library in ["libmpi.so.12", "libfabric.so.1", "prov/libtcp-fi.so"] {
        ensure!(
            text.matches(&format!("/{library}\n")).count() == 4,
            "{library}: {text}"
        );
    }
    ensure!(!text.contains(&text_of(intel.folder())?), "{text}");
    let tables = "/opt/mpi/etc/tuning_";
    let table = text.lines().find(|line| line.contains("Load tuning file"));
    ensure!(table.is_some_and(|line| line.contains(tables)), "{text}");
    ensure!(!text.contains("Unable to read tuning file"), "{text}");
    let spawn = given.program("spawn")?;
    let text = run(&["-n", "4", "-ppn", "2", &spawn, "ports"])?.stdout_text();
    ensure!(text.matches(": met 2, sum 6").count() == 4, "{text}");
    Ok(())
}

/// Of the libraries that can be had as packages here it alone can open ports.
fn ports(given: &Given) -> Result<()> {
    let stdout = with_intel(given, &["-n", "4", "-ppn", "2", "ports"])?;
    ensure!(stdout.contains("0: open success"), "{stdout}");
    ensure!(stdout.matches(": met 2, sum 6").count() == 4, "{stdout}");
    Ok(())
}
