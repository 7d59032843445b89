//! Hadoop's XML settings.
//!
//! Looked for in `YARN_CONF_DIR`, `HADOOP_CONF_DIR` and `HADOOP_HOME/etc/hadoop`, in this order;
//! of core-site.xml, hdfs-site.xml, mapred-site.xml and yarn-site.xml each is taken from the first folder
//! that has it; where none of these variables is set, in `/etc/hadoop/conf`. A later file wins over an earlier
//! one unless that said `final`. Defaults of the keys that a YARN client uses are built in. A key
//! that Hadoop has renamed sets, and reads, the new one.
//!
//! ```no_run
//! use proto_hadoop::conf::Configuration;
//!
//! let settings = Configuration::load(&|name| std::env::var(name).ok())?;
//! println!("read {:?}", settings.files());
//! println!("ResourceManagers {:?}", settings.resource_managers()?.client);
//! # Ok::<(), proto_hadoop::conf::ConfError>(())
//! ```

mod defaults;
mod deprecated;
mod encoding;
mod error;
mod expand;
mod file;
mod resource_managers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use error::ConfError;
pub use resource_managers::ResourceManagers;

use expand::Scope;
use file::Properties;

/// Files of settings, in the order in which they are read.
const FILES: [&str; 4] = [
    "core-site.xml",
    "hdfs-site.xml",
    "mapred-site.xml",
    "yarn-site.xml",
];

/// Where distributions put them, for who has set none of the variables.
const USUAL: &str = "/etc/hadoop/conf";

/// The file without which a cluster is unknown.
const YARN_SITE: &str = "yarn-site.xml";

/// Set in the settings of a cluster whose nodes run as the user who started it: `mini`'s.
pub const NODES_ARE_OURS: &str = "gerbil.nodes-are-ours";

const AUTHENTICATION: &str = "hadoop.security.authentication";
const FALLBACK: &str = "ipc.client.fallback-to-simple-auth-allowed";

/// The settings of one cluster, as its clients see them.
#[derive(Debug, Clone)]
pub struct Configuration {
    properties: Properties,
    env: BTreeMap<String, String>,
    system: BTreeMap<&'static str, String>,
}

