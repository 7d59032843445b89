//! The calls that a ResourceManager or a NameNode has taken at one of its ports, as it counts them itself (JMX).

use std::net::Ipv4Addr;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::resource_manager::json;

/// Since the daemon's start, at one port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RpcActivity {
    /// That were answered.
    pub answered: u64,
    /// That were turned away because too many waited ("Server is too busy").
    pub turned_away: u64,
    /// Bytes in.
    pub received: u64,
    /// Bytes out.
    pub sent: u64,
}

impl RpcActivity {
    pub(crate) fn read(daemon: Ipv4Addr, port: u16) -> Result<Self> {
        let bean = format!("Hadoop:service=ResourceManager,name=RpcActivityForPort{port}");
        let answer = json(&format!("http://{daemon}:8088/jmx?qry={bean}"))?;
        let found = answer.pointer("/beans/0").context("no such port")?;
        let count = |name: &str| {
            let value = found.get(name).and_then(Value::as_u64);
            value.with_context(|| format!("no {name} in {found}"))
        };
        Ok(Self {
            answered: count("RpcProcessingTimeNumOps")?,
            turned_away: count("RpcClientBackoff")?,
            received: count("ReceivedBytes")?,
            sent: count("SentBytes")?,
        })
    }
}

/// Before the name of a method whose calls are counted once more, with the time that they waited.
const AGAIN: &str = "Overall";

/// How often each method was called since the daemon's start, at one port.
pub(crate) fn by_method(
    daemon: Ipv4Addr,
    (service, web): (&str, u16),
    port: u16,
) -> Result<Vec<(String, u64)>> {
    let bean = format!("Hadoop:service={service},name=RpcDetailedActivityForPort{port}");
    let answer = json(&format!("http://{daemon}:{web}/jmx?qry={bean}"))?;
    let found = answer.pointer("/beans/0").and_then(Value::as_object);
    let all = found.context("no such port")?.iter();
    let counts = all.filter_map(|(key, value)| {
        let method = key.strip_suffix("NumOps")?;
        if method.starts_with(AGAIN) {
            return None;
        }
        Some((
            method.to_owned(),
            value.as_u64().filter(|count| *count > 0)?,
        ))
    });
    Ok(counts.collect())
}
