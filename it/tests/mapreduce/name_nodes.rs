//! A nameservice of two NameNodes, the first of which takes connections and answers nothing.

use std::fs;
use std::net::TcpListener;
use std::process::Command;

use anyhow::{Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::mapreduce::is_same;
use it::settings::{File, property};
use it::{Run, expect, gerbil};

use crate::{alone, files, program, put};

pub const CASES: &[(&str, Case)] = &[("the first of two NameNodes is silent", silent)];

fn silent(given: &Given) -> Result<()> {
    put(given, "/silent/in", &[("a", "a b a\n"), ("b", "b c\n")])?;
    let wordcount = program("wordcount")?;
    let plain = alone(given, &[&wordcount, "/silent/in", "/silent/plain"])?.finish()?;
    plain.success("the job by the NameNode's own name")?;

    let silent = TcpListener::bind("127.0.0.1:0")?;
    let silent = silent.local_addr()?.to_string();
    let living = given.cluster.name_node_address();
    let with = |second: &str, arguments: &[&str]| -> Result<Run> {
        let conf = given.folder.join(format!("conf-{second}"));
        fs::create_dir_all(&conf)?;
        for found in fs::read_dir(given.cluster.conf_dir())? {
            let found = found?;
            fs::copy(found.path(), conf.join(found.file_name()))?;
        }
        let site = conf.join(File::Hdfs.name());
        let mut text = fs::read_to_string(&site)?;
        for (name, value) in [
            ("dfs.nameservices", "ns"),
            ("dfs.ha.namenodes.ns", "nn1,nn2"),
            ("dfs.namenode.rpc-address.ns.nn1", silent.as_str()),
            ("dfs.namenode.rpc-address.ns.nn2", second),
        ] {
            text = property(&text, name, value);
        }
        fs::write(&site, text)?;
        let mut command = Command::new(given.folder.join("gerbil"));
        command.args(arguments);
        Ok(Run::new(gerbil::with_settings(command, &conf)).deadline(DEADLINE))
    };
    let job = [
        "mr",
        &wordcount,
        "hdfs://ns/silent/in",
        "hdfs://ns/silent/out",
    ];
    with(&living, &job)?
        .finish()?
        .success("the job of a nameservice")?;
    is_same(
        &files(given, "/silent/out")?,
        &files(given, "/silent/plain")?,
    )?;

    // Nobody answers: it is said who was asked.
    let none = with(&silent, &["hadoop", "fs", "-ls", "hdfs://ns/silent"])?.finish()?;
    let both = format!("its NameNodes: {silent}, {silent}");
    expect::sentence(&none, 69, &["no answer within", &both])?;
    ensure!(
        !none.stderr_text().contains("panicked"),
        "{}",
        none.stderr_text()
    );
    Ok(())
}
