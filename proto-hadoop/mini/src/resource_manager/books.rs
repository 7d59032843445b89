//! What the ResourceManager knows.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use credentials::Token;
use proto_hadoop::server::{
    AllocateAnswer, AmRmIdentifier, ContainerIdentifier, MasterKey, NmIdentifier,
};
use proto_hadoop::yarn::{
    ApplicationReport, ApplicationSubmission, ApplicationUsage, Container, ContainerStatus,
    Counted, FinalApplicationStatus, NmToken, Resource, ResourceRequest, YarnApplicationState,
};
use proto_hadoop::{AppAttemptId, ApplicationId, ContainerId, NodeId};
use tokio::time::Instant;

use super::{ResourceManagerOptions, nodes::Node};

/// A granted container that is not started within this time may not be started any more.
const GRANT_HOLDS: Duration = Duration::from_secs(600);
/// Exit status of a container that YARN took back or lost.
pub(super) const ABORTED: i32 = proto_hadoop::yarn::exit_status::ABORTED;

/// Rows under one (priority, allocation request id), by resource name.
pub(super) type RequestRows = BTreeMap<String, ResourceRequest>;

/// A container that an application holds.
#[derive(Debug, Clone)]
pub(super) struct HeldContainer {
    pub(super) node: NodeId,
    pub(super) resource: Resource,
}

/// One application, with its one attempt.
#[derive(Debug)]
pub(super) struct ApplicationRecord {
    pub(super) submission: ApplicationSubmission,
    pub(super) user: String,
    pub(super) state: YarnApplicationState,
    pub(super) final_status: FinalApplicationStatus,
    pub(super) diagnostics: String,
    pub(super) started_ms: i64,
    pub(super) finished_ms: i64,
    pub(super) born: Instant,
    /// The ApplicationMaster's own container, once there is one.
    pub(super) master: Option<ContainerId>,
    pub(super) host: String,
    pub(super) port: Option<u16>,
    pub(super) tracking_url: String,
    pub(super) progress: f32,
    pub(super) registered: bool,
    /// When its ApplicationMaster was last heard of; none before it was started.
    pub(super) heard: Option<Instant>,
    pub(super) asks: BTreeMap<(i32, i64), RequestRows>,
    pub(super) blacklist: BTreeSet<String>,
    pub(super) held: BTreeMap<ContainerId, HeldContainer>,
    next_container: i64,
    /// For the next answer.
    pub(super) granted: Vec<Container>,
    /// For the next answer.
    pub(super) completed: Vec<ContainerStatus>,
    /// Nodes whose token the ApplicationMaster has.
    pub(super) known_nodes: BTreeSet<NodeId>,
    /// For the next answer.
    pub(super) nm_tokens: Vec<NmToken>,
    pub(super) response_id: i32,
    pub(super) last_answer: Option<AllocateAnswer>,
}

/// The master keys.
#[derive(Debug)]
pub(super) struct MasterKeys {
    /// The newest last; the ones before it stay valid.
    pub(super) am: Vec<MasterKey>,
    pub(super) nm: MasterKey,
    pub(super) container: MasterKey,
}

/// An ApplicationMaster's container that is to be started.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) container: Container,
    pub(super) nm_token: Token,
    pub(super) launch: proto_hadoop::yarn::ContainerLaunch,
}

/// All that this ResourceManager knows, below one lock.
#[derive(Debug)]
pub(super) struct Books {
    pub(super) options: ResourceManagerOptions,
    /// When this ResourceManager started, ms since 1970.
    pub(super) started_ms: i64,
    /// What stands in all its ids, ns since 1970. Stock ResourceManagers write milliseconds; here
    /// several may start within one on the same machine, where what is left of a container is found
    /// and killed by its id.
    pub(super) epoch_ns: i64,
    pub(super) next_application: i32,
    pub(super) applications: BTreeMap<ApplicationId, ApplicationRecord>,
    pub(super) nodes: BTreeMap<NodeId, Node>,
    pub(super) keys: MasterKeys,
    /// For the task that starts ApplicationMasters.
    pub(super) launches: Vec<Launch>,
}

/// Milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(i64::MAX)
}

impl Books {
    pub(super) fn new(options: ResourceManagerOptions) -> Self {
        Self {
            started_ms: now_ms(),
            epoch_ns: now_ns(),
            next_application: options.first_application.saturating_sub(1),
            options,
            applications: BTreeMap::new(),
            nodes: BTreeMap::new(),
            keys: MasterKeys {
                am: vec![MasterKey::generate(1)],
                nm: MasterKey::generate(1),
                container: MasterKey::generate(1),
            },
            launches: Vec::new(),
        }
    }

