//! Starts the launchers' containers, on all nodes at once.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use credentials::{Credentials, Token};
use job::element::{Scan, Trust};
use job::role::BINARY_LINK;
use job::{Role, Staged, StagedKind, secrets};
use policy::MiB;
use policy::elements::{GPU, counted_by};
use proto_hadoop::yarn::{
    Container, ContainerLaunch, ContainerStart, LocalResource, LocalResourceKind, Visibility,
};
use proto_hadoop::{
    CallError, ContainerClient, Disposition, Idempotence, NodeId, Timing, disposition,
};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::TaskTracker;

use crate::container_event::{ContainerEvent, ContainerEventSender, Granted};
use crate::keys::Keys;

/// For one answer of a NodeManager.
const START_DEADLINE: Duration = Duration::from_secs(20);
/// A NodeManager that is upgraded or restarted is back within this.
const RESTART: Duration = Duration::from_secs(45);
/// A NodeManager that has been restarted takes calls before it has registered, and refuses containers of
/// a ResourceManager that it does not know yet. From its first refusal; where another ResourceManager has
/// taken over, the container is refused for ever.
const REGISTERS: Duration = Duration::from_secs(15);
const REGISTERS_PAUSE: Duration = Duration::from_millis(500);
/// A NodeManager with which a container could not be started by then counts as refusing.
const START_LIMIT: Duration = Duration::from_secs(70);
/// For a node to say how a container is; the machine waits a little longer.
const PROBE_DEADLINE: Duration = Duration::from_secs(8);

/// What every launcher's container has in common.
pub(crate) struct LaunchTemplate {
    resources: BTreeMap<String, LocalResource>,
    /// Names of files beyond the first, with that.
    links: Vec<(String, String)>,
    command: String,
    secrets: BTreeMap<String, Vec<u8>>,
    tokens: BTreeMap<String, Token>,
    reached: Reached,
    /// How launchers look for elements, and whose count of them holds.
    pub(crate) scan: Option<(Scan, Trust)>,
    /// How full ranks may make a disk, hundredths; 0: they may.
    pub(crate) disk_percent: u8,
}

/// Where launchers find others.
pub(crate) struct Reached {
    /// `host:port` at which they find us.
    pub(crate) appmaster: String,
    /// That at which they find each other, if it matters.
    pub(crate) interface: Option<String>,
    /// On which ports, inclusive, if it matters.
    pub(crate) ports: Option<(u16, u16)>,
}

impl LaunchTemplate {
    /// With `staged` files in their working directories and Hadoop's `tokens`.
    pub(crate) fn new(
        staged: &[Staged],
        keys: &Keys,
        tokens: BTreeMap<String, Token>,
        reached: Reached,
    ) -> anyhow::Result<Self> {
        let mut resources = BTreeMap::new();
        let (staged, links) = once_each(staged);
        for staged in staged {
            let resource = LocalResource {
                url: staged.url.parse()?,
                size: staged.size,
                timestamp_ms: staged.modified_ms,
                kind: match staged.kind {
                    StagedKind::File => LocalResourceKind::File,
                    StagedKind::Archive => LocalResourceKind::Archive,
                },
                visibility: Visibility::Private,
            };
            resources.insert(staged.link.clone(), resource);
        }
        let secrets = [
            (secrets::AUTHORITY, &keys.authority),
            (secrets::CERTIFICATE, &keys.launcher_certificate),
            (secrets::KEY, &keys.launcher_key),
        ];
        Ok(Self {
            resources,
            links,
            command: format!(
                "./{BINARY_LINK} {} 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr",
                Role::ContainerLauncher.argument()
            ),
            secrets: secrets
                .into_iter()
                .map(|(alias, pem)| (alias.to_owned(), pem.clone()))
                .collect(),
            tokens,
            reached,
            scan: None,
            disk_percent: 0,
        })
    }

    fn launch(&self, container: &Container, ticket: &[u8]) -> anyhow::Result<ContainerLaunch> {
        let context = job::LauncherContext {
            build: job::BUILD.into(),
            appmaster: self.reached.appmaster.clone(),
            container: container.id.to_string(),
            memory: MiB(container.resource.memory_mib),
            ticket: ticket.to_vec(),
            links: self.links.clone(),
            ports: self.reached.ports,
            interface: self.reached.interface.clone(),
            scan: self.scan_at(container),
            disk_percent: self.disk_percent,
        };
        let mut secrets = self.secrets.clone();
        secrets.insert(secrets::CONTEXT.into(), serde_json::to_vec(&context)?);
        Ok(ContainerLaunch {
            resources: self.resources.clone(),
            commands: vec![self.command.clone()],
            tokens: Credentials {
                tokens: self.tokens.clone(),
                secrets,
            },
            ..ContainerLaunch::default()
        })
    }

    /// How the launcher of a container looks for elements.
    fn scan_at(&self, container: &Container) -> Option<Scan> {
        let (scan, trust) = self.scan.as_ref()?;
        let counts = container.resource.others.iter();
        let counts = counts.filter(|(name, _)| counted_by(name) == Some(GPU));
        let counts = counts.map(|(_, count)| u32::try_from(*count).unwrap_or(u32::MAX));
        // None: the cluster has no such type.
        let granted = counts.reduce(u32::saturating_add);
        let (granted, most) = match trust {
            Trust::Scan => (None, None),
            Trust::Yarn => (Some(granted.unwrap_or(0)), None),
            Trust::Both => (None, granted),
        };
        Some(Scan {
            granted,
            most,
            ..scan.at(&container.node.host)
        })
    }