impl Configuration {
    /// Reads the files that the environment leads to. `env` gives a variable's value.
    ///
    /// # Errors
    ///
    /// When there is no yarn-site.xml, or a file cannot be read or is not Hadoop's XML.
    pub fn load(env: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfError> {
        Self::load_or_usual(env, Path::new(USUAL))
    }

    fn load_or_usual(
        env: &dyn Fn(&str) -> Option<String>,
        usual: &Path,
    ) -> Result<Self, ConfError> {
        let mut looked = Vec::new();
        let mut folders = Vec::new();
        for (variable, below) in [
            ("YARN_CONF_DIR", ""),
            ("HADOOP_CONF_DIR", ""),
            ("HADOOP_HOME", "etc/hadoop"),
        ] {
            match env(variable).filter(|value| !value.is_empty()) {
                None => looked.push(format!("{variable} is not set")),
                Some(value) => {
                    let folder = Path::new(&value).join(below);
                    if !folder.join(YARN_SITE).exists() {
                        let path = folder.join(YARN_SITE);
                        looked.push(format!("{} ({variable}) does not exist", path.display()));
                    }
                    folders.push(folder);
                }
            }
        }
        if folders.is_empty() {
            if !usual.join(YARN_SITE).exists() {
                looked.push(format!(
                    "{} does not exist",
                    usual.join(YARN_SITE).display()
                ));
            }
            folders.push(usual.to_owned());
        }
        let mut properties = Properties::default();
        for file in FILES {
            let found = folders
                .iter()
                .map(|folder| folder.join(file))
                .find(|path| path.exists());
            match found {
                Some(path) => properties.read(&path)?,
                None if file == YARN_SITE => return Err(ConfError::NoYarnSite { looked }),
                None => {}
            }
        }
        Ok(Self::new(properties, env))
    }

    /// Reads settings from a text in the form of a settings file, in place of files.
    ///
    /// # Errors
    ///
    /// When the text is not Hadoop's XML.
    pub fn from_xml(text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfError> {
        let mut properties = Properties::default();
        properties.read_text(Path::new("(text)"), text, 0)?;
        Ok(Self::new(properties, env))
    }

    fn new(properties: Properties, env: &dyn Fn(&str) -> Option<String>) -> Self {
        let named = expand::named_in(properties.values.values().map(String::as_str), env);
        let mut system = BTreeMap::new();
        for (property, variables) in [
            ("user.name", &["USER", "LOGNAME"][..]),
            ("user.home", &["HOME"][..]),
            ("java.io.tmpdir", &[][..]),
        ] {
            let value = variables.iter().find_map(|variable| env(variable));
            // Java's temporary folder does not follow TMPDIR.
            let value = value.or_else(|| (property == "java.io.tmpdir").then(|| "/tmp".to_owned()));
            if let Some(value) = value {
                system.insert(property, value);
            }
        }
        Self {
            properties,
            env: named,
            system,
        }
    }

    /// The value of `key`, variables replaced, without the blanks and line breaks that people and tools leave around
    /// it, as Hadoop takes it; Hadoop's default where the files say nothing.
    ///
    /// # Errors
    ///
    /// When its variables refer to each other without end.
    pub fn get(&self, key: &str) -> Result<Option<String>, ConfError> {
        let Some(raw) = self.raw(key) else {
            return Ok(None);
        };
        let scope = Scope {
            env: &self.env,
            system: &self.system,
            raw: &|name: &str| self.raw(name),
        };
        let expanded = scope.expand(raw).ok_or_else(|| ConfError::Expansion {
            key: key.to_owned(),
            value: raw.to_owned(),
            limit: expand::LIMIT,
        })?;
        Ok(Some(expanded.trim().to_owned()))
    }

    /// The value of `key`; `None` also when it is empty.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn trimmed(&self, key: &str) -> Result<Option<String>, ConfError> {
        Ok(self.get(key)?.filter(|value| !value.is_empty()))
    }

    /// The value of `key` as true or false; false where it is not set.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get), and when the value is neither.
    pub fn flag(&self, key: &str) -> Result<bool, ConfError> {
        match self.trimmed(key)? {
            None => Ok(false),
            Some(value) if value.eq_ignore_ascii_case("true") => Ok(true),
            Some(value) if value.eq_ignore_ascii_case("false") => Ok(false),
            Some(value) => Err(ConfError::Value {
                key: key.to_owned(),
                value,
                wanted: "true or false",
            }),
        }
    }

    /// Makes sure that the cluster is one to which a client may say by itself who it is, as Hadoop's own
    /// client does: with other settings that talks to such a cluster only where
    /// `ipc.client.fallback-to-simple-auth-allowed` says so.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get), and where Kerberos, or another way to log in that is not spoken here, is
    /// demanded.
    pub fn simple_authentication(&self) -> Result<(), ConfError> {
        let value = self.trimmed(AUTHENTICATION)?.unwrap_or_default();
        match value.eq_ignore_ascii_case("simple") || self.flag(FALLBACK)? {
            true => Ok(()),
            false => Err(ConfError::NotSimple {
                key: AUTHENTICATION,
                value,
                fallback: FALLBACK,
            }),
        }
    }

    /// The value of `key` as a whole number.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get), and when the value is none.
    pub fn integer(&self, key: &str) -> Result<Option<i64>, ConfError> {
        let parse = |value: String| match value.parse() {
            Ok(number) => Ok(number),
            Err(_not_a_number) => Err(ConfError::Value {
                key: key.to_owned(),
                value,
                wanted: "a whole number",
            }),
        };
        self.trimmed(key)?.map(parse).transpose()
    }

    /// Sets `key`, over what the files say of it.
    pub fn set(&mut self, key: &str, value: &str) {
        let key = deprecated::current(key).to_owned();
        self.properties.values.insert(key, value.to_owned());
    }

    /// Whether the nodes run as the user: nobody else is to read what is brought to them.
    #[must_use]
    pub fn nodes_are_ours(&self) -> bool {
        self.flag(NODES_ARE_OURS).unwrap_or(false)
    }

    /// Whether a file sets `key`, be it to its default.
    #[must_use]
    pub fn is_set(&self, key: &str) -> bool {
        let key = deprecated::current(key);
        self.properties.values.contains_key(key)
    }

    /// The files that were read, included ones too, in order.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.properties.files
    }

    fn raw(&self, key: &str) -> Option<&str> {
        let key = deprecated::current(key);
        self.properties
            .values
            .get(key)
            .map(String::as_str)
            .or_else(|| defaults::of(key))
    }
}

#[cfg(test)]
mod tests;
