//! The cluster, as Hadoop's settings on this machine describe it.

use follow::CopyFolder;
use follow::timeout::call_timing;
use job::exit::Exit;
use mini::MiniError;
use proto_hadoop::conf::{ConfError, Configuration, ResourceManagers};
use proto_hadoop::{ApplicationClient, ApplicationId};
use staging::StageError;
use staging::root::{self, Root};
use storage::Address;

use crate::environment::variable;

/// Why there is no cluster to ask.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClusterError {
    /// Hadoop's settings make no sense.
    #[error(transparent)]
    Settings(#[from] ConfError),
    /// The cluster of this machine cannot start.
    #[error(transparent)]
    Local(#[from] MiniError),
    /// The cluster of this machine has no room for its connections.
    #[error(
        "a process of this user may have {hard} files open (ulimit -Hn), and a job on this machine alone needs {least}"
    )]
    OpenFiles {
        /// The hard limit.
        hard: u64,
        /// The least that does.
        least: u64,
    },
    /// The process that is to be a cluster of this machine.
    #[error("the cluster of this machine cannot be used: {why}")]
    Daemon {
        /// In words.
        why: String,
    },
    /// A setting is to be a number.
    #[error("the setting {key} is {value}, which is no number")]
    NoNumber {
        /// Of the setting.
        key: String,
        /// What it is.
        value: String,
    },
    /// Nobody knows who asks.
    #[error("this user id has no name here; say who you are on the cluster with HADOOP_USER_NAME")]
    NoUser,
    /// The operating system does not say who asks.
    #[error("cannot look up the name of this user id: {source}; HADOOP_USER_NAME says it too")]
    UserUnknown {
        /// What it says.
        source: std::io::Error,
    },
    /// A name that cannot be handed over.
    #[error("the variable HADOOP_USER_NAME is {user}, which is no UTF-8")]
    UserNoText {
        /// What it says, as far as it is text.
        user: String,
    },
    /// Somebody acts for somebody else.
    #[error(
        "HADOOP_PROXY_USER is {other}: gerbil acts for nobody but its user; unset it, and where authentication is simple \
         say HADOOP_USER_NAME={other}"
    )]
    ProxyUser {
        /// For whom.
        other: String,
    },
    /// No cluster is configured, for a job that needs none.
    #[error("{source}; or run it on this machine alone: --local")]
    NoCluster {
        /// Where was looked.
        source: ConfError,
    },
    /// A folder that is named where one of HDFS is wanted.
    #[error(transparent)]
    Folder(#[from] StageError),
    /// Output is to be kept where it cannot be.
    #[error("--output {url}: {path} is no folder of HDFS")]
    NotOnHdfs {
        /// As typed.
        url: String,
        /// Its path.
        path: String,
    },
}

impl ClusterError {
    /// What the command returns.
    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Self::Settings(_)
            | Self::Local(_)
            | Self::OpenFiles { .. }
            | Self::Daemon { .. }
            | Self::NoNumber { .. }
            | Self::NoUser
            | Self::UserUnknown { .. }
            | Self::UserNoText { .. }
            | Self::ProxyUser { .. }
            | Self::NoCluster { .. } => Exit::Config,
            Self::Folder(error) => error.exit(),
            Self::NotOnHdfs { .. } => Exit::Usage,
        }
    }
}

/// Whether YARN gathers what the containers of an application have written when that is over.
const LOGS_GATHERED: &str = "yarn.log-aggregation-enable";
/// Where containers write on their nodes.
const LOG_FOLDERS: &str = "yarn.nodemanager.log-dirs";
/// Where YARN's pages are.
const PAGES: &str = "yarn.resourcemanager.webapp.address";
const PAGES_SECURE: &str = "yarn.resourcemanager.webapp.https.address";
const HTTP_POLICY: &str = "yarn.http.policy";
const RM_HOST: &str = "yarn.resourcemanager.hostname";
const HA: &str = "yarn.resourcemanager.ha.enabled";
const RM_IDS: &str = "yarn.resourcemanager.ha.rm-ids";
/// How full a NodeManager lets a disk become before it takes it for a bad one, hundredths, and whether it looks.
const DISK_FULLEST: &str =
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage";
const DISK_CHECKED: &str = "yarn.nodemanager.disk-health-checker.enable";
/// As yarn-default.xml has it.
const FULLEST: f32 = 90.0;
/// Hundredths of a disk that are left to others below that.
const LEFT: f32 = 5.0;

