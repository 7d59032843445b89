//! Where what became of MapReduce jobs lies: in the user's staging folder on Hadoop's cluster, and in that of each
//! cluster which a session has for itself on this machine.

use ::job::history::JobHistory;
use mapreduce_client::Cluster as Hadoops;
use mapreduce_client::history::{History, Past};
use session::JobName;
use terminal::say;

use crate::arguments::session_of_environment;
use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::sessions;

/// One of these folders, and the cluster that it is of.
pub(crate) struct HistoryPlace {
    pub(super) cluster: Cluster,
    pub(super) history: History,
    /// It is of Hadoop's cluster.
    pub(super) is_hadoop: bool,
}

/// All of them, that of Hadoop's cluster first.
pub(crate) struct Histories(Vec<HistoryPlace>);

impl Histories {
    /// Those that there are; of the session alone that the environment names, if it does; with `staging` of the first
    /// cluster that folder alone.
    ///
    /// # Errors
    ///
    /// There is no cluster, or no such file system.
    pub(crate) fn open(mut staging: Option<String>) -> Result<Self, Failure> {
        if let Some(name) = session_of_environment()? {
            let cluster = sessions::cluster_of(&name, &mut staging)?;
            return Ok(Self(vec![place(cluster, staging, true)?]));
        }
        let here = sessions::clusters_staging_here();
        let hadoop = match Cluster::find() {
            Err(_no_hadoop) if !here.is_empty() => None,
            found => Some(found?),
        };
        let mut all = Vec::new();
        if let Some(cluster) = hadoop {
            all.push(place(cluster, staging.clone(), true)?);
        }
        for (cluster, own) in here {
            let named = staging.clone().filter(|_| all.is_empty());
            all.push(place(cluster, named.or(Some(own)), false)?);
        }
        Ok(Self(all))
    }

    pub(super) fn places(&self) -> &[HistoryPlace] {
        &self.0
    }

    /// The last job of this name; `None`: there is none.
    ///
    /// # Errors
    ///
    /// It cannot be read, or it is not where can be looked.
    pub(crate) async fn find(&self, job: JobName) -> Result<Option<JobHistory>, Failure> {
        let mut trouble = None;
        let mut newest: Option<(&HistoryPlace, Past)> = None;
        for place in &self.0 {
            match place.history.find(job).await {
                Ok(Some(past)) => {
                    let is_newer =
                        |(_, other): &(&HistoryPlace, Past)| past.ended_ms > other.ended_ms;
                    if newest.as_ref().is_none_or(is_newer) {
                        newest = Some((place, past));
                    }
                }
                Ok(None) => {}
                Err(error) => trouble = Some(error),
            }
        }
        match (newest, trouble) {
            (Some((place, past)), _) => Ok(Some(place.history.read(&past).await?)),
            (None, Some(error)) => Err(error.into()),
            (None, None) => Ok(None),
        }
    }

    /// The jobs that are over, each with where it lies, the last one first. What cannot be looked at is said, where
    /// another can.
    ///
    /// # Errors
    ///
    /// None can be looked at.
    pub(super) async fn list(&self) -> Result<Vec<(&HistoryPlace, Past)>, Failure> {
        let mut all = Vec::new();
        for place in &self.0 {
            match place.history.list().await {
                Ok(past) => all.extend(past.into_iter().map(|past| (place, past))),
                Err(error) if self.0.len() == 1 => return Err(error.into()),
                Err(error) => say(error),
            }
        }
        sort::by_key(&mut all, |(_, past)| {
            std::cmp::Reverse((past.ended_ms, past.number))
        });
        Ok(all)
    }

    /// Where they lie, in words.
    pub(super) fn words(&self) -> String {
        let urls: Vec<String> = self.0.iter().map(|place| place.history.url()).collect();
        urls.join(" and ")
    }
}

fn place(
    cluster: Cluster,
    staging: Option<String>,
    is_hadoop: bool,
) -> Result<HistoryPlace, Failure> {
    let hadoops = Hadoops {
        configuration: cluster.configuration.clone(),
        user: cluster.user.clone(),
    };
    let history = History::open(&hadoops, staging.as_deref())?;
    Ok(HistoryPlace {
        cluster,
        history,
        is_hadoop,
    })
}
