//! HDFS, spoken by the crate hdfs-native; blocks that are known are read without it.
//!
//! That crate retries by itself, some things for ever, so every call has a deadline here.

mod blocks;
mod calls;
mod closing;
mod failover;
mod name_nodes;
mod patience;
mod reading;
mod refusal;
mod steps;
mod write_settings;
mod writing;

pub(crate) use reading::Reading;
pub(crate) use writing::Writing;

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hdfs_native::client::FileStatus;
use hdfs_native::file::FileWriter;
use hdfs_native::{Client, ClientBuilder, HdfsError};
use tokio::time::error::Elapsed;
use tokio::time::{sleep, timeout};

use self::blocks::DataNodes;
use self::calls::Call;
use self::failover::Failover;
use self::name_nodes::NameNodes;
use self::steps::Steps;
use self::write_settings::WriteSettings;
use crate::create::{CreateOptions, Readers};
use crate::located::Known;
use crate::{ANSWER, MARK, MOVED, Owner, Status, StorageError, parent};

/// A folder without files, so that hdfs-native reads no settings but those it is given: it understands fewer files than
/// Hadoop does, and trims nothing.
const NO_SETTINGS: &str = "/nonexistent";

/// Whether DataNodes want more than a question, and by what they are called.
const PROTECTED: &str = "dfs.data.transfer.protection";
const ENCRYPTED: &str = "dfs.encrypt.data.transfer";
const BY_NAME: &str = "dfs.client.use.datanode.hostname";

/// A client of one NameNode or nameservice.
#[derive(Debug)]
pub(crate) struct Hdfs {
    name_nodes: NameNodes,
    asks: Arc<Asks>,
    made: WriteSettings,
    /// What DataNodes send is plain.
    is_plain: bool,
    data_nodes: DataNodes,
}

/// Who asks whom.
#[derive(Debug)]
struct Asks {
    /// What URLs begin with: `hdfs://host:port`.
    origin: String,
    user: String,
    /// The last call of a NameNode was answered.
    is_heard: AtomicBool,
    /// What its URLs do not say of who does not answer: the addresses of a nameservice's NameNodes.
    addresses: String,
}

impl Asks {
    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// Waits for an answer, and turns a refusal into a sentence.
    async fn within<T>(
        &self,
        limit: Duration,
        doing: &'static str,
        path: &str,
        call: Call<'_, T>,
    ) -> Result<T, StorageError> {
        let answered = self.answered(limit, call).await;
        self.told(limit, doing, path, answered)
    }

    async fn answered<T>(
        &self,
        limit: Duration,
        call: Call<'_, T>,
    ) -> Result<Result<T, HdfsError>, Elapsed> {
        let answered = timeout(limit, call).await;
        self.is_heard.store(answered.is_ok(), Ordering::Relaxed);
        answered
    }

    fn told<T>(
        &self,
        limit: Duration,
        doing: &'static str,
        path: &str,
        answered: Result<Result<T, HdfsError>, Elapsed>,
    ) -> Result<T, StorageError> {
        match answered {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.refused(&error, doing, path)),
            Err(_elapsed) => Err(StorageError::Silent {
                doing,
                url: self.url(path) + &self.addresses,
                seconds: limit.as_secs(),
            }),
        }
    }

    fn refused(&self, error: &HdfsError, doing: &'static str, path: &str) -> StorageError {
        let mut refused = refusal::of(error, doing, self.url(path), &self.user);
        if let StorageError::Down { url, .. } = &mut refused {
            url.push_str(&self.addresses);
        }
        refused
    }

    /// As [`Self::within`], for calls that speak to DataNodes too.
    async fn moving<T>(
        &self,
        doing: &'static str,
        path: &str,
        call: Call<'_, T>,
    ) -> Result<T, StorageError> {
        let said = match timeout(MOVED, call).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(HdfsError::IOError(error))) => refusal::first_line(&error.to_string()),
            Ok(Err(HdfsError::DataTransferError(said))) => {
                refusal::first_line(&refusal::replicas(&said))
            }
            Ok(Err(error)) => return Err(self.refused(&error, doing, path)),
            Err(_elapsed) => format!("a piece was not moved within {} s", MOVED.as_secs()),
        };
        Err(StorageError::DataNodes {
            doing,
            url: self.url(path),
            said,
        })
    }
}

