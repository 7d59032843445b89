//! The guard itself, on a real cluster: what it promises about readiness, control and clean-up.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use it::cluster::Size;
use it::{Cluster, Daemon, Run, Version, sweep, wait};
use nix::sys::signal::Signal;

/// DistributedShell running `script` in `containers`, as a stock client would.
fn distributed_shell(cluster: &Cluster, script: &str, containers: usize) -> Command {
    let jar = cluster.distribution().distributed_shell_jar();
    cluster.tool(
        "org.apache.hadoop.yarn.applications.distributedshell.Client",
        &[
            "-jar",
            &jar.display().to_string(),
            "-shell_command",
            script,
            "-num_containers",
            &containers.to_string(),
            "-container_memory",
            "512",
        ],
    )
}

/// The panic unwinds through the guard. That an end like any other leaves nothing, each suite sees of its clusters.
#[test]
fn a_cluster_serves_stock_clients_and_leaves_nothing_when_a_test_panics() {
    let began = SystemTime::now();
    let network = OnceLock::new();
    let caught = std::panic::catch_unwind(|| {
        let cluster = serves_stock_clients();
        network.get_or_init(|| cluster.nodes()[0].host.octets()[1]);
        std::panic::panic_any(cluster.folder().to_owned());
    });
    let folder = match caught.unwrap_err().downcast::<PathBuf>() {
        Ok(folder) => *folder,
        Err(other) => std::panic::resume_unwind(other),
    };
    assert_gone(&folder);
    // Web servers name the folders that they unpack into after their address.
    let web = format!("127_{}_0_", network.get().unwrap());
    let left: Vec<_> = fs::read_dir(std::env::temp_dir())
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().contains(&web))
        .filter(|entry| {
            let made = entry.metadata().and_then(|found| found.modified());
            // Other clusters have had this network before.
            made.is_ok_and(|made| made >= began)
        })
        .map(|entry| entry.path())
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[cfg(test)]
fn serves_stock_clients() -> Cluster {
    let sizes = [
        Size {
            memory_mib: 4096,
            vcores: 4,
        },
        Size::default(),
    ];
    let cluster = Cluster::builder()
        .version(Version::V3_4_2)
        .sizes(&sizes)
        .queue("small", 25)
        .start()
        .unwrap();
    assert_eq!(cluster.version().unwrap(), "3.4.2");
    let mut memory: Vec<_> = cluster
        .resource_manager()
        .nodes()
        .unwrap()
        .iter()
        .map(|node| node.avail_memory_mb)
        .collect();
    memory.sort_unstable();
    assert_eq!(memory, [4096, 8192]);

    // What a container leaves running is seen while the cluster lives.
    // The second lets `setsid` leave the process group that the NodeManager kills at the end.
    let finished = Run::new(distributed_shell(
        &cluster,
        "setsid sleep 4711 & sleep 1",
        2,
    ))
    .finish()
    .unwrap();
    assert_eq!(finished.code(), 0, "{}", finished.stderr_text());
    let left = cluster.container_processes().unwrap();
    let escaped = |found: &&sweep::FoundProcess| found.arguments == ["sleep", "4711"];
    assert_eq!(left.iter().filter(escaped).count(), 2, "{left:?}");
    assert!(
        left.iter()
            .filter(escaped)
            .all(|found| found.container.is_some()),
        "{left:?}"
    );
    assert!(!cluster.leftovers().unwrap().is_empty());
    let reports = cluster.resource_manager().applications().unwrap();
    assert_eq!(
        (reports.len(), reports[0].final_status.as_str()),
        (1, "SUCCEEDED")
    );

    // HDFS as tests use it.
    let hdfs = cluster.hdfs();
    hdfs.make_home("alice").unwrap();
    hdfs.make_folder("/user/alice/.gerbil/jobs/application_1_0001", "700")
        .unwrap();
    assert_eq!(
        hdfs.staged("jobs").unwrap(),
        ["/user/alice/.gerbil/jobs/application_1_0001"]
    );
    cluster.safe_mode(true).unwrap();
    assert!(format!("{:#}", hdfs.make_folder("/tmp/x", "755").unwrap_err()).contains("safe mode"));
    cluster.safe_mode(false).unwrap();
    hdfs.remove("/user/alice/.gerbil").unwrap();
    assert!(hdfs.staged("jobs").unwrap().is_empty());

    // One daemon after the other, and back.
    cluster.kill(Daemon::NameNode).unwrap();
    hdfs.list("/").unwrap_err();
    cluster.start(Daemon::NameNode).unwrap();
    cluster.wait_for_hdfs().unwrap();
    cluster.stop(Daemon::NodeManager(0)).unwrap();
    cluster.wait_for_nodes(1).unwrap();
    cluster.start(Daemon::NodeManager(0)).unwrap();
    cluster.wait_for_nodes(2).unwrap();

    cluster
}

