//! HDFS that does not take files.

use std::fs;
use std::io::Write as _;

use anyhow::{Result, ensure};
use it::{Daemon, expect, gerbil};

use crate::given::{Case, DEADLINE, Given};

pub const CASES: &[(&str, Case)] = &[
    ("no home folder", no_home),
    ("quota full", quota_full),
    ("HDFS in safe mode", safe_mode),
    ("HDFS down", hdfs_down),
];

fn no_home(given: &Given) -> Result<()> {
    let program = given.program("linger")?;
    let run = gerbil::run(&given.cluster, ["-n", "2", &program, "0"])?
        .env("HADOOP_USER_NAME", "homeless");
    let finished = run.deadline(DEADLINE).finish()?;
    expect::failure(&given.cluster, &finished, 74, &["homeless", "home folder"])
}

fn quota_full(given: &Given) -> Result<()> {
    let program = given.program("linger")?;
    given.cluster.hdfs().make_home("poor")?;
    // The folder itself is the one name that the quota allows.
    given.cluster.dfs_admin(&["-setQuota", "1", "/user/poor"])?;
    let run =
        gerbil::run(&given.cluster, ["-n", "2", &program, "0"])?.env("HADOOP_USER_NAME", "poor");
    let finished = run.deadline(DEADLINE).finish()?;
    expect::failure(&given.cluster, &finished, 74, &["quota"])
}

fn safe_mode(given: &Given) -> Result<()> {
    let program = given.program("linger")?;
    // Never staged before, whatever the cases before have staged.
    fs::OpenOptions::new()
        .append(true)
        .open(&program)?
        .write_all(b"new")?;
    given.cluster.safe_mode(true)?;
    let finished = given.run(&["-n", "2", &program, "0"]);
    given.cluster.safe_mode(false)?;
    expect::failure(&given.cluster, &finished?, 69, &["safe mode"])
}

fn hdfs_down(given: &Given) -> Result<()> {
    let program = given.program("linger")?;
    let before = given.applications()?.len();
    given.cluster.kill(Daemon::NameNode)?;
    let finished = given.run(&["-n", "2", &program, "0"])?;
    expect::sentence(&finished, 69, &["HDFS", &given.cluster.name_node_address()])?;
    ensure!(
        given.applications()?.len() == before,
        "an application was submitted"
    );
    ensure!(
        given.cluster.container_processes()?.is_empty(),
        "processes are left"
    );
    given.cluster.start(Daemon::NameNode)?;
    given.cluster.wait_for_hdfs()?;
    given.cluster.wait_until_clean(DEADLINE)
}