impl Hdfs {
    pub(crate) fn new(
        connect: &str,
        origin: &str,
        user: &str,
        settings: &[(String, String)],
    ) -> Result<Self, StorageError> {
        let wrong = |said| StorageError::Settings {
            url: origin.to_owned(),
            said,
        };
        let made = WriteSettings::of(settings).map_err(wrong)?;
        let client = |settings: Vec<(String, String)>| {
            ClientBuilder::new()
                .with_url(connect)
                .with_user(user)
                .with_config(settings)
                .with_config_dir(NO_SETTINGS)
                .build()
        };
        let name_nodes = NameNodes::new(connect, settings, client)
            .map_err(|error| wrong(refusal::first_line(&error.to_string())))?;
        let asks = Arc::new(Asks {
            origin: origin.to_owned(),
            user: user.to_owned(),
            is_heard: AtomicBool::new(false),
            addresses: name_nodes::addresses(settings),
        });
        let is = |name, value| {
            let set = settings.iter().find(|(key, _)| key == name);
            set.is_some_and(|(_, set)| value == set.trim())
        };
        let is_set = |name| {
            settings
                .iter()
                .any(|(key, set)| key == name && !set.trim().is_empty())
        };
        Ok(Self {
            name_nodes,
            asks,
            made,
            is_plain: !is_set(PROTECTED) && !is(ENCRYPTED, "true"),
            data_nodes: DataNodes::new(is(BY_NAME, "true")),
        })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        self.asks.url(path)
    }

    async fn client(&self) -> &Client {
        let is_sure = self.asks.is_heard.load(Ordering::Relaxed);
        self.name_nodes.client(is_sure).await
    }

    /// What a NameNode answers. One of several that is not active has done nothing of it, and another becomes active:
    /// that is waited for.
    async fn ask<'a, T>(
        &'a self,
        doing: &'static str,
        path: &str,
        ask: &(dyn Fn(&'a Client) -> Call<'a, T> + Sync),
    ) -> Result<T, StorageError> {
        let failover = Failover::new(self.name_nodes.are_several());
        loop {
            let client = self.client().await;
            let answered = self.asks.answered(ANSWER, ask(client)).await;
            if let Ok(Err(error)) = &answered
                && let Some(pause) = failover.pause(error)
            {
                sleep(pause).await;
                continue;
            }
            return self.asks.told(ANSWER, doing, path, answered);
        }
    }

    fn status(&self, of: &FileStatus) -> Status {
        Status {
            // In the root the client's path begins with two.
            path: format!("/{}", of.path.trim_start_matches('/')),
            size: of.length as u64,
            modified_ms: signed(of.modification_time),
            used_ms: (of.access_time > of.modification_time).then(|| signed(of.access_time)),
            is_folder: of.isdir,
            owner: Owner::Named(of.owner.clone()),
            is_ours: of.owner == self.asks.user,
            mode: u32::from(of.permission) & 0o7777,
        }
    }

