//! Options, as the ResourceManager and the program see them.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use it::{expect, mpi, process, wait};

use it::bed::{Case, DEADLINE, Given, said, text_of};

pub const CASES: &[(&str, Case)] = &[
    ("the own form, -a PROGRAM -i ARGS", own_form),
    (
        "name, priority and queue: --name, -p, --queue",
        name_priority_queue,
    ),
    (
        "YARN's own pages: --tags, progress, log and last word",
        pages,
    ),
    ("ports: --am-ports", am_ports),
    ("ports that are all taken", am_ports_taken),
    ("interface: --iface", interface),
    ("an interface that no node has", no_such_interface),
    ("where the time went: --timing", timing),
    ("libraries stay: --no-ship-libs", no_ship_libs),
    ("a program found in PATH", program_in_path),
    ("a script as the program", script),
    ("several programs, between colons", several_programs),
    ("another user of HDFS", other_user),
];

fn own_form(given: &Given) -> Result<()> {
    let say = given.script("say", "for word do printf '<%s>\\n' \"$word\"; done")?;
    let words = r#"one 'two words' "it's" back\ slash '' --queue"#;
    let finished = given.succeeds(&["-n", "1", "-a", &say, "-i", words])?;
    let expected = "<one>\n<two words>\n<it's>\n<back slash>\n<>\n<--queue>\n";
    ensure!(finished.stdout_text() == expected, "{finished:?}");
    Ok(())
}

fn name_priority_queue(given: &Given) -> Result<()> {
    // The releases name a queue by its path or by its last part.
    let shown = |given: &Given| -> Result<(String, i32, String, String)> {
        let report = given.newest()?;
        let queue = report.queue.trim_start_matches("root.").to_owned();
        Ok((report.name, report.priority, queue, report.application_type))
    };
    let gerbil = "GERBIL".to_owned();
    let name = "a name of words";
    given.succeeds(&[
        "--name", name, "-p", "7", "--queue", "other", "-n", "1", "true",
    ])?;
    let found = shown(given)?;
    ensure!(
        found == (name.into(), 7, "other".into(), gerbil.clone()),
        "{found:?}"
    );
    given.succeeds(&["-n", "1", "true"])?;
    let found = shown(given)?;
    ensure!(
        found == ("true".into(), 0, "default".into(), gerbil),
        "{found:?}"
    );
    Ok(())
}

/// What its web page shows of a job, while it runs and afterwards.
fn pages(given: &Given) -> Result<()> {
    let (held, report) = given.held("paged", &["--tags", "mine,yours", "-n", "2"])?;
    let resource_manager = given.cluster.resource_manager();
    ensure!(report.application_tags == "mine,yours", "{report:?}");
    let page = resource_manager.tracked(&report.id)?;
    // The page frames a log, and shows what is in it.
    ensure!(page.contains("registered"), "{page}");
    wait::until("progress", DEADLINE, || {
        let report = given.newest()?;
        Ok((report.progress > 0.0 && report.progress < 100.0).then_some(()))
    })?;
    held.let_go()?;
    let report = given.newest()?;
    ensure!(report.diagnostics.contains("2 ranks on"), "{report:?}");
    ensure!(report.progress > 99.0, "{report:?}");
    resource_manager.tracked(&report.id)?;
    given.is_clean()
}

/// The port of `host:port`.
fn port(address: &str) -> Result<u16> {
    let (_, port) = address.rsplit_once(':').context("no port")?;
    port.parse().with_context(|| address.to_owned())
}

fn am_ports(given: &Given) -> Result<()> {
    let (held, report) = given.held("ports", &["--am-ports", "50100-50150", "-n", "2"])?;
    let address = report.master_address.as_deref().context("no address")?;
    ensure!((50100..=50150).contains(&port(address)?), "{report:?}");
    held.let_go()?;
    given.is_clean()
}

fn am_ports_taken(given: &Given) -> Result<()> {
    let taken = std::net::TcpListener::bind("0.0.0.0:0")?;
    let port = taken.local_addr()?.port().to_string();
    given.fails(
        &["--am-ports", &port, "-n", "1", "true"],
        65,
        &[&port, "--am-ports"],
    )?;
    Ok(())
}

fn interface(given: &Given) -> Result<()> {
    let program = given.program("environment")?;
    let finished = given.succeeds(&["--iface", "lo", "-n", "4", &program, "FI_TCP_IFACE"])?;
    let stdout = finished.stdout_text();
    ensure!(
        stdout.matches(": FI_TCP_IFACE=lo\n").count() == 4,
        "{stdout}"
    );
    let (held, report) = given.held("loopback", &["--iface", "lo", "-n", "2"])?;
    let address = report.master_address.as_deref().context("no address")?;
    ensure!(address.starts_with("127.0.0.1:"), "{report:?}");
    held.let_go()?;
    given.is_clean()
}

fn no_such_interface(given: &Given) -> Result<()> {
    given.fails(
        &["--iface", "nosuch0", "-n", "1", "true"],
        65,
        &["nosuch0", "lo", "--iface"],
    )?;
    Ok(())
}

