//! MapReduce and MPI through `gerbil`, with a session and without one.

use anyhow::{Result, ensure};
use it::bed::{Case, DEADLINE, Given, text_of};
use it::mapreduce::{self, files, is_same, local, put, text};
use it::session::{start_with, stop};

use crate::NODES;

pub const CASES: &[(&str, Case)] = &[(
    "word count by itself and in a session, and cpi between",
    word_count,
)];

fn word_count(given: &Given) -> Result<()> {
    let texts = [text(6), text(7), text(8)];
    let names = ["a", "b", "c"].into_iter();
    let named: Vec<_> = names.zip(texts.iter().map(String::as_str)).collect();
    let input = put(given, "/mr/in", &named)?;
    let program = text_of(&mapreduce::example("wordcount")?)?;
    let expected = local(given, &program, &["--reduces", "2", &input], "local")?;
    let cut = ["-D", "gerbil.split.pack=1", "-D", "mapreduce.job.reduces=2"];
    let run = |options: &[&str], out: &str| -> Result<()> {
        let line = [options, &cut, &[program.as_str(), "/mr/in", out]].concat();
        let run = mapreduce::mr(&given.cluster, &given.folder, &line)?;
        run.deadline(DEADLINE).finish()?.success("gerbil mr")?;
        is_same(&files(&given.cluster, out)?, &expected)
    };
    run(&["--memory", "768"], "/mr/alone")?;
    start_with(given, "s", "768")?;
    run(&["--session", "s"], "/mr/session")?;
    let cpi = given.example("cpi")?;
    let ranks = NODES.to_string();
    let of_cpi = given.gerbil(&["--session", "s", "-n", &ranks, &cpi])?;
    let said = of_cpi.finish()?.success("cpi in a session")?;
    ensure!(said.stdout_text().contains("pi is about 3.14159265358"));
    run(&["--session", "s"], "/mr/again")?;
    stop(given, "s")
}