    pub(crate) async fn stat(&self, path: &str) -> Result<Option<Status>, StorageError> {
        let ask = |client| calls::get_file_info(client, path);
        match self.ask("looking at", path, &ask).await {
            Ok(found) => Ok(Some(Status {
                path: path.to_owned(),
                ..self.status(&found)
            })),
            Err(StorageError::Absent { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The first `most` of what a folder has, and whether that is all.
    pub(crate) async fn list(
        &self,
        path: &str,
        most: usize,
    ) -> Result<(Vec<Status>, bool), StorageError> {
        let ask = |client| calls::list(client, path);
        let (listing, mut next) = self.ask("listing", path, &ask).await?;
        let mut all = Vec::new();
        while let Some(found) = next {
            if all.len() >= most {
                return Ok((all, false));
            }
            all.push(self.status(&found));
            let call = calls::next(&listing);
            next = self.asks.within(ANSWER, "listing", path, call).await?;
        }
        Ok((all, true))
    }

    pub(crate) async fn make_folder(
        &self,
        path: &str,
        readers: Readers,
    ) -> Result<(), StorageError> {
        // Those above that are missing get the same.
        self.mkdirs(path, self.made.folder_mode(readers), true)
            .await
    }

    pub(crate) async fn make_one_folder(&self, path: &str) -> Result<(), StorageError> {
        let mode = self.made.folder_mode(Readers::ByMask);
        self.mkdirs(path, mode, false).await
    }

    async fn mkdirs(&self, path: &str, mode: u32, with_parents: bool) -> Result<(), StorageError> {
        let ask = |client| calls::mkdirs(client, path, mode, with_parents);
        self.ask("making", path, &ask).await
    }

    pub(crate) async fn create(
        &self,
        path: &str,
        options: CreateOptions,
    ) -> Result<Writing, StorageError> {
        let how = self.made.options(options);
        let begin = |client| calls::create(client, path, how.clone());
        let writer = match self.ask("writing", path, &begin).await {
            // Those that a NameNode makes for a file's sake are as open as what they lie in.
            Err(StorageError::Absent { .. }) if options.makes_folders() => {
                self.make_folder(parent(path), options.readers).await?;
                self.ask("writing", path, &begin).await?
            }
            begun => begun?,
        };
        Ok(self.writing(path, writer))
    }

    pub(crate) async fn append(&self, path: &str) -> Result<Writing, StorageError> {
        let ask = |client| calls::append(client, path);
        let writer = self.ask("writing", path, &ask).await?;
        Ok(self.writing(path, writer).appending())
    }

    fn writing(&self, path: &str, writer: FileWriter) -> Writing {
        let client = self.name_nodes.used().clone();
        Writing::new(Arc::clone(&self.asks), client, path, writer)
    }

    pub(crate) async fn open(&self, path: &str, from: u64) -> Result<Reading, StorageError> {
        let ask = |client| calls::open(client, path);
        let reader = self.ask("reading", path, &ask).await?;
        let (asks, client) = (Arc::clone(&self.asks), self.name_nodes.used().clone());
        Ok(Reading::new(asks, client, path, reader, from))
    }

    /// As [`Self::open`], expecting to stop at `end`; what is known of the file is not asked.
    pub(crate) async fn open_known(
        &self,
        path: &str,
        (from, end): (u64, u64),
        known: Known,
    ) -> Result<Reading, StorageError> {
        if self.is_plain && !known.blocks.is_empty() {
            let asks = Arc::clone(&self.asks);
            let client = self.name_nodes.used().clone();
            let mut steps = Steps::new(from, known.size);
            steps.expected = end;
            let known = (known.clone(), self.data_nodes.clone());
            if let Some(reading) = Reading::known(asks, client, path, steps, known).await {
                return Ok(reading);
            }
        }
        let (size, modified_ms) = (known.size, known.modified_ms);
        let mut reading = self.open(path, from).await?;
        let now = reading.size();
        reading.check_writer(size, now).await?;
        reading.listed(modified_ms);
        reading.expect(end);
        Ok(reading)
    }

    pub(crate) async fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        let ask = |client| calls::rename(client, from, to);
        match self.ask("renaming", from, &ask).await {
            // It is the new name that is taken.
            Err(StorageError::Exists { .. }) => Err(StorageError::Exists {
                url: self.asks.url(to),
            }),
            other => other,
        }
    }

    pub(crate) async fn remove(&self, path: &str) -> Result<bool, StorageError> {
        let ask = |client| calls::delete(client, path, true);
        self.ask("removing", path, &ask).await
    }

    pub(crate) async fn remove_empty(&self, path: &str) -> Result<bool, StorageError> {
        let ask = |client| calls::delete(client, path, false);
        self.ask("removing", path, &ask).await
    }

    pub(crate) async fn mark_used(&self, path: &str, at_ms: i64) {
        // The protocol's "leave it": -1 in Java's signed long.
        const KEEP: u64 = u64::MAX;
        let at_ms = u64::try_from(at_ms).unwrap_or(0);
        // Refused where dfs.namenode.accesstime.precision is 0, and to others than the owner.
        let client = self.client().await;
        let _unmarked = timeout(MARK, calls::set_times(client, path, KEEP, at_ms)).await;
    }
}

/// Times and lengths beyond what 63 bits hold do not occur; they are shown as the largest.
fn signed(number: impl TryInto<i64> + Display) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_namenode_that_never_answers_is_given_up() {
        // Listens, and takes no connection from its queue.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("hdfs://{}", silent.local_addr().unwrap());
        let hdfs = Hdfs::new(&address, &address, "alice", &[]).unwrap();
        let told = hdfs.stat("/x").await.unwrap_err();
        assert!(
            matches!(told, StorageError::Silent { seconds: 15, .. }),
            "{told}"
        );
        assert!(told.to_string().contains("no answer within 15 s"), "{told}");
    }
}
