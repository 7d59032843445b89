//! Class data archives: what a daemon's Java runtime would parse and verify of some seven thousand classes
//! at each start, kept in the cache as it is in memory. They are by the way: a daemon without one, or whose
//! runtime does not like it, starts as ever and takes longer.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::cache::Cache;
use crate::cluster::Cluster;
use crate::daemon::Daemon;
use crate::hadoop::{Distribution, Version};
use crate::java::Java;

/// Those that a whole cluster starts, in the order in which they are ended: each takes its leave of its
/// master.
const DAEMONS: [Daemon; 4] = [
    Daemon::NodeManager(0),
    Daemon::DataNode,
    Daemon::NameNode,
    Daemon::ResourceManager,
];

/// What the daemons of one cluster do with archives, one for each class that is started.
#[derive(Debug, Clone)]
pub struct Archives {
    folder: Option<PathBuf>,
    /// They are written when the daemons end.
    made: bool,
}

impl Archives {
    /// Those of this runtime and release, if the cache has them.
    #[must_use]
    pub fn find(java: &Java, version: Version) -> Self {
        let entry = entry(java, version).map(|entry| Cache::find().folder().join(entry));
        Self {
            folder: entry.filter(|folder| folder.is_dir()),
            made: false,
        }
    }

    /// Makes those of a release, unless they are there: a small cluster is started and ended. Returns
    /// their folder.
    ///
    /// # Errors
    ///
    /// The cluster does not start or end, the cache cannot be written, or the runtime has not written one.
    pub fn make(version: Version) -> Result<PathBuf> {
        let java = Java::find(&version.java())?;
        let entry = entry(&java, version).with_context(|| {
            let home = java.home().display();
            format!("the Java runtime in {home} does not say its version in `release`")
        })?;
        // Under a lock of its own: those below are written under the cache's.
        Distribution::fetch(version)?;
        Cache::find().entry(&entry, |half| {
            let archives = Self {
                folder: Some(half.to_owned()),
                made: true,
            };
            let builder = Cluster::builder().version(version).nodes(1);
            let cluster = builder.archives(archives).start()?;
            for daemon in DAEMONS {
                cluster.stop(daemon)?;
                let archive = file(half, daemon.class());
                ensure!(
                    archive.is_file(),
                    "{daemon} has not written {}",
                    archive.display()
                );
            }
            Ok(())
        })
    }

    /// What `java` is told before it starts `class` with `arguments`. A daemon has none; with some a
    /// NameNode formats its folder, and loads little.
    #[must_use]
    pub fn flag(&self, class: &str, arguments: &[&str]) -> Option<String> {
        let archive = file(self.folder.as_deref()?, class);
        match self.made {
            true => arguments
                .is_empty()
                .then(|| format!("-XX:ArchiveClassesAtExit={}", archive.display())),
            false => archive
                .is_file()
                .then(|| format!("-XX:SharedArchiveFile={}", archive.display())),
        }
    }
}

/// Their name in the cache. A runtime takes no other's.
fn entry(java: &Java, version: Version) -> Option<String> {
    Some(format!("classes-{version}-java-{}", java.version()?))
}

fn file(folder: &Path, class: &str) -> PathBuf {
    let name = class.rsplit('.').next().unwrap_or(class);
    folder.join(format!("{name}.jsa"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_used_where_there_is_one_and_made_by_daemons_alone() {
        let folder = tempfile::tempdir().unwrap();
        let class = Daemon::NameNode.class();
        let none = Archives {
            folder: None,
            made: false,
        };
        assert_eq!(none.flag(class, &[]), None);
        let making = Archives {
            folder: Some(folder.path().to_owned()),
            made: true,
        };
        let flag = making.flag(class, &[]).unwrap();
        let path = flag.strip_prefix("-XX:ArchiveClassesAtExit=").unwrap();
        assert!(path.ends_with("/NameNode.jsa"), "{path}");
        assert_eq!(making.flag(class, &["-format"]), None);

        let using = Archives {
            made: false,
            ..making
        };
        assert_eq!(using.flag(class, &[]), None);
        std::fs::write(path, "").unwrap();
        let flag = using.flag(class, &["-format"]).unwrap();
        assert_eq!(flag, format!("-XX:SharedArchiveFile={path}"));
        assert_eq!(using.flag(Daemon::ResourceManager.class(), &[]), None);
    }
}
