//! The Hadoop configuration folders of a cluster: one for clients, one for each daemon.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// The settings of one file, in the order of their names.
pub type Settings = BTreeMap<String, String>;

/// A Hadoop configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum File {
    /// `core-site.xml`
    Core,
    /// `hdfs-site.xml`
    Hdfs,
    /// `yarn-site.xml`
    Yarn,
    /// `mapred-site.xml`
    Mapred,
    /// `capacity-scheduler.xml`
    CapacityScheduler,
    /// `resource-types.xml`
    ResourceTypes,
    /// `node-resources.xml`
    NodeResources,
}

impl File {
    /// Each of them.
    pub const ALL: [Self; 7] = [
        Self::Core,
        Self::Hdfs,
        Self::Yarn,
        Self::Mapred,
        Self::CapacityScheduler,
        Self::ResourceTypes,
        Self::NodeResources,
    ];

    /// Its name in a configuration folder.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "core-site.xml",
            Self::Hdfs => "hdfs-site.xml",
            Self::Yarn => "yarn-site.xml",
            Self::Mapred => "mapred-site.xml",
            Self::CapacityScheduler => "capacity-scheduler.xml",
            Self::ResourceTypes => "resource-types.xml",
            Self::NodeResources => "node-resources.xml",
        }
    }
}

/// Daemons log to stderr, which is their log file. Without this file they die without a word.
const LOG4J: &str = "\
log4j.rootLogger=INFO,A
log4j.appender.A=org.apache.log4j.ConsoleAppender
log4j.appender.A.target=System.err
log4j.appender.A.layout=org.apache.log4j.PatternLayout
log4j.appender.A.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
log4j.logger.http.requests=WARN
";

/// One configuration folder.
#[derive(Debug, Clone, Default)]
pub struct Configuration {
    files: BTreeMap<File, Settings>,
}

impl Configuration {
    /// Sets one value; a later one replaces an earlier.
    pub fn set(&mut self, file: File, name: &str, value: impl Into<String>) {
        self.files
            .entry(file)
            .or_default()
            .insert(name.to_owned(), value.into());
    }

    /// Sets every value of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (file, settings) in &other.files {
            self.files
                .entry(*file)
                .or_default()
                .extend(settings.clone());
        }
    }

    /// Writes the files into `folder`, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// The folder cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let context = || format!("writing Hadoop's settings to {}", folder.display());
        fs::create_dir_all(folder).with_context(context)?;
        fs::write(folder.join("log4j.properties"), LOG4J).with_context(context)?;
        for (file, settings) in &self.files {
            fs::write(folder.join(file.name()), xml(settings)).with_context(context)?;
        }
        Ok(())
    }
}

fn xml(settings: &Settings) -> String {
    let mut text = String::from("<?xml version=\"1.0\"?>\n<configuration>\n");
    for (name, value) in settings {
        // Writing to a String cannot fail.
        let _infallible = writeln!(
            text,
            "  <property><name>{}</name><value>{}</value></property>",
            escape(name),
            escape(value)
        );
    }
    text.push_str("</configuration>\n");
    text
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// A written file with one more value, which comes last and so holds.
#[must_use]
pub fn property(text: &str, name: &str, value: &str) -> String {
    let (name, value) = (escape(name), escape(value));
    let property = format!(
        "  <property><name>{name}</name><value>{value}</value></property>\n</configuration>"
    );
    text.replace("</configuration>", &property)
}

/// The scheduler's settings as the release's archive ships them; no jar holds that file. `queues` get
/// the share of the cluster that each names, in percent, and `default` keeps the rest.
#[must_use]
pub fn capacity_scheduler(queues: &[(String, u32)]) -> Configuration {
    let mut configuration = Configuration::default();
    let mut set = |name: &str, value: String| {
        configuration.set(
            File::CapacityScheduler,
            &format!("yarn.scheduler.capacity.{name}"),
            value,
        );
    };
    set("maximum-applications", "10000".into());
    set("maximum-am-resource-percent", "0.1".into());
    set(
        "resource-calculator",
        "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator".into(),
    );
    set("node-locality-delay", "40".into());
    let taken: u32 = queues.iter().map(|(_, percent)| percent).sum();
    let default = ("default".to_owned(), 100_u32.saturating_sub(taken));
    let all: Vec<_> = std::iter::once(&default).chain(queues).collect();
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    set("root.queues", names.join(","));
    for (name, percent) in all {
        let mut queue = |key: &str, value: String| set(&format!("root.{name}.{key}"), value);
        queue("capacity", percent.to_string());
        queue("maximum-capacity", "100".into());
        queue("user-limit-factor", "1".into());
        queue("state", "RUNNING".into());
        queue("acl_submit_applications", "*".into());
        queue("acl_administer_queue", "*".into());
    }
    configuration
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped() {
        let settings = Settings::from([("a.b".to_owned(), "1 < 2 & 3".to_owned())]);
        assert!(xml(&settings).contains("<name>a.b</name><value>1 &lt; 2 &amp; 3</value>"));
    }

    #[test]
    fn a_value_is_added_behind_all_others() {
        let text = property(&xml(&Settings::new()), "a", "1 & 2");
        let added =
            "  <property><name>a</name><value>1 &amp; 2</value></property>\n</configuration>\n";
        assert!(text.ends_with(added), "{text}");
    }

    #[test]
    fn queues_share_the_whole_cluster() {
        let configuration = capacity_scheduler(&[("small".to_owned(), 25)]);
        let settings = &configuration.files[&File::CapacityScheduler];
        assert_eq!(
            settings["yarn.scheduler.capacity.root.queues"],
            "default,small"
        );
        assert_eq!(
            settings["yarn.scheduler.capacity.root.default.capacity"],
            "75"
        );
        assert_eq!(
            settings["yarn.scheduler.capacity.root.small.capacity"],
            "25"
        );
    }
}