fn timing(given: &Given) -> Result<()> {
    let finished = given.succeeds(&["--timing", "-n", "4", "true"])?;
    let lines = expect::own_lines(&finished).join("\n");
    for phase in [
        "staging and submit",
        "AM start",
        "allocation",
        "containers ready",
        "processes started",
        "execution",
        "finish",
    ] {
        let row = lines
            .lines()
            .find_map(|line| line.strip_prefix(expect::OWN)?.strip_prefix(phase));
        let row = row.with_context(|| format!("no row {phase} in {lines}"))?;
        let numbers: Vec<f64> = row
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()
            .with_context(|| lines.clone())?;
        ensure!(
            matches!(numbers[..], [length, until] if 0.0 <= length && length <= until && until < 120.0),
            "{phase} in {lines}"
        );
    }
    ensure!(
        lines.contains("allocate calls that asked: 1 of "),
        "{lines}"
    );
    // Nothing of it without the option.
    let quiet = given.succeeds(&["-n", "4", "true"])?;
    ensure!(said(&quiet).is_empty(), "{quiet:?}");
    Ok(())
}

/// Every link in a container's folder is something localized.
fn no_ship_libs(given: &Given) -> Result<()> {
    let source = given.folder.join("links.c");
    fs::write(
        &source,
        "#include <stdlib.h>\n\
         int main(void) { return system(\"find . -maxdepth 1 -type l\"); }\n",
    )?;
    let library = given.folder.join("aside.c");
    fs::write(&library, "int aside(void) { return 0; }\n")?;
    let cc = process::find("cc".as_ref())?;
    let built = mpi::compile(&cc, &library, &given.folder, &["-shared", "-fPIC"])?;
    fs::rename(built, given.folder.join("libaside.so"))?;
    let folder = given.folder.display();
    let links = mpi::compile(
        &cc,
        &source,
        &given.folder,
        &[
            "-Wl,--no-as-needed",
            &format!("-L{folder}"),
            "-laside",
            &format!("-Wl,-rpath,{folder}"),
        ],
    )?;
    let links = text_of(&links)?;
    for (option, expected) in [(None, 3), (Some("--no-ship-libs"), 2)] {
        let mut line: Vec<&str> = option.into_iter().collect();
        line.extend(["-n", "1", &links]);
        let stdout = given.succeeds(&line)?.stdout_text();
        ensure!(
            stdout.lines().count() == expected && stdout.contains("./links\n"),
            "{option:?}: {expected} links in {stdout}"
        );
    }
    Ok(())
}

fn program_in_path(given: &Given) -> Result<()> {
    let here = it::Run::new(std::process::Command::new("hostname")).finish()?;
    let finished = given.succeeds(&["-n", "2", "hostname"])?;
    ensure!(
        finished.stdout_text() == here.stdout_text().repeat(2),
        "{finished:?}"
    );
    Ok(())
}

fn script(given: &Given) -> Result<()> {
    let script = given.script("which-rank", "echo \"$PMI_RANK of $PMI_SIZE\"")?;
    let finished = given.succeeds(&["-n", "3", &script])?;
    let mut lines: Vec<String> = finished.stdout_text().lines().map(Into::into).collect();
    lines.sort();
    ensure!(lines == ["0 of 3", "1 of 3", "2 of 3"], "{finished:?}");
    Ok(())
}

fn several_programs(given: &Given) -> Result<()> {
    let program = given.program("appnum")?;
    let other = given.script("other", "exec \"$APPNUM\" of-a-script")?;
    let variable = format!("APPNUM={program}");
    let finished = given.succeeds(&[
        "-n", "2", &program, "a", ":", "-n", "1", &program, "b", ":", "-n", "1", "-env", &variable,
        &other,
    ])?;
    let mut lines: Vec<String> = finished.stdout_text().lines().map(Into::into).collect();
    lines.sort();
    ensure!(
        lines == ["0: 0 a", "1: 0 a", "2: 1 b", "3: 2 of-a-script"],
        "{finished:?}"
    );
    Ok(())
}

fn other_user(given: &Given) -> Result<()> {
    let hdfs = given.cluster.hdfs();
    hdfs.make_home("alice")?;
    let run = given
        .gerbil(&["-n", "2", "hostname"])?
        .env("HADOOP_USER_NAME", "alice");
    expect::job(&given.cluster, run)?;
    let report = given.newest()?;
    ensure!(report.user == "alice", "{report:?}");
    let cache = hdfs.list("/user/alice/.gerbil/cache")?;
    ensure!(
        cache.len() >= 2 && cache.iter().all(|file| file.owner == "alice"),
        "{cache:?}"
    );
    // What she has put there, under whatever name, is not run by somebody else.
    let line = ["--staging", "/user/alice/.gerbil", "-n", "2", "hostname"];
    given.fails(&line, 74, &["cache belongs to alice"])?;
    Ok(())
}
