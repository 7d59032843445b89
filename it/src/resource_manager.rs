//! What a ResourceManager says about itself over REST: an account of the cluster that does not pass
//! through the project's own protocol code.

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::calls::{self, RpcActivity};

/// A master still answers within this that starts on two cores where twenty processes want to run: it was more than 10 s.
const ANSWER: Duration = Duration::from_secs(30);

/// One HTTP request to a daemon of a cluster.
pub(crate) fn http(method: ureq::http::Method, url: &str) -> Result<(u16, String)> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(ANSWER))
        .http_status_as_error(false)
        // Loopback: a proxy named in the environment is not for us.
        .proxy(None)
        .build()
        .into();
    let request = ureq::http::Request::builder()
        .method(method.clone())
        .uri(url)
        .body(())?;
    let mut answer = agent
        .run(request)
        .with_context(|| format!("{method} {url}"))?;
    let text = answer
        .body_mut()
        .read_to_string()
        .with_context(|| format!("{method} {url}"))?;
    Ok((answer.status().as_u16(), text))
}

pub(crate) fn json(url: &str) -> Result<Value> {
    let (status, text) = http(ureq::http::Method::GET, url)?;
    if status != 200 {
        bail!("GET {url}: {status}: {text}");
    }
    serde_json::from_str(&text).with_context(|| format!("GET {url}: not JSON: {text}"))
}

/// The REST pages of a ResourceManager.
#[derive(Debug, Clone)]
pub struct ResourceManager {
    address: Ipv4Addr,
}

/// A node as the ResourceManager sees it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeReport {
    /// `host:port`
    pub id: String,
    /// `RUNNING`, `LOST`, …
    pub state: String,
    /// Containers on it.
    pub num_containers: u32,
    /// Memory in use, in MiB.
    #[serde(rename = "usedMemoryMB")]
    pub used_memory_mb: u64,
    /// Memory free, in MiB.
    #[serde(rename = "availMemoryMB")]
    pub avail_memory_mb: u64,
    /// Cores in use, as far as the scheduler counts them.
    pub used_virtual_cores: u32,
    /// What containers hold of it, as the page has it: all types that the cluster counts.
    #[serde(default)]
    pub used_resource: Value,
    /// Its attributes, as the page has them; null where it has none.
    #[serde(default)]
    pub node_attributes_info: Value,
}

impl NodeReport {
    /// How much of a type containers hold.
    #[must_use]
    pub fn used(&self, name: &str) -> u64 {
        let rows = &self.used_resource["resourceInformations"]["resourceInformation"];
        let mut rows = rows.as_array().into_iter().flatten();
        let row = rows.find(|row| row["name"] == name);
        row.and_then(|row| row["value"].as_u64()).unwrap_or(0)
    }
}

/// An application as the ResourceManager sees it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationReport {
    /// `application_…`
    pub id: String,
    /// As the client named it.
    pub name: String,
    /// Its owner.
    pub user: String,
    /// Its queue.
    pub queue: String,
    /// `YARN` unless the client said otherwise.
    #[serde(default)]
    pub application_type: String,
    /// In its queue; higher is sooner.
    #[serde(default)]
    pub priority: i32,
    /// Where its master takes calls, `host:port`, while it runs. Hadoop 2.10 does not say.
    #[serde(default, rename = "amRPCAddress")]
    pub master_address: Option<String>,
    /// Its master runs outside the cluster. Hadoop 2.10 does not say.
    #[serde(default)]
    pub unmanaged_application: Option<bool>,
    /// The user's, separated by commas.
    #[serde(default)]
    pub application_tags: String,
    /// Done, in percent.
    #[serde(default)]
    pub progress: f64,
    /// Containers that it holds; -1 when it is over.
    #[serde(default)]
    pub running_containers: i64,
    /// Containers other than its master's that the scheduler has ended for others.
    #[serde(default, rename = "numNonAMContainerPreempted")]
    pub preempted: u32,
    /// `ACCEPTED`, `RUNNING`, `FINISHED`, `FAILED`, `KILLED`, …
    pub state: String,
    /// `UNDEFINED`, `SUCCEEDED`, `FAILED`, `KILLED`
    pub final_status: String,
    /// Why, in words; empty if nothing is to be said.
    #[serde(default)]
    pub diagnostics: String,
    /// From start to end or to now, in ms.
    pub elapsed_time: u64,
}

impl ApplicationReport {
    /// Whether it has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.state.as_str(), "FINISHED" | "FAILED" | "KILLED")
    }
}