/// A process that dies by `-9` cannot clean up; its warden does. It takes its cluster, which nobody shares, with it.
#[test]
fn a_killed_owner_leaves_nothing() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cluster"));
    command.args(["up", "--nodes", "1", "--without-hdfs"]);
    let mut owner = Run::new(command)
        .deadline(Duration::from_secs(180))
        .start()
        .unwrap();
    owner.wait_for_stdout("export HADOOP_CONF_DIR=").unwrap();
    let text = owner.stdout_so_far();
    let conf = PathBuf::from(
        text.lines()
            .find_map(|line| line.strip_prefix("export HADOOP_CONF_DIR="))
            .unwrap(),
    );
    let folder = conf.parent().unwrap().to_owned();
    // Stands for a container that has escaped its NodeManager.
    let mut escaped = Command::new("sleep")
        .arg("4712")
        .env("LOG_DIRS", folder.join("nodes/nm1/logs"))
        .spawn()
        .unwrap();
    // The kernel says that it executes before its environment is to be read.
    wait::until("what has escaped", Duration::from_secs(10), || {
        let found = sweep::find(&folder.join("nodes/"))?;
        Ok((found.len() == 1).then_some(()))
    })
    .unwrap();
    owner.signal(Signal::SIGKILL).unwrap();
    wait::until("the warden to sweep", Duration::from_secs(30), || {
        Ok((!folder.exists()).then_some(()))
    })
    .unwrap();
    assert!(!escaped.wait().unwrap().success());
    assert_gone(&folder);
}

#[test]
fn a_daemon_that_cannot_start_is_reported_with_its_log() {
    let error = Cluster::builder()
        .nodes(1)
        .without_hdfs()
        .set(
            it::settings::File::Yarn,
            "yarn.scheduler.minimum-allocation-mb",
            "-5",
        )
        .start()
        .unwrap_err();
    let text = format!("{error:#}");
    assert!(text.contains("rm ended with"), "{text}");
    // Its log is there once, from the first error on.
    let logs: Vec<&str> = text.split("--- ").skip(1).collect();
    let of_rm = |log: &&&str| {
        log.lines()
            .next()
            .is_some_and(|path| path.ends_with("/rm/log"))
    };
    assert_eq!(logs.iter().filter(of_rm).count(), 1, "{text}");
    let first = logs[0].lines().nth(1).unwrap_or_default();
    assert!(
        first.contains(" ERROR ") || first.contains(" FATAL "),
        "{text}"
    );
    assert!(
        text.contains("yarn.scheduler.minimum-allocation-mb"),
        "{text}"
    );
    assert!(text.lines().count() < 50, "{text}");
}

/// No folder, and soon no process that mentions it: the warden itself lives on for a moment after it has
/// removed the folder.
fn assert_gone(folder: &Path) {
    assert!(!folder.exists(), "{} is left", folder.display());
    let gone = wait::until("processes to be gone", Duration::from_secs(10), || {
        Ok(alive(folder).is_empty().then_some(()))
    });
    let (alive, folder) = (alive(folder), folder.display());
    assert!(gone.is_ok(), "{alive:?} are left of {folder}");
}

/// The processes that mention the folder.
fn alive(folder: &Path) -> Vec<PathBuf> {
    let own = std::process::id();
    let mentions = |process: &Path| {
        ["cmdline", "environ"].iter().any(|file| {
            let text = fs::read(process.join(file)).unwrap_or_default();
            String::from_utf8_lossy(&text).contains(&*folder.to_string_lossy())
        })
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|entry| {
            let pid = entry.file_name().to_string_lossy().parse::<u32>();
            pid.is_ok_and(|pid| pid != own)
        })
        .map(|entry| entry.path())
        .filter(|process| mentions(process))
        .collect()
}
