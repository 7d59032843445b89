//! Nodes of a fleet in a process of their own: one process may hold only so many files open.
//!
//! An annex is `hollow annex`. It reads its lot, a line of JSON, from standard input, registers the
//! nodes, and then answers each empty line with a line that tells how it is. It ends with its input.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::fleet::{Account, allow_files, run_nodes};
use super::launcher::Launchers;
use super::lot::Lot;
use crate::process::{self, ChildStreams};

/// The word after `hollow` on its command line.
pub const COMMAND: &str = "annex";
/// Until all its nodes have registered.
const REGISTER: Duration = Duration::from_secs(180);
/// For an answer.
const ANSWER: Duration = Duration::from_secs(30);

/// A process with nodes. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Annex {
    child: Child,
    orders: ChildStdin,
    answers: Receiver<String>,
}

impl Annex {
    /// Starts it; its nodes register meanwhile.
    ///
    /// # Errors
    ///
    /// `hollow` does not lie beside this program, or cannot be started.
    pub(super) fn start(lot: &Lot) -> Result<Self> {
        let program = std::env::current_exe()?.with_file_name("hollow");
        let mut command = Command::new(&program);
        command.arg(COMMAND);
        let streams = ChildStreams {
            stdin: Stdio::piped(),
            stdout: Stdio::piped(),
            stderr: Stdio::inherit(),
        };
        let started = process::spawn(&command, streams);
        let mut child = started.context("more nodes than one process may hold")?;
        let orders = child.stdin.take().context("its standard input")?;
        let output = child.stdout.take().context("its standard output")?;
        let (lines, answers) = sync_channel(1);
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if lines.send(line).is_err() {
                    break;
                }
            }
        });
        let mut annex = Self {
            child,
            orders,
            answers,
        };
        annex.say(&serde_json::to_string(lot)?)?;
        Ok(annex)
    }

    /// Waits until all its nodes have registered.
    ///
    /// # Errors
    ///
    /// They have not, in time.
    pub(super) fn registered(&mut self) -> Result<()> {
        self.hear(REGISTER).map(drop)
    }

    /// How it is.
    ///
    /// # Errors
    ///
    /// It does not say, in time.
    pub(super) fn account(&mut self) -> Result<Account> {
        self.say("")?;
        self.hear(ANSWER)
    }

    /// Its process.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    fn say(&mut self, line: &str) -> Result<()> {
        writeln!(self.orders, "{line}").context("an annex of hollow nodes has ended")
    }

    fn hear(&self, deadline: Duration) -> Result<Account> {
        let line = self.answers.recv_timeout(deadline);
        let line = line.context("an annex of hollow nodes says nothing")?;
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Annex {
    fn drop(&mut self) {
        drop(process::destroy(&mut self.child));
    }
}

/// The process itself.
///
/// # Errors
///
/// What it is told makes no sense, or a node is not taken in.
pub fn live() -> Result<()> {
    let mut lines = std::io::stdin().lines();
    let lot = lines.next().context("no lot on standard input")??;
    let lot: Lot = serde_json::from_str(&lot).context("a lot")?;
    allow_files(lot.hosts.len())?;
    let runtime = run_nodes()?;
    let launchers = Arc::new(Launchers::new(lot.links));
    let nodes = runtime.block_on(lot.register(&launchers))?;
    let mut stdout = std::io::stdout();
    loop {
        let account = Account::of(&nodes, &launchers);
        writeln!(stdout, "{}", serde_json::to_string(&account)?)?;
        stdout.flush()?;
        if lines.next().transpose()?.is_none() {
            break;
        }
    }
    drop(nodes);
    runtime.shutdown_background();
    Ok(())
}