/// A cluster and who asks.
pub(crate) struct Cluster {
    pub configuration: Configuration,
    pub resource_managers: ResourceManagers,
    /// YARN user.
    pub user: String,
}

impl Cluster {
    /// Reads the settings.
    pub(crate) fn find() -> Result<Self, ClusterError> {
        Self::with(Configuration::load(&variable)?, user(&variable)?)
    }

    /// The same for a job, which might do without one.
    pub(crate) fn find_for_a_job() -> Result<Self, ClusterError> {
        Self::find().map_err(|error| match error {
            ClusterError::Settings(source @ ConfError::NoYarnSite { .. }) => {
                ClusterError::NoCluster { source }
            }
            other => other,
        })
    }

    /// With settings that were read already.
    pub(crate) fn with(configuration: Configuration, user: String) -> Result<Self, ClusterError> {
        configuration.simple_authentication()?;
        Ok(Self {
            resource_managers: configuration.resource_managers()?,
            configuration,
            user,
        })
    }

    /// Its ResourceManagers, for calls with the patience that a person at a terminal has.
    pub(crate) fn rm(&self) -> ApplicationClient {
        let addresses = self.resource_managers.client.clone();
        let timing = call_timing(addresses.len());
        ApplicationClient::new(addresses, &self.user).with_timing(timing)
    }

    /// A folder of HDFS that keeps output.
    pub(crate) fn folder(&self, url: &str) -> Result<CopyFolder, ClusterError> {
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
            } => Err(ClusterError::NotOnHdfs {
                url: url.to_owned(),
                path,
            }),
            Root { address, path, .. } => Ok(CopyFolder { address, path }),
        }
    }

    /// Hundredths of a disk that may be taken before tasks leave it, so that no node is given up; 0: all, where nobody
    /// looks.
    pub(crate) fn disk_percent(&self) -> Result<u8, ClusterError> {
        let text = self.configuration.get(DISK_FULLEST)?;
        let fullest = match &text {
            None => FULLEST,
            Some(text) => text
                .trim()
                .parse()
                .map_err(|_not_a_number| ClusterError::NoNumber {
                    key: DISK_FULLEST.to_owned(),
                    value: text.clone(),
                })?,
        };
        let looks = self.configuration.get(DISK_CHECKED)?;
        Ok(match looks.is_some_and(|looks| looks.trim() == "false") {
            true => 0,
            false => left_at(fullest),
        })
    }

    /// Where YARN keeps what the containers of an application that is over have written, as the rest of a sentence.
    pub(crate) fn place_of_logs(&self, id: ApplicationId) -> String {
        let setting = |key: &str| self.configuration.get(key).ok().flatten();
        let is_gathered = setting(LOGS_GATHERED).is_some_and(|gathers| gathers.trim() == "true");
        match is_gathered {
            true => format!("YARN has gathered: yarn logs -applicationId {id}"),
            false => format!(
                "lies on its nodes, in the folder {id} of {} (yarn.nodemanager.log-dirs), as long as YARN keeps it there: \
                 {LOGS_GATHERED} is not true here",
                setting(LOG_FOLDERS).unwrap_or_else(|| "the NodeManagers' logs".to_owned())
            ),
        }
    }

    /// Where YARN's pages are, `http://host:port`; `None`: the settings do not say it.
    pub(crate) fn pages(&self) -> Option<String> {
        let setting = |key: &str| {
            let text = self.configuration.get(key).ok().flatten()?;
            let text = text.trim().to_owned();
            (!text.is_empty()).then_some(text)
        };
        let is_secure = setting(HTTP_POLICY).is_some_and(|policy| policy == "HTTPS_ONLY");
        let (scheme, address, port) = match is_secure {
            true => ("https", PAGES_SECURE, 8090),
            false => ("http", PAGES, 8088),
        };
        let ids = setting(RM_IDS).filter(|_| setting(HA).is_some_and(|is_on| is_on == "true"));
        let suffix = ids.and_then(|ids| Some(format!(".{}", ids.split(',').next()?.trim())));
        let suffix = suffix.unwrap_or_default();
        let host = || setting(&format!("{RM_HOST}{suffix}")).map(|host| format!("{host}:{port}"));
        let place = setting(&format!("{address}{suffix}")).or_else(host)?;
        Some(format!("{scheme}://{place}"))
    }

    /// A number among the settings.
    pub(crate) fn number(&self, key: &str, default: u64) -> Result<u64, ClusterError> {
        match self.configuration.get(key)? {
            None => Ok(default),
            Some(text) => {
                let number = text.trim().parse();
                number.map_err(|_not_a_number| ClusterError::NoNumber {
                    key: key.to_owned(),
                    value: text,
                })
            }
        }
    }
}

