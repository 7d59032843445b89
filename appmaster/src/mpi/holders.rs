//! Who holds which node, as far as the job's user may see.
//!
//! The ResourceManager tells of an application's containers, not of a node's: the running
//! applications are listed, and those that hold most are asked about, a few at a time. An
//! application that the user may not see is listed too, by name and queue, but not its containers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use job::explain::{Amount, Holder};
use proto_hadoop::ApplicationClient;
use proto_hadoop::yarn::{
    ApplicationFilter, ApplicationReport, ContainerReport, ContainerState, Resource,
    YarnApplicationState,
};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

/// Applications listed, the RM's choice when there are more.
const LISTED: u32 = 1000;
/// Applications asked about, the largest first.
const ASKED: usize = 50;
/// The same where nobody has asked for every reason, and so many at a time: whoever holds most holds most
/// likely what is missing, and his answer may be enough.
const ASKED_IN_PASSING: usize = 8;
const AT_ONCE: usize = 4;
/// For each answer, and for all of them.
const ONE_DEADLINE: Duration = Duration::from_secs(2);
const ALL_DEADLINE: Duration = Duration::from_secs(5);

/// What the applications hold, by node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Holdings {
    /// By `host:port`, the largest first.
    by_node: BTreeMap<String, Vec<Holder>>,
    /// Applications that may hold something, but could not be asked about.
    pub(crate) hidden: u32,
    /// Some that the job's user may see were not asked about, or did not answer.
    pub(crate) is_partial: bool,
}

impl Holdings {
    /// Asks the ResourceManager, for five seconds at most; what is not known by then is hidden. `enough`: in
    /// passing, so no longer than until somebody is known to hold each of these nodes, `host:port`.
    pub(crate) async fn read(
        cluster: &Arc<ApplicationClient>,
        enough: Option<&BTreeSet<String>>,
    ) -> Self {
        if enough.is_some_and(BTreeSet::is_empty) {
            return Self::default();
        }
        let by = Instant::now() + ALL_DEADLINE;
        let filter = ApplicationFilter {
            // One whose ApplicationMaster has not registered yet holds the container of it.
            states: vec![
                YarnApplicationState::Accepted,
                YarnApplicationState::Running,
            ],
            limit: Some(LISTED),
            ..ApplicationFilter::default()
        };
        let reports = match timeout(ONE_DEADLINE, cluster.applications(&filter)).await {
            Ok(Ok(reports)) => reports,
            Ok(Err(error)) => {
                tracing::warn!("getApplications: {error}");
                return Self::unknown();
            }
            Err(_late) => return Self::unknown(),
        };
        let mut holdings = Self::default();
        let mut answers = JoinSet::new();
        // An answer of many containers is large, and many jobs may wait.
        let (most, at_once) = enough.map_or((ASKED, ASKED), |_| (ASKED_IN_PASSING, AT_ONCE));
        let mut to_ask = holdings.worth_asking(reports.into(), most).into_iter();
        loop {
            let is_enough = enough.is_some_and(|nodes| holdings.cover(nodes));
            if is_enough && to_ask.len() > 0 {
                holdings.is_partial = true;
                break;
            }
            let more = at_once.saturating_sub(answers.len());
            for report in to_ask.by_ref().take(more) {
                let cluster = Arc::clone(cluster);
                answers.spawn(async move {
                    let Some(attempt) = report.current_attempt else {
                        return (report, None);
                    };
                    let containers = timeout(ONE_DEADLINE, cluster.containers(&attempt)).await;
                    (report, containers.ok().and_then(Result::ok))
                });
            }
            match timeout_at(by, answers.join_next()).await {
                Ok(Some(Ok((report, Some(containers))))) => {
                    holdings.add(&report, containers.into());
                }
                Ok(Some(Ok((_, None)) | Err(_))) => {
                    holdings.hidden += 1;
                    holdings.is_partial = true;
                }
                Ok(None) => break,
                Err(_late) => {
                    let unknown = answers.len().saturating_add(to_ask.len());
                    let unknown = u32::try_from(unknown).unwrap_or(u32::MAX);
                    holdings.hidden = holdings.hidden.saturating_add(unknown);
                    holdings.is_partial = true;
                    break;
                }
            }
        }
        holdings.order();
        holdings
    }

