//! Daemons that have another setting for a while.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, Result};

use super::Cluster;
use crate::daemon::Daemon;
use crate::settings::{File, property};
use crate::wait;

impl Cluster {
    /// Does `act` while these daemons have another value of a setting, by its name, that was not set before: they are
    /// started again for it, and then without it.
    ///
    /// # Errors
    ///
    /// As `act`, and as [`Cluster::start`] and its kind.
    pub fn with_setting<T>(
        &self,
        daemons: &[Daemon],
        file: File,
        (name, value): (&str, &str),
        act: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let paths = daemons.iter().map(|daemon| {
            let folder = self.daemon_folder(*daemon).join("conf");
            let path = folder.join(file.name());
            let before = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            Ok((path, before))
        });
        let before = paths.collect::<Result<Vec<_>>>()?;
        for (path, text) in &before {
            fs::write(path, property(text, name, value))?;
        }
        let done = self.restart(daemons).and_then(|()| act());
        for (path, text) in before {
            fs::write(path, text)?;
        }
        self.restart(daemons)?;
        done
    }

    fn restart(&self, daemons: &[Daemon]) -> Result<()> {
        let is_store = |daemon: &&Daemon| self.stores().contains(daemon);
        let stores = daemons.iter().filter(is_store).count();
        let data_nodes = || match stores {
            0 => Ok(BTreeSet::new()),
            _ => self.hdfs().data_nodes(),
        };
        let before = data_nodes()?;
        for daemon in daemons {
            self.stop(*daemon)?;
        }
        for daemon in daemons {
            self.start(*daemon)?;
        }
        if stores < daemons.len() {
            self.wait_for_nodes(self.nodes)?;
        }
        // The NameNode misses none of them for ten minutes; those that have come back have other ports.
        wait::until("DataNodes that have come back", self.deadline, || {
            let now = data_nodes()?;
            Ok((now.difference(&before).count() == stores).then_some(()))
        })
    }
}
