//! The Java runtime that runs the stock daemons and tools. Nothing of the project itself uses it.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// Heap of a daemon or tool, MiB.
pub const HEAP_MIB: u32 = 256;

/// Flags of every daemon and tool, beside the size of its heap.
///
/// Hadoop reaches into `java.lang` by reflection, which later runtimes forbid unless told so. The
/// rest keeps eight daemons small and quick to start on two cores; none of it changes what they do.
pub const FLAGS: [&str; 5] = [
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Djava.net.preferIPv4Stack=true",
];

/// A Java home folder.
#[derive(Debug, Clone)]
pub struct Java {
    home: PathBuf,
}

impl Java {
    /// `JAVA_HOME`, else a runtime of version 17 or 21 where Debian puts them, else the one on `PATH`.
    ///
    /// # Errors
    ///
    /// There is none; the message says how to get one.
    pub fn find() -> Result<Self> {
        let mut homes: Vec<PathBuf> = std::env::var_os("JAVA_HOME")
            .map(PathBuf::from)
            .into_iter()
            .collect();
        for version in ["17", "21"] {
            for architecture in ["amd64", "arm64"] {
                homes.push(format!("/usr/lib/jvm/java-{version}-openjdk-{architecture}").into());
            }
        }
        if let Some(path) = std::env::var_os("PATH") {
            for folder in std::env::split_paths(&path) {
                if let Ok(real) = folder.join("java").canonicalize()
                    && let Some(home) = real.parent().and_then(Path::parent)
                {
                    homes.push(home.to_owned());
                }
            }
        }
        match homes
            .into_iter()
            .find(|home| home.join("bin/java").is_file())
        {
            Some(home) => Ok(Self { home }),
            None => bail!(
                "no Java runtime in JAVA_HOME, /usr/lib/jvm or PATH: run it/setup, or install openjdk-17-jre-headless"
            ),
        }
    }

    /// What `JAVA_HOME` is set to.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The `java` command.
    #[must_use]
    pub fn command(&self) -> PathBuf {
        self.home.join("bin/java")
    }
}