    /// Whether somebody is known to hold each of `nodes`.
    fn cover(&self, nodes: &BTreeSet<String>) -> bool {
        nodes.iter().all(|node| self.by_node.contains_key(node))
    }

    /// Nobody could be asked about.
    fn unknown() -> Self {
        Self {
            is_partial: true,
            ..Self::default()
        }
    }

    /// The applications to ask about, so many at the most; the others are hidden.
    fn worth_asking(
        &mut self,
        reports: Vec<ApplicationReport>,
        most: usize,
    ) -> Vec<ApplicationReport> {
        let is_cut_off = u32::try_from(reports.len()).is_ok_and(|listed| listed >= LISTED);
        let (mut seen, unseen): (Vec<_>, Vec<_>) = reports.into_iter().partition(|report| {
            // To whoever may not see an application, the RM gives its attempt the number -1.
            let attempt = report.current_attempt;
            attempt.is_some_and(|attempt| attempt.attempt > 0)
        });
        sort::by_key(&mut seen, |report| {
            (Reverse(report.usage.used.memory_mib), report.id)
        });
        let hidden = unseen.len() + seen.len().saturating_sub(most);
        self.hidden = u32::try_from(hidden).unwrap_or(u32::MAX);
        self.is_partial = is_cut_off || seen.len() > most;
        seen.truncate(most);
        seen
    }

    fn add(&mut self, report: &ApplicationReport, containers: Vec<ContainerReport>) {
        let mut by_node: BTreeMap<String, (u32, Amount)> = BTreeMap::new();
        let held = containers
            .into_iter()
            .filter(|container| container.state != ContainerState::Complete);
        for container in held {
            let Some(node) = container.node else {
                continue;
            };
            let (count, holds) = by_node.entry(node.to_string()).or_default();
            *count += 1;
            *holds = std::mem::take(holds).plus(&amount(&container.resource));
        }
        for (node, (containers, holds)) in by_node {
            self.by_node.entry(node).or_default().push(Holder {
                application: report.id.to_string(),
                name: report.name.clone(),
                user: report.user.clone(),
                queue: report.queue.clone(),
                containers,
                holds,
            });
        }
    }

    fn order(&mut self) {
        for holders in self.by_node.values_mut() {
            sort::by(holders, |a, b| {
                let larger = b.holds.memory_mib.cmp(&a.holds.memory_mib);
                larger.then_with(|| a.application.cmp(&b.application))
            });
        }
    }

    /// Who holds something on the node `host:port`.
    pub(crate) fn on(&self, node: &str) -> &[Holder] {
        self.by_node.get(node).map_or(&[], Vec::as_slice)
    }

    /// For tests of what is made of holdings.
    #[cfg(test)]
    pub(crate) fn of(node: &str, holders: Vec<Holder>, hidden: u32) -> Self {
        Self {
            by_node: BTreeMap::from([(node.to_owned(), holders)]),
            hidden,
            is_partial: false,
        }
    }
}

/// All that a container holds, whatever this job knows of its types.
fn amount(resource: &Resource) -> Amount {
    let mut amount = Amount {
        memory_mib: resource.memory_mib,
        vcores: resource.vcores,
        ..Amount::default()
    };
    for (name, count) in &resource.others {
        amount.add(name, *count);
    }
    amount
}

#[cfg(test)]
mod tests {
    use proto_hadoop::yarn::{ApplicationUsage, FinalApplicationStatus, Resource};
    use proto_hadoop::{AppAttemptId, ApplicationId, ContainerId, NodeId};

