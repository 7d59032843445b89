//! `cluster up`: a stock Hadoop cluster by hand, for as long as the command runs.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::Result;
use clap::Parser;
use it::archives::Archives;
use it::hadoop::Distribution;
use it::settings::File;
use it::{Cluster, Version};

/// A stock Hadoop cluster on this machine.
#[derive(Debug, Parser)]
enum ClusterCommand {
    /// Starts one, prints `export HADOOP_CONF_DIR=...` when all daemons are ready, and takes it down at
    /// Ctrl-C, at SIGTERM, or when its input ends (an input of /dev/null never does).
    Up {
        /// 2.10.2, 3.3.6, 3.4.2 or 3.5.0
        #[arg(long, default_value = "3.4.2")]
        version: Version,
        #[arg(long, default_value_t = 4)]
        nodes: usize,
        /// The default file system is this machine's own.
        #[arg(long)]
        without_hdfs: bool,
        /// A setting of all daemons and of clients, as yarn-site.xml:yarn.scheduler.minimum-allocation-mb=256; may be given
        /// several times
        #[arg(long, value_name = "FILE:NAME=VALUE")]
        set: Vec<GivenSetting>,
        /// A queue with this share of the cluster, taken from default, as prod=70; may be given several times
        #[arg(long, value_name = "NAME=PERCENT", value_parser = queue)]
        queue: Vec<(String, u32)>,
        /// Two ResourceManagers, of which one stands by
        #[arg(long)]
        two_resource_managers: bool,
    },
    /// Brings the jars of a release into the cache, and prints where they are.
    Fetch {
        #[arg(long, default_value = "3.4.2")]
        version: Version,
    },
    /// Keeps the classes that a release's daemons load in the cache, ready to be mapped: every cluster
    /// of that release starts with 40 % less processor time from then on.
    Archive {
        #[arg(long, default_value = "3.4.2")]
        version: Version,
    },
}

/// A setting as it is given.
#[derive(Clone, Debug)]
struct GivenSetting {
    file: File,
    name: String,
    value: String,
}

impl FromStr for GivenSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (file, setting) = text.split_once(':').unwrap_or(("", text));
        let mut files = File::ALL.into_iter();
        let file = files.find(|of| of.name() == file).ok_or_else(|| {
            let names = File::ALL.map(File::name);
            format!("{file:?} is none of {}", names.join(", "))
        })?;
        let (name, value) = setting
            .split_once('=')
            .ok_or_else(|| format!("{setting:?} has no ="))?;
        Ok(Self {
            file,
            name: name.to_owned(),
            value: value.to_owned(),
        })
    }
}

fn queue(text: &str) -> Result<(String, u32), String> {
    let (name, percent) = text.split_once('=').unwrap_or((text, ""));
    let percent = percent.parse().ok().filter(|percent| *percent <= 100);
    let percent = percent.ok_or_else(|| format!("{text:?} is no NAME=PERCENT such as prod=70"))?;
    Ok((name.to_owned(), percent))
}

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
    let builder = match ClusterCommand::parse() {
        ClusterCommand::Fetch { version } => return fetch(version),
        ClusterCommand::Archive { version } => return archive(version),
        ClusterCommand::Up {
            version,
            nodes,
            without_hdfs,
            set,
            queue,
            two_resource_managers,
        } => {
            let mut builder = Cluster::builder().version(version).nodes(nodes);
            if without_hdfs {
                builder = builder.without_hdfs();
            }
            if two_resource_managers {
                builder = builder.two_resource_managers();
            }
            for (name, percent) in &queue {
                builder = builder.queue(name, *percent);
            }
            for GivenSetting { file, name, value } in set {
                builder = builder.set(file, &name, value);
            }
            builder
        }
    };
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
fn fetch(version: Version) -> Result<()> {
    let jars = Distribution::fetch(version)?.lib();
    writeln!(std::io::stdout(), "{}", jars.display())?;
    Ok(())
}

/// Archives the classes of a release's daemons, and says where.
fn archive(version: Version) -> Result<()> {
    let folder = Archives::make(version)?;
    writeln!(std::io::stdout(), "{}", folder.display())?;
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
