//! The Java runtime that runs the stock daemons and tools. Nothing of the project itself uses it.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::command::Run;

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

/// Versions that Debian and Ubuntu have, in the order in which they are looked for.
const DEBIAN: [u32; 3] = [17, 21, 25];

impl Java {
    /// A runtime of one of these versions: `JAVA_HOME`, else where Debian puts them, else the one on
    /// `PATH`.
    ///
    /// # Errors
    ///
    /// There is none; the message says what was found, and how to get one.
    pub fn find(versions: &RangeInclusive<u32>) -> Result<Self> {
        let mut homes: Vec<PathBuf> = std::env::var_os("JAVA_HOME")
            .map(PathBuf::from)
            .into_iter()
            .collect();
        for version in DEBIAN {
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
        let mut found = Vec::new();
        for home in homes {
            match version(&home) {
                Some(version) if versions.contains(&version) => return Ok(Self { home }),
                Some(version) => found.push(format!("; {} is {version}", home.display())),
                None => {}
            }
        }
        bail!(
            "no Java runtime of version {} to {} in JAVA_HOME, /usr/lib/jvm or PATH{}: run it/setup, or \
             install openjdk-17-jre-headless or openjdk-21-jre-headless",
            versions.start(),
            versions.end(),
            found.concat()
        )
    }

    /// Its whole version, `17.0.15`; none where its home does not say it.
    #[must_use]
    pub fn version(&self) -> Option<String> {
        let release = std::fs::read_to_string(self.home.join("release")).ok()?;
        whole_version(&release).map(str::to_owned)
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

/// The version of the runtime in `home`, 17 for instance; none where there is no runtime.
fn version(home: &Path) -> Option<u32> {
    let java = home.join("bin/java");
    if !java.is_file() {
        return None;
    }
    let release = std::fs::read_to_string(home.join("release")).unwrap_or_default();
    release_version(&release).or_else(|| {
        let mut asked = Command::new(java);
        asked.arg("-version");
        said_version(&Run::new(asked).finish().ok()?.stderr_text())
    })
}

/// 17 of a `release` file with the line `JAVA_VERSION="17.0.15"`.
fn release_version(text: &str) -> Option<u32> {
    first_number(whole_version(text)?)
}

/// 17.0.15 of the same.
fn whole_version(text: &str) -> Option<&str> {
    let mut lines = text.lines();
    let rest = lines.find_map(|line| line.strip_prefix("JAVA_VERSION=\""))?;
    rest.split('"').next().filter(|version| !version.is_empty())
}

/// 17 of `openjdk version "17.0.15" 2025-04-15`.
fn said_version(text: &str) -> Option<u32> {
    first_number(text.split_once(" version \"")?.1)
}

fn first_number(text: &str) -> Option<u32> {
    let digits = text.split(|character: char| !character.is_ascii_digit());
    digits.into_iter().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_says_its_version_in_two_ways() {
        let release = "IMPLEMENTOR=\"Debian\"\nJAVA_VERSION=\"21.0.12.1\"\n";
        assert_eq!(release_version(release), Some(21));
        assert_eq!(release_version("JAVA_VERSION=\"25\"\n"), Some(25));
        assert_eq!(whole_version(release), Some("21.0.12.1"));
        assert_eq!(release_version(""), None);
        assert_eq!(
            said_version("openjdk version \"17.0.15\" 2025-04-15\n"),
            Some(17)
        );
        assert_eq!(said_version("sh: not found"), None);
    }

    #[test]
    fn one_that_the_daemons_do_not_run_on_is_not_taken() {
        let error = Java::find(&(90..=91)).unwrap_err().to_string();
        assert!(error.contains("of version 90 to 91"), "{error}");
        assert!(error.contains("run it/setup"), "{error}");
    }
}
