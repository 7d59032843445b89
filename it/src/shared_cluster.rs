//! One cluster for many tests, started by the first that wants it and replaced when one wants another
//! release.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, anyhow, ensure};

use crate::cluster::{Builder, Cluster};
use crate::hadoop::Version;
use crate::sweep;

/// A place for one running cluster.
#[derive(Debug)]
pub struct SharedCluster {
    builder: Builder,
    running: Mutex<Option<Tried>>,
}

/// A release, and its cluster or why it did not start.
type Tried = (Version, Result<Arc<Cluster>, String>);

impl SharedCluster {
    /// Nothing is started yet. The release in `builder` does not matter.
    #[must_use]
    pub fn new(builder: Builder) -> Self {
        Self {
            builder,
            running: Mutex::default(),
        }
    }

    /// The running cluster of this release. One of another release is taken down first, so that at most
    /// one holds memory. A release that did not start is not tried again.
    ///
    /// # Errors
    ///
    /// As [`Builder::start`].
    pub fn cluster(&self, version: Version) -> Result<Arc<Cluster>> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.as_ref().is_none_or(|(found, _)| *found != version) {
            running.take();
            let started = self.builder.clone().version(version).start();
            *running = Some((
                version,
                started.map(Arc::new).map_err(|error| format!("{error:#}")),
            ));
        }
        match running.as_ref() {
            Some((_, Ok(cluster))) => Ok(Arc::clone(cluster)),
            Some((_, Err(text))) => Err(anyhow!("{text}")),
            None => Err(anyhow!("no cluster")),
        }
        .with_context(|| format!("a cluster of Hadoop {version}"))
    }

    /// Takes the running cluster down, which leaves nothing. All users must have let it go.
    ///
    /// # Errors
    ///
    /// Somebody still holds it, and it ends with the process then; or something of it is left.
    pub fn end(&self) -> Result<()> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, Ok(cluster))) = running.take() else {
            return Ok(());
        };
        let cluster = Arc::into_inner(cluster).context("the cluster is still in use")?;
        let folder = cluster.folder().to_owned();
        drop(cluster);
        ensure!(!folder.exists(), "{} is left", folder.display());
        let left = sweep::find(&folder.join("nodes").join(""))?;
        ensure!(left.is_empty(), "{left:?} are left");
        Ok(())
    }
}
