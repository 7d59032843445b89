//! What tests do to the cluster's HDFS, as its superuser, over the NameNode's own REST interface.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::Value;
use ureq::http::Method;

use crate::calls;
use crate::resource_manager::{http, json};
use crate::wait::pause;

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(200);

/// For a change to be answered, asked for as often as it takes.
const CHANGED: Duration = Duration::from_secs(120);

/// The HDFS of one cluster.
#[derive(Debug, Clone)]
pub struct Hdfs {
    address: Ipv4Addr,
    superuser: String,
}

/// A file or folder.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileStatus {
    /// Its name in its folder.
    pub path_suffix: String,
    /// `FILE` or `DIRECTORY`
    #[serde(rename = "type")]
    pub kind: String,
    /// Bytes.
    pub length: u64,
    /// Its owner.
    pub owner: String,
    /// Octal.
    pub permission: String,
    /// Milliseconds since 1970.
    pub modification_time: u64,
}

impl Hdfs {
    pub(crate) fn at(address: Ipv4Addr, superuser: &str) -> Self {
        Self {
            address,
            superuser: superuser.to_owned(),
        }
    }

    fn url(&self, path: &str, operation: &str) -> String {
        format!(
            "http://{}:9870/webhdfs/v1{path}?user.name={}&op={operation}",
            self.address, self.superuser
        )
    }

    /// How often each method was called since the NameNode's start, as it counts that itself: seconds late.
    ///
    /// # Errors
    ///
    /// It does not answer.
    pub fn calls_by_method(&self) -> Result<BTreeMap<String, u64>> {
        let all = calls::by_method(self.address, ("NameNode", 9870), 8020)?;
        Ok(all.into_iter().collect())
    }

    /// Each of these changes may be made twice: one that is not answered, as by a NameNode that has just started beside a
    /// dozen others, is asked for again.
    fn change(&self, method: Method, path: &str, operation: &str) -> Result<()> {
        let url = self.url(path, operation);
        let (status, text) = answered(CHANGED, || http(method.clone(), &url))?;
        if status != 200 {
            bail!("{operation} of {path}: {status}: {text}");
        }
        Ok(())
    }

    /// Makes a folder and those above it, with `permission` in octal.
    ///
    /// # Errors
    ///
    /// The NameNode does not answer or refuses; so for all methods here.
    pub fn make_folder(&self, path: &str, permission: &str) -> Result<()> {
        self.change(
            Method::PUT,
            path,
            &format!("MKDIRS&permission={permission}"),
        )
    }

    /// Gives `path` to `owner`.
    ///
    /// # Errors
    ///
    /// As [`Hdfs::make_folder`].
    pub fn give(&self, path: &str, owner: &str) -> Result<()> {
        self.change(Method::PUT, path, &format!("SETOWNER&owner={owner}"))
    }

    /// Sets the permission of `path`, in octal.
    ///
    /// # Errors
    ///
    /// As [`Hdfs::make_folder`].
    pub fn permit(&self, path: &str, permission: &str) -> Result<()> {
        self.change(
            Method::PUT,
            path,
            &format!("SETPERMISSION&permission={permission}"),
        )
    }

    /// Makes the home folder of `user`.
    ///
    /// # Errors
    ///
    /// As [`Hdfs::make_folder`].
    pub fn make_home(&self, user: &str) -> Result<()> {
        let home = format!("/user/{user}");
        self.make_folder(&home, "755")?;
        self.give(&home, user)
    }

    /// Removes `path` and what is below it. One that is not there is fine.
    ///
    /// # Errors
    ///
    /// As [`Hdfs::make_folder`].
    pub fn remove(&self, path: &str) -> Result<()> {
        self.change(Method::DELETE, path, "DELETE&recursive=true")
    }

    /// Makes a folder in which there may be `most` names, its own included.
    ///
    /// # Errors
    ///
    /// As [`Hdfs::make_folder`].
    pub fn allow_names(&self, path: &str, most: u32) -> Result<()> {
        self.make_folder(path, "777")?;
        let quota = format!("SETQUOTA&namespacequota={most}");
        self.change(Method::PUT, path, &quota)
    }

    /// What lies in a folder; nothing if it is not there.
    ///
    /// # Errors
    ///
    /// As [`Hdfs::make_folder`].
    pub fn list(&self, path: &str) -> Result<Vec<FileStatus>> {
        let (status, text) = http(Method::GET, &self.url(path, "LISTSTATUS"))?;
        match status {
            200 => {
                let answer: Value = serde_json::from_str(&text)
                    .with_context(|| format!("listing {path}: {text}"))?;
                let all = answer
                    .pointer("/FileStatuses/FileStatus")
                    .cloned()
                    .unwrap_or_default();
                serde_json::from_value(all).with_context(|| format!("listing {path}: {text}"))
            }
            404 => Ok(Vec::new()),
            _ => bail!("listing {path}: {status}: {text}"),
        }
    }

    /// The users' staging folders' files below `folder` (`jobs` or `cache`), with full paths.
    ///
    /// # Errors
    ///
    /// As [`Hdfs::make_folder`].
    pub fn staged(&self, folder: &str) -> Result<Vec<String>> {
        let mut paths = Vec::new();
        for home in self.list("/user")? {
            let staging = format!("/user/{}/.gerbil/{folder}", home.path_suffix);
            for found in self.list(&staging)? {
                paths.push(format!("{staging}/{}", found.path_suffix));
            }
        }
        Ok(paths)
    }

    /// Whether the NameNode takes writes and has so many DataNodes to put them on.
    ///
    /// # Errors
    ///
    /// It does not answer.
    pub fn is_ready(&self, stores: usize) -> Result<bool> {
        let state = self.bean("FSNamesystemState")?;
        Ok(state["FSState"] == "Operational" && state["NumLiveDataNodes"] == stores)
    }

    /// Where the DataNodes that it takes for alive serve blocks.
    ///
    /// # Errors
    ///
    /// It does not answer.
    pub fn data_nodes(&self) -> Result<BTreeSet<String>> {
        let state = self.bean("NameNodeInfo")?;
        let live = state["LiveNodes"].as_str().context("no live nodes")?;
        let live: BTreeMap<String, Value> = serde_json::from_str(live)?;
        let served = live.values().map(|of| of["xferaddr"].to_string());
        Ok(served.collect())
    }

    /// What the NameNode says of itself.
    fn bean(&self, name: &str) -> Result<Value> {
        let url = format!(
            "http://{}:9870/jmx?qry=Hadoop:service=NameNode,name={name}",
            self.address
        );
        let all = json(&url)?;
        Ok(all.pointer("/beans/0").cloned().unwrap_or_default())
    }
}

/// What `ask` answers, which is tried again until `limit` is over; then its last error.
fn answered<T>(limit: Duration, mut ask: impl FnMut() -> Result<T>) -> Result<T> {
    let begin = Instant::now();
    loop {
        match ask() {
            Err(_) if begin.elapsed() < limit => pause(PAUSE),
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_answered_is_asked_for_again_for_a_while() {
        let mut asked = 0;
        let third = answered(CHANGED, || {
            asked += 1;
            match asked {
                3 => Ok(asked),
                _ => bail!("no answer"),
            }
        });
        assert_eq!(third.unwrap(), 3);
        let never = answered::<()>(Duration::ZERO, || bail!("no answer to the last"));
        assert_eq!(never.unwrap_err().to_string(), "no answer to the last");
    }
}
