//! The cluster, as Hadoop's settings on this machine describe it.

use proto_hadoop::conf::{Configuration, ResourceManagers};
use staging::root::{self, Root};
use storage::Address;

use follow::Folder;

use crate::failure::Failure;

/// A cluster and who asks.
pub(crate) struct Cluster {
    pub configuration: Configuration,
    pub resource_managers: ResourceManagers,
    /// YARN user.
    pub user: String,
}

impl Cluster {
    /// Reads the settings.
    pub(crate) fn find() -> Result<Self, Failure> {
        let variable = |name: &str| std::env::var(name).ok();
        Self::with(Configuration::load(&variable)?, user(&variable)?)
    }

    /// With settings that were read already.
    pub(crate) fn with(configuration: Configuration, user: String) -> Result<Self, Failure> {
        configuration.simple_authentication()?;
        Ok(Self {
            resource_managers: configuration.resource_managers()?,
            configuration,
            user,
        })
    }

    /// A folder of HDFS that keeps output.
    pub(crate) fn folder(&self, url: &str) -> Result<Folder, Failure> {
        let files = self.configuration.files().first();
        let conf_dir = files.and_then(|file| file.parent());
        let conf_dir = conf_dir.map(|folder| folder.display().to_string());
        let hadoop = |key: &str| self.configuration.get(key).ok().flatten();
        let root = root::resolve(Some(url), &self.user, &hadoop, conf_dir.as_deref());
        match root? {
            Root {
                address: Address::Shared,
                path,
                ..
            } => Err(Failure::NotOnHdfs {
                url: url.to_owned(),
                path,
            }),
            Root { address, path, .. } => Ok(Folder {
                address,
                path,
                conf_dir,
            }),
        }
    }

    /// A number among the settings.
    pub(crate) fn number(&self, key: &str, default: u64) -> Result<u64, Failure> {
        match self.configuration.get(key)? {
            None => Ok(default),
            Some(text) => {
                let number = text.trim().parse();
                number.map_err(|_not_a_number| Failure::NoNumber {
                    key: key.to_owned(),
                    value: text,
                })
            }
        }
    }
}

/// As Hadoop's own client decides it on a cluster without Kerberos.
pub(crate) fn user(variable: &dyn Fn(&str) -> Option<String>) -> Result<String, Failure> {
    if let Some(user) = variable("HADOOP_USER_NAME").filter(|user| !user.is_empty()) {
        return Ok(user);
    }
    match nix::unistd::User::from_uid(nix::unistd::geteuid()) {
        Ok(Some(user)) => Ok(user.name),
        Ok(None) | Err(_) => Err(Failure::NoUser),
    }
}