    /// Starts one container in a task of its own; only a failure is news.
    pub(crate) fn start(
        &self,
        granted: &Granted,
        ticket: &[u8],
        heard: &ContainerEventSender,
        tasks: &TaskTracker,
    ) {
        let launch = self.launch(&granted.container, ticket);
        let (container, token) = (granted.container.clone(), granted.nm_token.clone());
        let heard = heard.clone();
        tasks.spawn(async move {
            let started = match (launch, token) {
                (Ok(launch), Some(token)) => start(&container, launch, token).await,
                (Ok(_), None) => Err("the ResourceManager gave no token for this node".into()),
                (Err(error), _) => Err(format!("{error:#}")),
            };
            if let Err(why) = started {
                let failed = ContainerEvent::StartFailed {
                    container: policy::ContainerId(container.id.to_string()),
                    why,
                };
                let _told = heard.send(failed).await.is_ok();
            }
        });
    }
}

/// Asks a node in a task of its own whether a container is still being localized; only that is news.
pub(crate) fn probe(granted: &Granted, heard: &ContainerEventSender, tasks: &TaskTracker) {
    let Some(token) = granted.nm_token.clone() else {
        return;
    };
    let container = granted.container.clone();
    let heard = heard.clone();
    tasks.spawn(async move {
        let client = ContainerClient::new(&container.node, token);
        let ids = [container.id];
        let Ok(Ok(answer)) = timeout(PROBE_DEADLINE, client.statuses(&ids)).await else {
            return;
        };
        if answer.succeeded.iter().any(|status| status.is_localizing) {
            let id = policy::ContainerId(container.id.to_string());
            let _told = heard.send(ContainerEvent::Localizing(id)).await.is_ok();
        }
    });
}

/// Each file under the first of its names, and the others with that: NodeManagers link a file once
/// only, and the launcher makes the other links.
fn once_each(staged: &[Staged]) -> (Vec<&Staged>, Vec<(String, String)>) {
    let mut first: BTreeMap<&str, &Staged> = BTreeMap::new();
    let (mut once, mut links) = (Vec::new(), Vec::new());
    for file in staged {
        match first.entry(&file.url) {
            Entry::Vacant(vacant) => {
                vacant.insert(file);
                once.push(file);
            }
            Entry::Occupied(there) => links.push((file.link.clone(), there.get().link.clone())),
        }
    }
    (once, links)
}

/// Starts `launch` in `container`. A NodeManager that restarts, or has not registered yet, is waited
/// for; where an answer was lost, the container itself says whether the order had come.
async fn start(container: &Container, launch: ContainerLaunch, token: Token) -> Result<(), String> {
    let node: &NodeId = &container.node;
    let client = ContainerClient::new(node, token).with_timing(Timing {
        call: START_DEADLINE,
        ..Timing::patient(RESTART)
    });
    let starting = async {
        let mut unknown: Option<Instant> = None;
        loop {
            let order = ContainerStart {
                container,
                launch: &launch,
            };
            match client.start(&[order]).await {
                Ok(outcome) => match outcome.failed.into_iter().next() {
                    None => return Ok(()),
                    Some(refused)
                        if refused.is_of_unknown_master()
                            && unknown.get_or_insert_with(Instant::now).elapsed() < REGISTERS =>
                    {
                        tracing::warn!("{refused}: waiting until {node} has registered");
                        sleep(REGISTERS_PAUSE).await;
                        continue;
                    }
                    Some(refused) => return Err(refused.to_string()),
                },
                Err(error) if may_have_run(&error) => {
                    tracing::warn!("{error}: looking whether {} was started", container.id);
                }
                Err(error) => return Err(error.to_string()),
            }
            let known = client.statuses(&[container.id]).await;
            let known = known.map_err(|error| error.to_string())?;
            if !known.succeeded.is_empty() {
                return Ok(());
            }
        }
    };
    let answer = timeout(START_LIMIT, starting).await;
    answer.unwrap_or_else(|_late| {
        let seconds = START_LIMIT.as_secs();
        Err(format!("{node} did not answer within {seconds} s"))
    })
}

/// The call was sent, and how it ended is not known.
fn may_have_run(error: &CallError) -> bool {
    let then = |idempotence| disposition(error, idempotence);
    then(Idempotence::AtMostOnce) == Disposition::Stop
        && then(Idempotence::Idempotent) != Disposition::Stop
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_ordered_once_however_many_names_it_has() {
        let staged = |link: &str, url: &str| Staged {
            link: link.into(),
            url: url.into(),
            size: 1,
            modified_ms: 1,
            kind: StagedKind::File,
        };
        let all = [
            staged("gerbil-run", "hdfs:/c/1"),
            staged("a", "hdfs:/c/2"),
            staged("b", "hdfs:/c/2"),
            staged("c", "hdfs:/c/3"),
            staged("d", "hdfs:/c/2"),
        ];
        let (once, links) = once_each(&all);
        let once: Vec<&str> = once.iter().map(|file| file.link.as_str()).collect();
        assert_eq!(once, ["gerbil-run", "a", "c"]);
        let link = |name: &str| (name.to_owned(), "a".to_owned());
        assert_eq!(links, [link("b"), link("d")]);
    }
}
