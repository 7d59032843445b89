//! `cluster up`: a stock Hadoop cluster by hand, for as long as the command runs.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use it::hadoop::Distribution;
use it::{Cluster, Version};

const USAGE: &str =
    "usage: cluster up [--version 2.10.2|3.3.6|3.4.2|3.5.0] [--nodes N] [--without-hdfs]
       cluster fetch [--version …]
`fetch` brings the jars of a release into the cache. `up`
prints `export HADOOP_CONF_DIR=...` when all daemons are ready, and takes them down at Ctrl-C, at
SIGTERM, or when its input ends (an input of /dev/null never does).";

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cluster: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("up") => {}
        Some("fetch") => return fetch(arguments),
        _ => bail!("{USAGE}"),
    }
    let mut builder = Cluster::builder();
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .with_context(|| format!("{argument} wants a value\n{USAGE}"))
        };
        builder = match argument.as_str() {
            "--version" => builder.version(value()?.parse::<Version>()?),
            "--nodes" => builder.nodes(value()?.parse().with_context(|| "--nodes wants a number")?),
            "--without-hdfs" => builder.without_hdfs(),
            _ => bail!("{argument}: not known\n{USAGE}"),
        };
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        // Caught from the beginning: a Ctrl-C while the daemons start must not leave them to the warden.
        let mut interrupt =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?;
        let mut terminate =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        let (end, mut input_ends) = tokio::sync::mpsc::channel(1);
        let begin = std::time::Instant::now();
        let cluster = builder.start()?;
        let mut stdout = std::io::stdout();
        writeln!(
            stdout,
            "# Hadoop {}, ready after {:.1} s",
            cluster.version()?,
            begin.elapsed().as_secs_f64()
        )?;
        writeln!(
            stdout,
            "# ResourceManager {}",
            cluster.resource_manager_address()
        )?;
        writeln!(
            stdout,
            "# logs {}",
            cluster.folder().join("daemons").display()
        )?;
        writeln!(
            stdout,
            "export HADOOP_CONF_DIR={}",
            cluster.conf_dir().display()
        )?;
        stdout.flush()?;
        if !input_is_dev_null() {
            // Ends with the process: a read cannot be called off.
            std::thread::spawn(move || {
                let mut buffer = [0; 1024];
                while matches!(std::io::stdin().read(&mut buffer), Ok(1..)) {}
                let _nobody_waits_any_more = end.blocking_send(());
            });
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = input_ends.recv() => {}
            }
        } else {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
        drop(cluster);
        Ok(())
    })
}

/// Brings the jars of a release, and says where they are.
fn fetch(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let version = match (arguments.next().as_deref(), arguments.next()) {
        (None, _) => Version::V3_4_2,
        (Some("--version"), Some(version)) => version.parse()?,
        _ => bail!("{USAGE}"),
    };
    let jars = Distribution::fetch(version)?.lib();
    writeln!(std::io::stdout(), "{}", jars.display())?;
    Ok(())
}

/// Whether stdin is the null device, as for a command started in the background.
fn input_is_dev_null() -> bool {
    let Ok(input) = std::fs::metadata("/proc/self/fd/0") else {
        return true;
    };
    let Ok(null) = std::fs::metadata("/dev/null") else {
        return false;
    };
    input.file_type().is_char_device() && input.rdev() == null.rdev()
}