    /// The largest container that any node could hold.
    pub(super) fn maximum(&self) -> Resource {
        let nodes = self.nodes.values();
        nodes.fold(Resource::default(), |largest, node| {
            Resource::new(
                largest.memory_mib.max(node.capability.memory_mib),
                largest.vcores.max(node.capability.vcores),
            )
        })
    }

    /// What is granted for `asked`: memory rounded up; cores only where they are counted.
    pub(super) fn normalized(&self, asked: &Resource) -> Resource {
        let step = self.options.step_mib.max(1);
        let memory = asked.memory_mib.max(1).div_ceil(step).saturating_mul(step);
        let vcores = match self.options.counted {
            Counted::Memory => 1,
            Counted::MemoryAndCpu => asked.vcores.max(1),
        };
        Resource::new(memory, vcores)
    }

    /// Whether `wanted` fits into what `node` has left.
    pub(super) fn fits(&self, node: &Node, wanted: &Resource) -> bool {
        let memory = node.used.memory_mib.saturating_add(wanted.memory_mib);
        let vcores = node.used.vcores.saturating_add(wanted.vcores);
        let cores_fit = match self.options.counted {
            Counted::Memory => true,
            Counted::MemoryAndCpu => vcores <= node.capability.vcores,
        };
        memory <= node.capability.memory_mib && cores_fit
    }

    /// Takes room on `node` for a container of `id`, whose size is normalized already.
    pub(super) fn grant(
        &mut self,
        id: ApplicationId,
        node: &NodeId,
        resource: &Resource,
        request: (i32, i64),
        is_master: bool,
    ) -> Option<Container> {
        let place = self.nodes.get_mut(node)?;
        let application = self.applications.get_mut(&id)?;
        place.take(resource);
        application.next_container += 1;
        let container = ContainerId {
            attempt: application.attempt(),
            id: application.next_container,
        };
        let held = HeldContainer {
            node: node.clone(),
            resource: resource.clone(),
        };
        application.held.insert(container, held);
        let now = now_ms();
        let holds = i64::try_from(GRANT_HOLDS.as_millis()).unwrap_or(i64::MAX);
        let identifier = ContainerIdentifier {
            container,
            node: node.to_string(),
            submitter: application.user.clone(),
            resource: resource.clone(),
            expires_ms: now.saturating_add(holds),
            key: self.keys.container.id,
            resource_manager: self.started_ms,
            priority: request.0,
            created_ms: now,
            is_master,
            allocation_request_id: request.1,
        };
        Some(Container {
            id: container,
            node: node.clone(),
            http_address: format!("{}:{}", node.host, place.http_port),
            resource: resource.clone(),
            priority: request.0,
            allocation_request_id: request.1,
            token: Some(identifier.token(&self.keys.container)),
        })
    }

    /// The log-in of an application's attempt to a node.
    pub(super) fn nm_token(&self, application: &ApplicationRecord, node: &NodeId) -> Token {
        let (attempt, user) = (application.attempt(), &application.user);
        NmIdentifier::token(attempt, node, user, &self.keys.nm)
    }

    /// The newest log-in of an application's attempt to the scheduler.
    pub(super) fn am_token(&self, attempt: AppAttemptId) -> Option<Token> {
        let key = self.keys.am.last()?;
        Some(AmRmIdentifier::token(attempt, key))
    }

    /// A container is gone: its room is free, and its application is told.
    pub(super) fn end_container(&mut self, status: ContainerStatus) {
        let id = status.id.attempt.application;
        let Some(application) = self.applications.get_mut(&id) else {
            return;
        };
        let Some(held) = application.held.remove(&status.id) else {
            return;
        };
        if let Some(node) = self.nodes.get_mut(&held.node) {
            node.give_back(&held.resource);
        }
        if application.master == Some(status.id) {
            self.master_ended(id, &status);
        } else if !application.state.is_final() {
            application.granted.retain(|grant| grant.id != status.id);
            application.completed.push(status);
        }
    }