/// The hundredths at which tasks leave a disk that is bad above `fullest` of them; 0: at none.
fn left_at(fullest: f32) -> u8 {
    let at = fullest - LEFT;
    // Each number there is, as a float has no other way to one.
    match fullest < 100.0 {
        true => (1..=95)
            .rev()
            .find(|percent| f32::from(*percent) <= at)
            .unwrap_or(1),
        false => 0,
    }
}

/// As Hadoop's own client decides it on a cluster without Kerberos.
pub(crate) fn user(variable: &dyn Fn(&str) -> Option<String>) -> Result<String, ClusterError> {
    if let Some(other) = variable("HADOOP_PROXY_USER").filter(|other| !other.is_empty()) {
        return Err(ClusterError::ProxyUser { other });
    }
    if let Some(user) = variable("HADOOP_USER_NAME").filter(|user| !user.is_empty()) {
        return match user.contains(char::REPLACEMENT_CHARACTER) {
            false => Ok(user),
            true => Err(ClusterError::UserNoText { user }),
        };
    }
    match nix::unistd::User::from_uid(nix::unistd::geteuid()) {
        Ok(Some(user)) => Ok(user.name),
        Ok(None) => Err(ClusterError::NoUser),
        Err(errno) => Err(ClusterError::UserUnknown {
            source: errno.into(),
        }),
    }
}

/// The same where the nodes are this machine, which need no name: a user without one, as in a container that
/// runs by a number, is called by it.
pub(crate) fn user_here(variable: &dyn Fn(&str) -> Option<String>) -> String {
    user(variable).unwrap_or_else(|_nameless| nix::unistd::geteuid().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(rows: &[(&str, &str)]) -> Cluster {
        let manager = [("yarn.resourcemanager.hostname", "rm")];
        let rows = manager.iter().chain(rows);
        let rows = rows.map(|(name, value)| {
            format!("<property><name>{name}</name><value>{value}</value></property>")
        });
        let text = format!(
            "<configuration>{}</configuration>",
            rows.collect::<String>()
        );
        let configuration = Configuration::from_xml(&text, &|_none| None).unwrap();
        Cluster::with(configuration, "ann".to_owned()).unwrap()
    }

    #[test]
    fn a_user_whose_name_is_no_text_is_refused() {
        let named = |name: &str| user(&|key| (key == "HADOOP_USER_NAME").then(|| name.to_owned()));
        let refused = user(&|_| Some("bob".to_owned())).unwrap_err().to_string();
        assert!(refused.contains("HADOOP_PROXY_USER is bob"), "{refused}");
        assert_eq!(named("ann").unwrap(), "ann");
        let refused = named("ann\u{fffd}").unwrap_err().to_string();
        assert!(refused.contains("HADOOP_USER_NAME is ann"), "{refused}");
    }

    #[test]
    fn where_logs_are_is_what_the_settings_say() {
        let id: ApplicationId = "application_1700000000000_0042".parse().unwrap();
        let with = |rows: &[(&str, &str)]| cluster(rows).place_of_logs(id);
        let gathered = with(&[(LOGS_GATHERED, "true")]);
        assert_eq!(
            gathered,
            format!("YARN has gathered: yarn logs -applicationId {id}")
        );
        let there = with(&[(LOG_FOLDERS, "/logs/a,/logs/b")]);
        let words = format!("lies on its nodes, in the folder {id} of /logs/a,/logs/b");
        assert!(there.starts_with(&words), "{there}");
        assert!(with(&[]).contains("of the NodeManagers' logs"));
    }

    #[test]
    fn disks_are_left_a_little_before_yarn_leaves_them() {
        let with = |rows: &[(&str, &str)]| cluster(rows).disk_percent();
        assert_eq!(with(&[]).unwrap(), 85);
        assert_eq!(with(&[(DISK_FULLEST, "98.5")]).unwrap(), 93);
        assert_eq!(with(&[(DISK_FULLEST, " 3 ")]).unwrap(), 1);
        assert_eq!(with(&[(DISK_FULLEST, "100")]).unwrap(), 0);
        assert_eq!(with(&[(DISK_CHECKED, "false")]).unwrap(), 0);
        let wrong = with(&[(DISK_FULLEST, "most")]).unwrap_err();
        assert!(
            wrong.to_string().contains("is most, which is no number"),
            "{wrong}"
        );
    }
}
