//! The stock jars of one Hadoop release, from Maven Central.

use std::ffi::OsString;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::cache::Cache;
use crate::command::Run;

/// What is fetched with all that it needs.
const POM: &str = include_str!("hadoop-pom.xml");

/// The release of lz4-java that Hadoop's POM names.
const LZ4: &str = "1.7.1";

/// One download of about 100 MB over a slow line.
const FETCH_DEADLINE: Duration = Duration::from_secs(1200);

/// A Hadoop release that the tests run against: the newest of each line still in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// The last of Hadoop 2.
    V2_10_2,
    /// The line most distributions ship.
    V3_3_6,
    /// The only 3.4 with every jar: the baseline.
    V3_4_2,
    /// The newest line.
    V3_5_0,
}

impl Version {
    /// Every release, oldest first.
    pub const ALL: [Self; 4] = [Self::V2_10_2, Self::V3_3_6, Self::V3_4_2, Self::V3_5_0];

    /// As the release writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2_10_2 => "2.10.2",
            Self::V3_3_6 => "3.3.6",
            Self::V3_4_2 => "3.4.2",
            Self::V3_5_0 => "3.5.0",
        }
    }

    /// The versions of Java that its daemons run on. Before 3.5 they ask the security manager on whose
    /// behalf they act, which 23 forbids and 24 no longer has.
    #[must_use]
    pub fn java(self) -> RangeInclusive<u32> {
        match self {
            Self::V2_10_2 | Self::V3_3_6 | Self::V3_4_2 => 17..=22,
            Self::V3_5_0 => 17..=25,
        }
    }

    /// The release whose DistributedShell jar is taken: not every release published one.
    fn distributed_shell(self) -> &'static str {
        match self {
            Self::V2_10_2 => "2.10.2",
            Self::V3_3_6 => "3.3.5",
            Self::V3_4_2 | Self::V3_5_0 => "3.4.2",
        }
    }

    /// The release whose MapReduce examples are taken.
    fn examples(self) -> &'static str {
        match self {
            Self::V3_5_0 => "3.4.2",
            Self::V2_10_2 | Self::V3_3_6 | Self::V3_4_2 => self.as_str(),
        }
    }

    /// Jars that go before all others: the web services of 2.10 want the old of its two ASM libraries,
    /// whose classes have the same names.
    fn first(self) -> &'static [&'static str] {
        match self {
            Self::V2_10_2 => &["asm-3.1.jar"],
            Self::V3_3_6 | Self::V3_4_2 | Self::V3_5_0 => &[],
        }
    }

    /// Artifacts that go behind all others on the class path: DistributedShell 3.4.2 wants Jersey 1
    /// from a release whose own servers are built on Jersey 2.
    fn extras(self) -> &'static [&'static str] {
        match self {
            Self::V3_5_0 => &[
                "com.sun.jersey:jersey-core:1.19.4",
                "com.sun.jersey:jersey-client:1.19.4",
            ],
            Self::V2_10_2 | Self::V3_3_6 | Self::V3_4_2 => &[],
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Version {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match Self::ALL
            .into_iter()
            .find(|version| version.as_str() == text)
        {
            Some(version) => Ok(version),
            None => bail!(
                "Hadoop {text}: not one of {}",
                Self::ALL.map(Self::as_str).join(", ")
            ),
        }
    }
}

/// A release in the cache.
#[derive(Debug, Clone)]
pub struct Distribution {
    version: Version,
    folder: PathBuf,
}

impl Distribution {
    /// The release from the cache, fetched with `mvn` if it is not there.
    ///
    /// # Errors
    ///
    /// `mvn` is missing or failed (its last lines are in the message), or the cache cannot be written.
    pub fn fetch(version: Version) -> Result<Self> {
        let cache = Cache::find();
        let folder = cache.entry(&entry(version), |half| Self::fill(version, &cache, half))?;
        Ok(Self { version, folder })
    }

    /// Whether the cache has it, so that nothing need be brought.
    #[must_use]
    pub fn is_here(version: Version) -> bool {
        Cache::find().folder().join(entry(version)).is_dir()
    }

    fn fill(version: Version, cache: &Cache, half: &Path) -> Result<()> {
        // Not pom.xml: the single artifacts below are fetched without any project.
        let pom = half.join("hadoop-pom.xml");
        std::fs::write(&pom, POM)?;
        let maven = |goal: &str, into: &str| maven(cache, goal, half, &half.join(into));
        let mut all = maven("dependency:copy-dependencies", "lib");
        all.arg("-f")
            .arg(&pom)
            .arg(format!("-Dhadoop={version}"))
            .arg("-DincludeScope=runtime");
        run_maven(all, &format!("Hadoop {version}"))?;
        let leaves = [
            format!(
                "org.apache.hadoop:hadoop-yarn-applications-distributedshell:{}",
                version.distributed_shell()
            ),
            format!(
                "org.apache.hadoop:hadoop-mapreduce-examples:{}",
                version.examples()
            ),
        ];
        for artifact in &leaves {
            let mut one = maven("dependency:copy", "lib");
            one.arg(format!("-Dartifact={artifact}"));
            run_maven(one, &format!("Hadoop {version}"))?;
        }
        std::fs::create_dir(half.join("extra"))?;
        for artifact in version.extras() {
            let mut one = maven("dependency:copy", "extra");
            one.arg(format!("-Dartifact={artifact}"));
            run_maven(one, &format!("Hadoop {version}"))?;
        }
        for needed in [
            "hadoop-yarn-server-resourcemanager",
            "hadoop-yarn-server-timelineservice",
            "hadoop-hdfs",
        ] {
            let jar = half.join("lib").join(format!("{needed}-{version}.jar"));
            if !jar.is_file() {
                bail!("mvn succeeded, but {} is missing", jar.display());
            }
        }
        Ok(())
    }

    /// Which release it is.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The folder of all jars.
    #[must_use]
    pub fn lib(&self) -> PathBuf {
        self.folder.join("lib")
    }

    /// Class path entries, in order, behind the configuration folder.
    #[must_use]
    pub fn class_path(&self) -> Vec<String> {
        let lib = self.lib();
        let first = self
            .version
            .first()
            .iter()
            .map(|jar| lib.join(jar).display().to_string());
        let extra = self.folder.join("extra");
        first
            .chain([
                format!("{}/*", lib.display()),
                format!("{}/*", extra.display()),
            ])
            .collect()
    }

    /// The jar of DistributedShell's application master.
    #[must_use]
    pub fn distributed_shell_jar(&self) -> PathBuf {
        let release = self.version.distributed_shell();
        self.lib().join(format!(
            "hadoop-yarn-applications-distributedshell-{release}.jar"
        ))
    }

    /// The jar of Hadoop Streaming: fetched if the cache does not have it.
    ///
    /// # Errors
    ///
    /// As [`Distribution::fetch`].
    pub fn streaming_jar(&self) -> Result<PathBuf> {
        let cache = Cache::find();
        let name = format!("hadoop-streaming-{}", self.version);
        let folder = cache.entry(&name, |half| {
            let mut mvn = maven(&cache, "dependency:copy", half, half);
            mvn.arg(format!(
                "-Dartifact=org.apache.hadoop:hadoop-streaming:{}",
                self.version
            ));
            run_maven(mvn, &name)
        })?;
        Ok(folder.join(format!("{name}.jar")))
    }

    /// The jar of the MapReduce examples.
    #[must_use]
    pub fn examples_jar(&self) -> PathBuf {
        self.lib().join(format!(
            "hadoop-mapreduce-examples-{}.jar",
            self.version.examples()
        ))
    }
}

/// The jar that `Lz4Codec` of all these releases wants and that comes with none of them, `lz4-java`: fetched if the
/// cache does not have it.
///
/// # Errors
///
/// As [`Distribution::fetch`].
pub fn lz4_jar() -> Result<PathBuf> {
    let cache = Cache::find();
    let name = format!("lz4-java-{LZ4}");
    let folder = cache.entry(&name, |half| {
        let mut mvn = maven(&cache, "dependency:copy", half, half);
        mvn.arg(format!("-Dartifact=org.lz4:lz4-java:{LZ4}"));
        run_maven(mvn, &name)
    })?;
    Ok(folder.join(format!("{name}.jar")))
}

/// Its name in the cache.
fn entry(version: Version) -> String {
    format!("hadoop-{version}")
}

/// `mvn GOAL`, run in the folder `half`, which puts files into the folder `into`.
fn maven(cache: &Cache, goal: &str, half: &Path, into: &Path) -> Command {
    let mut mvn = Command::new("mvn");
    mvn.current_dir(half)
        // No /tmp/hsperfdata_USER.
        .env("MAVEN_OPTS", "-XX:-UsePerfData")
        .args(["-B", "-q", goal])
        .arg(format!(
            "-Dmaven.repo.local={}",
            cache.folder().join("m2").display()
        ))
        .arg(format!("-DoutputDirectory={}", into.display()));
    mvn
}

fn run_maven(mvn: Command, what: &str) -> Result<()> {
    let arguments: Vec<OsString> = mvn.get_args().map(ToOwned::to_owned).collect();
    let finished = Run::new(mvn)
        .deadline(FETCH_DEADLINE)
        .finish()
        .context("running mvn: run it/setup, or install maven")?;
    if !finished.status.success() {
        bail!(
            "fetching {what}: mvn {arguments:?} ended with {}:\n{}{}",
            finished.status,
            finished.stdout_text(),
            finished.stderr_text()
        );
    }
    Ok(())
}
