//! A terminal for rank 0.

use std::fs;

use anyhow::{Result, ensure};
use it::bed::{Case, Given, text_of};
use it::{Finished, gerbil};

pub const CASES: &[(&str, Case)] = &[
    ("terminal: rank 0 has ours, its keys and its size", ours),
    (
        "terminal: without one, rank 0 has one all the same",
        none_here,
    ),
];

/// Runs `line` of a shell on a terminal with `typed` as what is typed; what the terminal shows.
fn on_terminal(given: &Given, typed: &str, line: &str) -> Result<Finished> {
    given
        .shell(
            &format!("( {typed} ) | script --quiet --return --command \"$LINE\" /dev/null"),
            &[],
        )?
        .env("LINE", line)
        .env("TERM", "xterm")
        .finish()
}

fn ours(given: &Given) -> Result<()> {
    let folder = text_of(&given.folder)?;
    for name in ["named", "size", "waiting"] {
        let _not_there = fs::remove_file(given.folder.join(name));
    }
    // Rank 0 tells of its terminal, reads a line, sees another size, and is interrupted by a key.
    let seen = given.script(
        "seen",
        &format!(
            "echo \"rank $PMI_RANK sees $(stty size) of $TERM\"\n\
             [ $PMI_RANK = 0 ] || {{ echo hidden; exec sleep 60; }}\n\
             trap 'echo size $(stty size); touch {folder}/size' WINCH\n\
             trap 'echo interrupted; exit 7' INT\n\
             touch {folder}/named; read word; echo \"got <$word>\"\n\
             touch {folder}/waiting; while :; do sleep 0.1; done"
        ),
    )?;
    let until = |name: &str| format!("until [ -e {folder}/{name} ]; do sleep 0.1; done");
    let typed = format!(
        "{}; printf 'two words\\r'; {}; {}; printf '\\003'; sleep 30",
        until("named"),
        until("waiting"),
        until("size")
    );
    let binary = gerbil::binary()?;
    let line = format!(
        "sleep 1; stty rows 40 cols 100; before=$(stty -g); t=$(tty); \
         ( {}; stty -F $t rows 50 cols 132 ) & {} -n 2 --pty {seen}; echo \"code $?\"; \
         [ \"$before\" = \"$(stty -g)\" ] && echo restored; sleep 1; kill -9 $PPID",
        until("waiting"),
        binary.display()
    );
    let finished = on_terminal(given, &typed, &line)?;
    let text = finished.stdout_text();
    for words in [
        "rank 0 sees 40 100 of xterm",
        "got <two words>",
        "size 50 132",
        "interrupted",
        "code 7",
        "restored",
    ] {
        ensure!(text.contains(words), "no {words:?} in {text}");
    }
    ensure!(!text.contains("hidden"), "{text}");
    given.is_clean()
}

fn none_here(given: &Given) -> Result<()> {
    let run = given.gerbil(&["-n", "1", "--pty", "sh"])?;
    let run = run.stdin(b"tty >/dev/null && echo one; stty size; exit 3\n".to_vec());
    let finished = run.finish()?;
    ensure!(finished.code() == 3, "{finished:?}");
    let text = finished.stdout_text();
    ensure!(text.contains("one\r\n24 80\r\n"), "{text:?}");
    given.is_clean()
}
