//! The environment of the ranks, in the words of three launchers.

use anyhow::{Result, ensure};
use it::bed::{Case, Given, text_of};
use it::expect;

pub const CASES: &[(&str, Case)] = &[
    (
        "environment: -genv, -env, -x, -envnone, -envlist",
        of_each_program,
    ),
    (
        "environment: -genvnone, -genvlist, --export",
        of_all_programs,
    ),
    ("environment: -wdir, -path, --chdir", folders),
];

const SHOW: &str = "echo \"$PMI_RANK:$G:$L:$X:$HERE:$THERE:$RANK:$WORLD_SIZE\"";

/// The lines of a job, sorted.
fn lines(given: &Given, arguments: &[&str]) -> Result<Vec<String>> {
    let run = given
        .gerbil(arguments)?
        .env("HERE", "here")
        .env("THERE", "there");
    let finished = expect::job(&given.cluster, run)?;
    let mut lines: Vec<String> = finished.stdout_text().lines().map(Into::into).collect();
    lines.sort();
    Ok(lines)
}

fn of_each_program(given: &Given) -> Result<()> {
    let show = given.script("show", SHOW)?;
    let found = lines(
        given,
        &[
            "-genv", "G", "g", "-n", "1", "-env", "L", "one", "-x", "X=x", &show, ":", "-n", "1",
            "-envnone", "-env", "L", "two", &show, ":", "-n", "1", "-envlist", "HERE", &show,
        ],
    )?;
    ensure!(
        found
            == [
                "0:g:one:x:here:there:0:3",
                "1:g:two::::1:3",
                "2:g:::here::2:3"
            ],
        "{found:?}"
    );
    Ok(())
}

fn of_all_programs(given: &Given) -> Result<()> {
    let show = given.script("show", SHOW)?;
    for (line, expected) in [
        (&["-genvnone", "-n", "1"][..], "0::::::0:1"),
        (&["-genvlist", "THERE", "-n", "1"], "0:::::there:0:1"),
        (&["--export=HERE,G=1", "-n", "1"], "0:1:::here::0:1"),
    ] {
        let found = lines(given, &[line, &[show.as_str()]].concat())?;
        ensure!(found == [expected], "{line:?}: {found:?}");
    }
    Ok(())
}

fn folders(given: &Given) -> Result<()> {
    let bin = given.folder.join("own-bin");
    std::fs::create_dir_all(&bin)?;
    // Of the name of a program that PATH has too.
    let own = given.script("own-bin/hostname", "pwd; echo own")?;
    ensure!(own.ends_with("hostname"), "{own}");
    let bin = text_of(&bin)?;
    let found = lines(
        given,
        &[
            "-n", "1", "-path", &bin, "-wdir", "/usr", "hostname", ":", "-n", "1", "--chdir",
            "/var", "-path", &bin, "hostname",
        ],
    )?;
    ensure!(found == ["/usr", "/var", "own", "own"], "{found:?}");
    Ok(())
}
