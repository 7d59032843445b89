//! What can be wrong with Hadoop's settings.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why the settings cannot be read or used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfError {
    /// No yarn-site.xml, so the cluster is unknown.
    #[error(
        "no yarn-site.xml found: {}; set HADOOP_CONF_DIR to the folder with the cluster's settings",
        looked.join("; ")
    )]
    NoYarnSite {
        /// Where was looked, and what was found there.
        looked: Vec<String>,
    },
    /// A file that is there but cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file beyond the size that settings may have.
    #[error("{} has {size} bytes; a file of settings has at most {limit}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
        /// The largest size in bytes.
        limit: u64,
    },
    /// A file in letters that are not known here.
    #[error("{} is written in {encoding}, which is not known here; write it in UTF-8", path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
        /// What it says of itself, or what was looked for in vain.
        encoding: String,
    },
    /// A file that is not XML.
    #[error("{} is not well-formed XML: {source}", path.display())]
    Xml {
        /// The file.
        path: PathBuf,
        /// Where and why.
        #[source]
        source: Box<roxmltree::Error>,
    },
    /// XML, but not Hadoop's.
    #[error("{}: the outermost element is <{element}>, not <configuration>", path.display())]
    NotConfiguration {
        /// The file.
        path: PathBuf,
        /// Its outermost element.
        element: String,
    },
    /// An XInclude that names no file, or one outside the file system.
    #[error("{}: cannot include \"{href}\": {problem}", path.display())]
    Include {
        /// The including file.
        path: PathBuf,
        /// What it wants to include.
        href: String,
        /// Why it is not included, a sentence's end.
        problem: &'static str,
    },
    /// Variables that never end.
    #[error("{key} = \"{value}\" does not come to an end after {limit} substitutions")]
    Expansion {
        /// The key.
        key: String,
        /// Its value as written.
        value: String,
        /// Substitutions that were made.
        limit: usize,
    },
    /// A value of another form than its key wants.
    #[error("{key} = \"{value}\" is not {wanted}")]
    Value {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// They demand a log-in that is not spoken here.
    #[error(
        "{key} is {value}, but only simple authentication is spoken here, in which a client says by \
         itself who it is; for a cluster that takes it, set {fallback} to true in core-site.xml, as for \
         Hadoop's own client"
    )]
    NotSimple {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// The key that allows it all the same.
        fallback: &'static str,
    },
    /// The files do not say where the ResourceManager is.
    #[error(
        "the settings do not say where the ResourceManager is: set {wanted} in yarn-site.xml \
         (files read: {})",
        files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
    )]
    NoResourceManager {
        /// Keys of which one is needed.
        wanted: String,
        /// Files that were read.
        files: Vec<PathBuf>,
    },
}