    use super::*;

    fn application(id: i32, attempt: i32, used_mib: u64) -> ApplicationReport {
        let application = ApplicationId {
            cluster_timestamp: 1,
            id,
        };
        ApplicationReport {
            id: application,
            user: "bob".into(),
            queue: "default".into(),
            name: format!("job {id}"),
            application_type: String::new(),
            state: YarnApplicationState::Running,
            final_status: FinalApplicationStatus::Undefined,
            diagnostics: String::new(),
            progress: 0.0,
            host: String::new(),
            rpc_port: None,
            tracking_url: String::new(),
            original_tracking_url: String::new(),
            start_time_ms: 0,
            finish_time_ms: 0,
            current_attempt: Some(AppAttemptId {
                application,
                attempt,
            }),
            tags: Vec::new(),
            priority: 0,
            unmanaged: false,
            am_rm_token: None,
            usage: ApplicationUsage {
                used: Resource::new(used_mib, 1),
                ..ApplicationUsage::default()
            },
        }
    }

    fn container(of: &ApplicationReport, id: i64, host: &str, mib: u64) -> ContainerReport {
        ContainerReport {
            id: ContainerId {
                attempt: of.current_attempt.unwrap(),
                id,
            },
            node: Some(NodeId {
                host: host.into(),
                port: 1,
            }),
            resource: Resource::new(mib, 1),
            state: ContainerState::Running,
            exit_status: 0,
            diagnostics: String::new(),
            log_url: String::new(),
            node_http_address: String::new(),
            creation_time_ms: 0,
            finish_time_ms: 0,
        }
    }

    #[test]
    fn holdings_are_summed_by_node_and_the_largest_stands_first() {
        let (small, large) = (application(1, 1, 0), application(2, 1, 0));
        let mut holdings = Holdings::default();
        let ended = ContainerReport {
            state: ContainerState::Complete,
            ..container(&small, 9, "n1", 9999)
        };
        holdings.add(&small, vec![container(&small, 1, "n1", 1024), ended]);
        holdings.add(
            &large,
            vec![
                container(&large, 1, "n1", 1024),
                container(&large, 2, "n1", 512),
                container(&large, 3, "n2", 1024),
            ],
        );
        holdings.order();
        let said: Vec<String> = holdings
            .on("n1:1")
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            said,
            [
                "application_1_0002 (job 2, of bob in default) holds 1536 MiB and 2 vcores in 2 \
                 containers",
                "application_1_0001 (job 1, of bob in default) holds 1024 MiB and 1 vcore in 1 \
                 container",
            ]
        );
        assert_eq!(holdings.on("n2:1").len(), 1);
        assert!(holdings.on("n3:1").is_empty());
        let covers =
            |nodes: &[&str]| holdings.cover(&nodes.iter().map(ToString::to_string).collect());
        assert!(covers(&["n1:1", "n2:1"]));
        assert!(!covers(&["n2:1", "n3:1"]));
        assert!(covers(&[]), "nobody can be in the way");
    }

    #[test]
    fn the_largest_applications_are_asked_about_and_the_others_counted() {
        let mut reports: Vec<ApplicationReport> = (1..=60)
            .map(|id| application(id, 1, u64::try_from(id).unwrap()))
            .collect();
        // One that this user may not see.
        reports.push(application(61, -1, 0));
        let mut holdings = Holdings::default();
        let asked = holdings.worth_asking(reports, ASKED);
        assert_eq!((asked.len(), holdings.hidden), (ASKED, 11));
        assert!(holdings.is_partial);
        let all = holdings.worth_asking(vec![application(1, 1, 1), application(2, -1, 1)], ASKED);
        assert_eq!(
            (all.len(), holdings.hidden, holdings.is_partial),
            (1, 1, false)
        );
        assert_eq!((asked[0].id.id, asked[ASKED - 1].id.id), (60, 11));
    }
}