    fn master_ended(&mut self, id: ApplicationId, status: &ContainerStatus) {
        let Some(application) = self.applications.get_mut(&id) else {
            return;
        };
        let ends = !application.state.is_final();
        if ends {
            let sentence = format!(
                "Application {id} failed 1 times due to AM Container for {} exited with  exitCode: {}. \
                 {}",
                application.attempt(),
                status.exit_status,
                status.diagnostics
            );
            application.end(
                YarnApplicationState::Failed,
                FinalApplicationStatus::Failed,
                sentence,
            );
        }
        self.clear(id, false);
    }

    /// The application is over: nothing of it may stay, its master only if `master_too` is not set.
    pub(super) fn clear(&mut self, id: ApplicationId, spare_master: bool) {
        let Some(application) = self.applications.get_mut(&id) else {
            return;
        };
        application.asks.clear();
        application.granted.clear();
        application.completed.clear();
        let spared = application.master.filter(|_| spare_master);
        for (&container, held) in &application.held {
            if Some(container) == spared {
                continue;
            }
            if let Some(node) = self.nodes.get_mut(&held.node) {
                node.to_end.insert(container);
            }
        }
        if spared.is_none_or(|master| !application.held.contains_key(&master)) {
            for node in self.nodes.values_mut() {
                node.over.insert(id);
            }
        }
    }

    /// Kills or fails an application.
    pub(super) fn end_application(
        &mut self,
        id: ApplicationId,
        state: YarnApplicationState,
        status: FinalApplicationStatus,
        sentence: String,
    ) {
        if let Some(application) = self.applications.get_mut(&id)
            && !application.state.is_final()
        {
            application.end(state, status, sentence);
            self.clear(id, false);
        }
    }

    /// The report that `user` may see.
    pub(super) fn report(&self, application: &ApplicationRecord, user: &str) -> ApplicationReport {
        let submission = &application.submission;
        let mut used = Resource::default();
        for held in application.held.values() {
            used.memory_mib += held.resource.memory_mib;
            used.vcores += held.resource.vcores;
        }
        let shows_token =
            submission.unmanaged && user == application.user && !application.state.is_final();
        ApplicationReport {
            id: submission.id,
            user: application.user.clone(),
            queue: submission.queue.clone(),
            name: submission.name.clone(),
            application_type: submission.application_type.clone(),
            state: application.state,
            final_status: application.final_status,
            diagnostics: application.diagnostics.clone(),
            progress: application.progress,
            host: application.host.clone(),
            rpc_port: application.port,
            tracking_url: application.tracking_url.clone(),
            original_tracking_url: application.tracking_url.clone(),
            start_time_ms: application.started_ms,
            finish_time_ms: application.finished_ms,
            current_attempt: Some(application.attempt()),
            tags: submission.tags.clone(),
            priority: submission.priority.unwrap_or(0),
            unmanaged: submission.unmanaged,
            am_rm_token: shows_token
                .then(|| self.am_token(application.attempt()))
                .flatten(),
            usage: ApplicationUsage {
                containers: u32::try_from(application.held.len()).unwrap_or(u32::MAX),
                needed: used.clone(),
                used,
                ..ApplicationUsage::default()
            },
        }
    }
}

impl ApplicationRecord {
    pub(super) fn new(submission: ApplicationSubmission, user: &str) -> Self {
        Self {
            user: user.to_owned(),
            state: YarnApplicationState::Accepted,
            final_status: FinalApplicationStatus::Undefined,
            diagnostics: String::new(),
            started_ms: now_ms(),
            finished_ms: 0,
            born: Instant::now(),
            master: None,
            host: "N/A".to_owned(),
            port: None,
            tracking_url: String::new(),
            progress: 0.0,
            registered: false,
            heard: submission.unmanaged.then(Instant::now),
            asks: BTreeMap::new(),
            blacklist: BTreeSet::new(),
            held: BTreeMap::new(),
            next_container: 0,
            granted: Vec::new(),
            completed: Vec::new(),
            known_nodes: BTreeSet::new(),
            nm_tokens: Vec::new(),
            response_id: 0,
            last_answer: None,
            submission,
        }
    }

    /// Its one attempt.
    pub(super) fn attempt(&self) -> AppAttemptId {
        AppAttemptId {
            application: self.submission.id,
            attempt: 1,
        }
    }

    pub(super) fn end(
        &mut self,
        state: YarnApplicationState,
        status: FinalApplicationStatus,
        sentence: String,
    ) {
        self.state = state;
        self.final_status = status;
        self.diagnostics = sentence;
        self.finished_ms = now_ms();
        self.registered = false;
    }
}
