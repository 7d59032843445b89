//! A program that lasts until it is let go, keeps a book of its runs, and notices a second one beside it.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::bed::{DEADLINE, Given, text_of};
use crate::command::Running;
use crate::{Finished, wait};

/// A rank writes itself into the book, holds a lock that its run has to itself, and waits. The lock goes
/// with the process, and no child keeps it.
const SCRIPT: &str = r#"
exec 9>"$1/lock-$PMI_RANK"
flock -n 9 || echo "$PMI_RANK" >>"$1/beside"
echo "$PMI_RANK" >>"$1/book"
[ "$PMI_RANK" = 0 ] && echo ready
while [ ! -e "$1/gate" ]; do sleep 0.1 9>&-; done
[ "$PMI_RANK" = 0 ] && echo gone
exit 0"#;

/// A job of that program.
#[derive(Debug)]
pub struct StartedJob {
    folder: PathBuf,
    ranks: usize,
    /// Its `gerbil-run`.
    pub running: Running,
}

impl StartedJob {
    /// Starts it and does not wait.
    ///
    /// # Errors
    ///
    /// It is not so, or cannot be found out; so for all here.
    pub fn start(given: &Given, name: &str, ranks: usize, arguments: &[&str]) -> Result<Self> {
        let script = given.script("booked", SCRIPT)?;
        let folder = given.folder.join(name);
        fs::create_dir_all(&folder)?;
        let (count, path) = (ranks.to_string(), text_of(&folder)?);
        let mut line = vec!["--name", name, "-n", &count];
        line.extend(arguments);
        line.extend([script.as_str(), path.as_str()]);
        let running = given.gerbil(&line)?.start()?;
        Ok(Self {
            folder,
            ranks,
            running,
        })
    }

    /// Starts it and waits until every rank runs.
    ///
    /// # Errors
    ///
    /// As [`Self::start`].
    pub fn running(given: &Given, name: &str, ranks: usize, arguments: &[&str]) -> Result<Self> {
        let job = Self::start(given, name, ranks, arguments)?;
        job.wait_for_runs(1)?;
        Ok(job)
    }

    /// Waits until every rank has begun so often.
    ///
    /// # Errors
    ///
    /// As [`Self::start`].
    pub fn wait_for_runs(&self, runs: usize) -> Result<()> {
        let all = wait::until("all ranks of the run", DEADLINE, || {
            Ok((self.begun() >= runs * self.ranks).then_some(()))
        });
        all.map_err(|error| error.context(self.running.stderr_so_far()))
    }

    fn begun(&self) -> usize {
        let book = fs::read_to_string(self.folder.join("book")).unwrap_or_default();
        book.lines().count()
    }

    /// Lets it end, which it does well, after so many runs of which no two were side by side.
    ///
    /// # Errors
    ///
    /// As [`Self::start`].
    pub fn let_go(self, runs: usize) -> Result<Finished> {
        fs::write(self.folder.join("gate"), "")?;
        let (begun, beside) = (self.begun(), self.folder.join("beside"));
        let finished = self.running.finish()?;
        ensure!(
            finished.code() == 0 && begun == runs * self.ranks && !beside.exists(),
            "{begun} ranks began; {finished:?}"
        );
        let text = finished.stdout_text();
        ensure!(
            text.matches("ready").count() == runs && text.matches("gone").count() == 1,
            "{text}"
        );
        Ok(finished)
    }

    /// It ends without being let go, after so many runs.
    ///
    /// # Errors
    ///
    /// As [`Self::start`].
    pub fn ends(self, runs: usize) -> Result<Finished> {
        let finished = self.running.finish()?;
        let book = fs::read_to_string(self.folder.join("book"))?;
        let begun = book.lines().count();
        ensure!(begun == runs * self.ranks, "{begun} ranks; {finished:?}");
        Ok(finished)
    }
}

/// What `gerbil-run` said of the matter.
///
/// # Errors
///
/// It is something else.
pub fn said(finished: &Finished, words: &[&str]) -> Result<()> {
    let stderr = finished.stderr_text();
    for word in words {
        ensure!(stderr.contains(word), "no {word:?} in {stderr}");
    }
    Ok(())
}