impl ResourceManager {
    pub(crate) fn at(address: Ipv4Addr) -> Self {
        Self { address }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}:8088/ws/v1/cluster/{path}", self.address)
    }

    /// Whether it answers, and says that it is not the one that stands by.
    #[must_use]
    pub fn is_active(&self) -> bool {
        let info = json(&self.url("info")).unwrap_or_default();
        info.pointer("/clusterInfo/haState").and_then(Value::as_str) == Some("ACTIVE")
    }

    /// The Hadoop release it says it is.
    ///
    /// # Errors
    ///
    /// It does not answer, or not as expected; so for all methods here.
    pub fn version(&self) -> Result<String> {
        let info = json(&self.url("info"))?;
        let version = info
            .pointer("/clusterInfo/resourceManagerVersion")
            .and_then(Value::as_str);
        version
            .map(str::to_owned)
            .with_context(|| format!("no version in {info}"))
    }

    /// The calls of clients (port 8032) or of ApplicationMasters (8030) since its start.
    ///
    /// # Errors
    ///
    /// As [`ResourceManager::version`].
    pub fn calls(&self, port: u16) -> Result<RpcActivity> {
        RpcActivity::read(self.address, port)
    }

    /// The same by method.
    ///
    /// # Errors
    ///
    /// As [`ResourceManager::version`].
    pub fn calls_by_method(&self, port: u16) -> Result<Vec<(String, u64)>> {
        calls::by_method(self.address, ("ResourceManager", 8088), port)
    }

    /// Every node that has registered.
    ///
    /// # Errors
    ///
    /// As [`ResourceManager::version`].
    pub fn nodes(&self) -> Result<Vec<NodeReport>> {
        let mut all: Vec<NodeReport> = list(&json(&self.url("nodes"))?, "/nodes/node")?;
        // Hosts of the exclude file that never registered are listed without a port.
        all.retain(|node| !node.id.ends_with(":-1"));
        Ok(all)
    }

    /// The page to which the ResourceManager sends whoever follows the application's tracking address.
    ///
    /// # Errors
    ///
    /// As [`ResourceManager::version`].
    pub fn tracked(&self, application: &str) -> Result<String> {
        let url = format!("http://{}:8088/proxy/{application}/", self.address);
        let (status, text) = http(ureq::http::Method::GET, &url)?;
        if status != 200 {
            bail!("GET {url}: {status}: {text}");
        }
        Ok(text)
    }

    /// How many attempts of an application there were.
    ///
    /// # Errors
    ///
    /// As [`ResourceManager::version`].
    pub fn attempts(&self, application: &str) -> Result<usize> {
        let answer = json(&self.url(&format!("apps/{application}/appattempts")))?;
        let all: Vec<Value> = list(&answer, "/appAttempts/appAttempt")?;
        Ok(all.len())
    }

    /// Every application, oldest first.
    ///
    /// # Errors
    ///
    /// As [`ResourceManager::version`].
    pub fn applications(&self) -> Result<Vec<ApplicationReport>> {
        let mut all: Vec<ApplicationReport> = list(&json(&self.url("apps"))?, "/apps/app")?;
        all.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(all)
    }
}

/// A list at `pointer`. The releases write an empty one as `null` or `""`, and some write a list of one
/// as that one.
fn list<T: for<'a> Deserialize<'a>>(answer: &Value, pointer: &str) -> Result<Vec<T>> {
    let found = match answer.pointer(pointer) {
        Some(Value::Array(all)) => all.clone(),
        Some(one @ Value::Object(_)) => vec![one.clone()],
        _ => Vec::new(),
    };
    let parsed = found
        .into_iter()
        .map(serde_json::from_value)
        .collect::<Result<_, _>>();
    parsed.with_context(|| format!("reading {pointer} of {answer}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_in_every_form() {
        for (text, expected) in [
            (r#"{"apps":null}"#, vec![]),
            (r#"{"apps":""}"#, vec![]),
            (r#"{"apps":{"app":7}}"#, vec![]),
            (r#"{"apps":{"app":{"n":1}}}"#, vec![1]),
            (r#"{"apps":{"app":[{"n":1},{"n":2}]}}"#, vec![1, 2]),
        ] {
            #[derive(Deserialize)]
            struct One {
                n: u32,
            }
            let found: Vec<One> = list(&serde_json::from_str(text).unwrap(), "/apps/app").unwrap();
            assert_eq!(
                found.iter().map(|one| one.n).collect::<Vec<_>>(),
                expected,
                "{text}"
            );
        }
    }
}
