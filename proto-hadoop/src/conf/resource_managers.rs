//! Where the ResourceManagers are.

use super::{ConfError, Configuration};

const HOSTNAME: &str = "yarn.resourcemanager.hostname";
const CLIENT: &str = "yarn.resourcemanager.address";
const SCHEDULER: &str = "yarn.resourcemanager.scheduler.address";
const HA_ENABLED: &str = "yarn.resourcemanager.ha.enabled";
const HA_IDS: &str = "yarn.resourcemanager.ha.rm-ids";
/// Default ports of Hadoop.
const CLIENT_PORT: u16 = 8032;
const SCHEDULER_PORT: u16 = 8030;

/// `host:port` of each ResourceManager, in the order of `ha.rm-ids`; one where there is no HA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceManagers {
    /// For [`ApplicationClient`](crate::ApplicationClient).
    pub client: Vec<String>,
    /// For [`ApplicationMasterClient`](crate::ApplicationMasterClient).
    pub scheduler: Vec<String>,
}

impl Configuration {
    /// Where the ResourceManagers are.
    ///
    /// Hadoop's default, 0.0.0.0, is not taken: it would be this machine, and hides that the
    /// settings do not name the cluster. Where only the client address is set, the scheduler is
    /// taken to be on the same host.
    ///
    /// # Errors
    ///
    /// When the files do not name them, or give a port that is none.
    pub fn resource_managers(&self) -> Result<ResourceManagers, ConfError> {
        let mut found = ResourceManagers {
            client: Vec::new(),
            scheduler: Vec::new(),
        };
        for suffix in self.suffixes()? {
            let (client, scheduler) = self.one(&suffix)?;
            found.client.push(client);
            found.scheduler.push(scheduler);
        }
        Ok(found)
    }

    /// What is put behind the keys: nothing, or `.rm1`, `.rm2`, ….
    fn suffixes(&self) -> Result<Vec<String>, ConfError> {
        if !self.flag(HA_ENABLED)? {
            return Ok(vec![String::new()]);
        }
        let ids = self.trimmed(HA_IDS)?.unwrap_or_default();
        let ids = ids.split(',').map(str::trim).filter(|id| !id.is_empty());
        let suffixes: Vec<String> = ids.map(|id| format!(".{id}")).collect();
        if suffixes.is_empty() {
            return Err(self.missing(HA_IDS.to_owned()));
        }
        Ok(suffixes)
    }

    fn one(&self, suffix: &str) -> Result<(String, String), ConfError> {
        let hostname_key = format!("{HOSTNAME}{suffix}");
        let client_key = format!("{CLIENT}{suffix}");
        let hostname = self.trimmed(&hostname_key)?;
        let by_hostname = hostname.as_deref().map(|host| join(host, CLIENT_PORT));
        let client = match self.trimmed(&client_key)? {
            Some(address) => Some(with_port(&client_key, address, CLIENT_PORT)?),
            None => by_hostname,
        };
        let client =
            client.ok_or_else(|| self.missing(format!("{hostname_key} or {client_key}")))?;
        let scheduler_key = format!("{SCHEDULER}{suffix}");
        let scheduler = match self.trimmed(&scheduler_key)? {
            Some(address) => with_port(&scheduler_key, address, SCHEDULER_PORT)?,
            None => {
                let host = client
                    .rsplit_once(':')
                    .map_or(client.as_str(), |(host, _)| host);
                join(hostname.as_deref().unwrap_or(host), SCHEDULER_PORT)
            }
        };
        Ok((client, scheduler))
    }

    fn missing(&self, wanted: String) -> ConfError {
        ConfError::NoResourceManager {
            wanted,
            files: self.files().to_vec(),
        }
    }
}

/// IPv6 literals are bracketed.
fn join(host: &str, port: u16) -> String {
    if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

/// Adds the port where an address has none.
fn with_port(key: &str, address: String, default: u16) -> Result<String, ConfError> {
    match address.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(address),
        None if !address.is_empty() => Ok(join(&address, default)),
        _ => Err(ConfError::Value {
            key: key.to_owned(),
            value: address,
            wanted: "host:port",
        }),
    }
}
