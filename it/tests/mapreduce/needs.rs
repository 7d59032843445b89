//! What jobs need of their nodes, on a cluster where none has a device.

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, Given};
use it::session::{shows, stop, told};
use it::{Run, expect};
use nix::sys::signal::Signal;

use crate::{alone, files, is_gone, mr, program, put, start, succeeds};

pub const CASES: &[(&str, Case)] = &[
    ("a map that needs nothing by its label runs", labelled_cpu),
    (
        "needs that nobody knows or no node meets are refused",
        refused,
    ),
    (
        "a map that needs a device and finds none is queued again",
        no_device,
    ),
    (
        "every policy that needs are compared by runs a job",
        policies,
    ),
];

fn labelled_cpu(given: &Given) -> Result<()> {
    put(given, "/cpu/in", &[("a", "a b a\n")])?;
    start(given)?;
    let wordcount = program("wordcount")?;
    let report = given.folder.join("cpu.json");
    let report_to = format!("--report={}", report.display());
    let line = [
        "-D",
        "needs.map=cpu",
        &report_to,
        &wordcount,
        "/cpu/in",
        "/cpu/out",
    ];
    let finished = succeeds(given, &line)?;
    ensure!(
        !finished.stderr_text().contains("needs"),
        "{}",
        finished.stderr_text()
    );
    let report: job::MapReduceReport = serde_json::from_slice(&std::fs::read(&report)?)?;
    let needs = &report.jobs.first().context("no job")?.needs;
    let words: Vec<String> = needs
        .iter()
        .map(|of| format!("{} {:?} {} {}", of.stage, of.need, of.level, of.confidence))
        .collect();
    // What nobody declares was looked for, and a label ends the search.
    let wanted = [
        "map None 1 declared",
        "combine None 1 declared",
        "reduce None 2 none",
    ];
    ensure!(words == wanted, "{words:?}");
    stop(given, "s")
}

fn refused(given: &Given) -> Result<()> {
    put(given, "/needs/in", &[("a", "a b a\n")])?;
    let wordcount = program("wordcount")?;
    let line = |label: &'static str, out: &'static str| ["-D", label, &wordcount, "/needs/in", out];
    // Before there is an application.
    let unknown = alone(given, &line("needs.map=gpuu", "/needs/out/none"))?.finish()?;
    expect::sentence(
        &unknown,
        64,
        &["needs.map = \"gpuu\": known are cpu, gpu, fpga"],
    )?;
    let nowhere = ["map needs gpu; 0 of ", "no device", "--wait-for-nodes"];
    let own = alone(given, &line("needs.map=gpu", "/needs/out/own"))?.finish()?;
    expect::sentence(&own, 65, &nowhere)?;
    is_gone(given, "/needs/out/own")?;
    start(given)?;
    let session = mr(given, &line("needs.map=gpgpu", "/needs/out/session"))?.finish()?;
    expect::sentence(
        &session,
        65,
        &["map needs gpu; 0 of 3 nodes have one (", "no device"],
    )?;
    let reduces = mr(given, &line("needs.reduce=fpga", "/needs/out/reduce"))?.finish()?;
    expect::sentence(
        &reduces,
        65,
        &["reduce needs fpga; 0 of 3 nodes have one ("],
    )?;
    is_gone(given, "/needs/out/reduce")?;
    let waits = [
        &["--wait-for-nodes"][..],
        &line("needs.map=gpu", "/needs/out/waits"),
    ]
    .concat();
    let mut running = mr(given, &waits)?.start()?;
    shows(given, "waits for a node with gpu: 0 of 3 nodes have one")?;
    running.signal(Signal::SIGINT)?;
    let ended = running.finish()?;
    ensure!(
        ended.code() == 130,
        "{}: {}",
        ended.code(),
        ended.stderr_text()
    );
    stop(given, "s")
}

fn no_device(given: &Given) -> Result<()> {
    put(
        given,
        "/miss/in",
        &[("a", "good\nno device\n"), ("b", "good\nexit 86\n")],
    )?;
    let faulty = program("faulty")?;
    // Where policies know of elements, what was found out means that no node can run it.
    start(given)?;
    let run = |options: &[&str], out: &str| -> Result<Run> {
        let fixed = [
            "-D",
            "gerbil.split.pack=1",
            "-D",
            "mapreduce.map.maxattempts=1",
            &faulty,
        ];
        mr(given, &[options, &fixed, &["/miss/in", out]].concat())
    };
    let ended = run(&["-D", "needs.map=cpu"], "/miss/out/known")?.finish()?;
    let words = "maps are queued again as ones that need gpu instead of cpu, as they are labelled";
    expect::sentence(&ended, 65, &[words])?;
    expect::sentence(&ended, 65, &["map needs gpu; 0 of 3 nodes have one ("])?;
    is_gone(given, "/miss/out/known")?;
    stop(given, "s")?;
    // Where they do not, they are tried again, though each may fail no more than once.
    blind(given)?;
    let report = given.folder.join("miss.json");
    let report_to = format!("--report={}", report.display());
    let options = [&report_to, "--explain"];
    let ended = run(&options, "/miss/out/blind")?.finish()?;
    let ended = ended.success("a job whose maps found no device at first")?;
    let said = ended.stderr_text();
    ensure!(
        said.matches("maps are queued again as ones that need gpu")
            .count()
            == 1
            && said
                .matches("found no device, and its task is queued again")
                .count()
                == 2,
        "{said}"
    );
    let report: job::MapReduceReport = serde_json::from_slice(&std::fs::read(&report)?)?;
    let tasks = report.jobs.first().and_then(|job| job.tasks.clone());
    let tasks = tasks.context("no job")?;
    ensure!(
        (tasks.failed_attempts, tasks.no_device_attempts) == (0, 2)
            && tasks.found_needs.get("map").map(Vec::len) == Some(1),
        "{tasks:?}"
    );
    ensure!(
        files(given, "/miss/out/blind")?.contains_key("_SUCCESS"),
        "no _SUCCESS"
    );
    // A stage that is known to need one fails where there is none.
    let ended = run(&["-D", "needs.map=gpu"], "/miss/out/fails")?.finish()?;
    expect::sentence(&ended, 1, &["map ", " failed"])?;
    stop(given, "s")
}

/// A session of nodes that nobody tells apart.
fn blind(given: &Given) -> Result<()> {
    policy(given, "fifo-blind")
}

fn policy(given: &Given, name: &str) -> Result<()> {
    let line = [
        "start",
        "s",
        "--containers",
        "3",
        "--slots-per-container",
        "2",
        "--memory",
        "256",
    ];
    let ready = told(given, &[&line[..], &["--policy", name]].concat(), 0)?;
    let text = ready.stdout_text();
    ensure!(
        text.starts_with("session s is ready, with 6 slots"),
        "{text}"
    );
    Ok(())
}

fn policies(given: &Given) -> Result<()> {
    put(given, "/policies/in", &[("a", "a b a\n"), ("b", "b\n")])?;
    let wordcount = program("wordcount")?;
    for name in [
        "fifo",
        "fifo-barrier",
        "fifo-blind",
        "hpe",
        "hpe-literal:seed=7",
    ] {
        policy(given, name)?;
        let out = format!("/policies/out/{}", name.replace([':', '='], "-"));
        succeeds(given, &[&wordcount, "/policies/in", &out])?;
        ensure!(
            files(given, &out)?.contains_key("_SUCCESS"),
            "{name}: no _SUCCESS"
        );
        stop(given, "s")?;
    }
    Ok(())
}
