//! Inputs with a mapper each: a join by key, in an application of its own and in a session, beside coreutils' `join`.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use it::bed::{Case, Given};
use it::session::stop;

use crate::{alone, files, is_gone, mr, program, put, start, succeeds};

pub const CASES: &[(&str, Case)] = &[("inputs with a mapper each", inputs)];

/// Lines `KEY<TAB>NAME`; keys of some users come twice, others nowhere in the orders.
fn lines(count: u32, word: &str, key: impl Fn(u32) -> u32) -> String {
    let line = |number| format!("{}\t{word}-{number}\n", key(number));
    (0..count).map(line).collect()
}

fn inputs(given: &Given) -> Result<()> {
    let join = program("join")?;
    let users = lines(3000, "user", |number| number * 7919 % 2500);
    let orders = [
        lines(5000, "pen", |number| number * 104_729 % 4000),
        lines(20_000, "ink", |number| number * number % 3001),
    ];
    put(given, "/inputs/users", &[("a", &users)])?;
    put(
        given,
        "/inputs/orders",
        &[("1", &orders[0]), ("2", &orders[1])],
    )?;
    let wanted = by_coreutils(given, &users, &orders.concat())?;
    ensure!(wanted.lines().count() > 10_000, "little is joined");

    // Splits that are smaller than a file, so that each input has several maps.
    let cut = [
        "-D",
        "mapreduce.input.fileinputformat.split.maxsize=100000",
        "-D",
        "gerbil.split.pack=1",
        "-D",
        "mapreduce.job.reduces=3",
    ];
    let job = [&*join, "--orders", "/inputs/orders", "/inputs/users"];
    let line = [&cut[..], &job, &["/inputs/alone"]].concat();
    alone(given, &line)?.finish()?.success("gerbil mr")?;
    is_joined(given, "/inputs/alone", &wanted)?;

    start(given)?;
    let line = [&cut[..], &job, &["/inputs/session"]].concat();
    succeeds(given, &line)?;
    is_joined(given, "/inputs/session", &wanted)?;
    // The same bytes, whoever has run it.
    ensure!(
        files(given, "/inputs/alone")? == files(given, "/inputs/session")?,
        "the outputs differ"
    );

    let told = "join::Orders reads /inputs/orders (--orders)";
    let line = [&["--dry-run"], &cut[..], &job, &["/inputs/out"]].concat();
    let dry = alone(given, &line)?.finish()?.success("gerbil mr")?;
    let said = dry.stdout_text() + &dry.stderr_text();
    ensure!(
        said.contains("join::Users reads /inputs/users") && said.contains(told),
        "{said}"
    );
    let line = [&["--explain"], &cut[..], &job, &["/inputs/explained"]].concat();
    let said = succeeds(given, &line)?.stderr_text();
    ensure!(said.contains(told), "{said}");

    for (orders, words) in [
        (&[][..], "--orders is needed: what users have ordered"),
        (&["--orders", "/inputs/gone"], "/inputs/gone"),
    ] {
        let line = [&[&*join], orders, &["/inputs/users", "/inputs/out"]].concat();
        let refused = mr(given, &line)?.finish()?;
        let said = refused.stderr_text();
        ensure!(
            refused.code() == 64 && said.contains(words) && said.lines().count() == 1,
            "{orders:?}: {said}"
        );
    }
    is_gone(given, "/inputs/out")?;
    stop(given, "s")
}

/// What `sort` and `join` make of the same lines, sorted.
fn by_coreutils(given: &Given, users: &str, orders: &str) -> Result<String> {
    fs::write(given.folder.join("users.tsv"), users)?;
    fs::write(given.folder.join("orders.tsv"), orders)?;
    let script = "for side in users orders; do sort -t $'\\t' -k1,1 $side.tsv > $side.sorted; done
                  join -t $'\\t' users.sorted orders.sorted | sort";
    let mut shell = Command::new("bash");
    shell.args(["-o", "pipefail", "-euc", script]);
    let done = shell
        .env("LC_ALL", "C")
        .current_dir(&given.folder)
        .output()?;
    ensure!(done.status.success(), "{done:?}");
    Ok(String::from_utf8(done.stdout)?)
}

fn is_joined(given: &Given, output: &str, wanted: &str) -> Result<()> {
    let parts = files(given, output)?;
    let parts = parts.iter().filter(|(name, _)| name.starts_with("part-"));
    let all: Vec<u8> = parts.flat_map(|(_, part)| part.clone()).collect();
    let all = String::from_utf8(all)?;
    let mut lines: Vec<&str> = all.lines().collect();
    lines.sort_unstable();
    ensure!(
        lines.iter().copied().eq(wanted.lines()),
        "{output}: {} lines, and not those of coreutils, which are {}",
        lines.len(),
        wanted.lines().count()
    );
    Ok(())
}
