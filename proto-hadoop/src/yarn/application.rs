//! What the ResourceManager says about applications.

use credentials::Token;

use crate::wire::{FromWire, Incomplete, required, yarn};
use crate::{AppAttemptId, ApplicationId, ContainerId};

use super::Resource;

/// Where an application stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum YarnApplicationState {
    /// Just created.
    New,
    /// Being written to the ResourceManager's state store.
    NewSaving,
    /// Submitted, not yet taken in by the scheduler.
    Submitted,
    /// In the scheduler, its ApplicationMaster not yet registered.
    Accepted,
    /// Its ApplicationMaster has registered.
    Running,
    /// Ended by its ApplicationMaster; see the final status for how.
    Finished,
    /// Ended by YARN.
    Failed,
    /// Killed by a user or administrator.
    Killed,
    /// A state that this crate does not know.
    Unknown,
}

impl YarnApplicationState {
    /// Nothing more happens to the application.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Finished | Self::Failed | Self::Killed)
    }

    pub(crate) fn from_number(number: Option<i32>) -> Self {
        use yarn::YarnApplicationStateProto as Wire;
        match number.and_then(|number| Wire::try_from(number).ok()) {
            Some(Wire::New) => Self::New,
            Some(Wire::NewSaving) => Self::NewSaving,
            Some(Wire::Submitted) => Self::Submitted,
            Some(Wire::Accepted) => Self::Accepted,
            Some(Wire::Running) => Self::Running,
            Some(Wire::Finished) => Self::Finished,
            Some(Wire::Failed) => Self::Failed,
            Some(Wire::Killed) => Self::Killed,
            None => Self::Unknown,
        }
    }

    pub(crate) fn number(self) -> Option<i32> {
        use yarn::YarnApplicationStateProto as Wire;
        let wire = match self {
            Self::New => Wire::New,
            Self::NewSaving => Wire::NewSaving,
            Self::Submitted => Wire::Submitted,
            Self::Accepted => Wire::Accepted,
            Self::Running => Wire::Running,
            Self::Finished => Wire::Finished,
            Self::Failed => Wire::Failed,
            Self::Killed => Wire::Killed,
            Self::Unknown => return None,
        };
        Some(wire.into())
    }
}

/// How an application ended, in the words of its ApplicationMaster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FinalApplicationStatus {
    /// Not ended yet, or nothing was said.
    Undefined,
    /// Did what it was asked to do.
    Succeeded,
    /// Did not.
    Failed,
    /// Was stopped on request.
    Killed,
    /// One of several parts ended (used by frameworks that run many jobs in one application).
    Ended,
}

impl FinalApplicationStatus {
    pub(crate) fn from_number(number: Option<i32>) -> Self {
        use yarn::FinalApplicationStatusProto as Wire;
        match number.and_then(|number| Wire::try_from(number).ok()) {
            Some(Wire::AppSucceeded) => Self::Succeeded,
            Some(Wire::AppFailed) => Self::Failed,
            Some(Wire::AppKilled) => Self::Killed,
            Some(Wire::AppEnded) => Self::Ended,
            Some(Wire::AppUndefined) | None => Self::Undefined,
        }
    }

    pub(crate) fn number(self) -> i32 {
        use yarn::FinalApplicationStatusProto as Wire;
        match self {
            Self::Undefined => Wire::AppUndefined,
            Self::Succeeded => Wire::AppSucceeded,
            Self::Failed => Wire::AppFailed,
            Self::Killed => Wire::AppKilled,
            Self::Ended => Wire::AppEnded,
        }
        .into()
    }
}

/// The answer to the request for a new application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApplication {
    /// The id to submit under.
    pub id: ApplicationId,
    /// The largest container that the cluster grants.
    pub maximum: Resource,
}

/// What an application uses and has used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ApplicationUsage {
    /// Containers it holds.
    pub containers: u32,
    /// Containers reserved for it.
    pub reserved_containers: u32,
    /// What its containers hold.
    pub used: Resource,
    /// What is reserved for it.
    pub reserved: Resource,
    /// What it holds and waits for in all.
    pub needed: Resource,
    /// MiB times seconds so far.
    pub memory_mib_seconds: u64,
    /// Virtual cores times seconds so far.
    pub vcore_seconds: u64,
}

/// One application.
#[derive(Debug, Clone, PartialEq)]
pub struct ApplicationReport {
    /// Its id.
    pub id: ApplicationId,
    /// Who submitted it.
    pub user: String,
    /// Its queue.
    pub queue: String,
    /// The name it was submitted under.
    pub name: String,
    /// Such as `YARN`, `MAPREDUCE`.
    pub application_type: String,
    /// Where it stands.
    pub state: YarnApplicationState,
    /// How it ended.
    pub final_status: FinalApplicationStatus,
    /// The ResourceManager's or ApplicationMaster's words: why it waits, why it failed.
    pub diagnostics: String,
    /// Share of the work that is done, 0 to 1, in the ApplicationMaster's words.
    pub progress: f32,
    /// Where its ApplicationMaster said it listens; "N/A" or empty before it registered.
    pub host: String,
    /// Its ApplicationMaster's port, when it named one.
    pub rpc_port: Option<u16>,
    /// Web address through the ResourceManager's proxy.
    pub tracking_url: String,
    /// Web address in the ApplicationMaster's own words.
    pub original_tracking_url: String,
    /// When it was submitted or started, in milliseconds since 1970.
    pub start_time_ms: i64,
    /// When it ended, in milliseconds since 1970; 0 while it runs.
    pub finish_time_ms: i64,
    /// The newest attempt.
    pub current_attempt: Option<AppAttemptId>,
    /// Tags given at submission, in order.
    pub tags: Vec<String>,
    /// Larger is more urgent; this is the opposite of a request's priority.
    pub priority: i32,
    /// Runs outside the cluster, its log-in in `am_rm_token`.
    pub unmanaged: bool,
    /// Log-in of an unmanaged ApplicationMaster, shown to the application's owner only.
    pub am_rm_token: Option<Token>,
    /// What it uses.
    pub usage: ApplicationUsage,
}

impl FromWire<yarn::ApplicationReportProto> for ApplicationReport {
    fn from_wire(wire: yarn::ApplicationReportProto) -> Result<Self, Incomplete> {
        let usage = wire.app_resource_usage.unwrap_or_default();
        let mut tags = wire.application_tags;
        tags.sort_unstable();
        Ok(Self {
            id: required(wire.application_id, "id of an application")?,
            user: wire.user.unwrap_or_default(),
            queue: wire.queue.unwrap_or_default(),
            name: wire.name.unwrap_or_default(),
            application_type: wire.application_type.unwrap_or_default(),
            state: YarnApplicationState::from_number(wire.yarn_application_state),
            final_status: FinalApplicationStatus::from_number(wire.final_application_status),
            diagnostics: wire.diagnostics.unwrap_or_default(),
            progress: wire.progress.unwrap_or(0.0),
            host: wire.host.unwrap_or_default(),
            rpc_port: wire.rpc_port.and_then(|port| u16::try_from(port).ok()),
            tracking_url: wire.tracking_url.unwrap_or_default(),
            original_tracking_url: wire.original_tracking_url.unwrap_or_default(),
            start_time_ms: wire.start_time.unwrap_or(0),
            finish_time_ms: wire.finish_time.unwrap_or(0),
            current_attempt: wire
                .current_application_attempt_id
                .map(AppAttemptId::from_wire)
                .transpose()?,
            tags,
            priority: wire
                .priority
                .and_then(|priority| priority.priority)
                .unwrap_or(0),
            unmanaged: wire.unmanaged_application.unwrap_or(false),
            am_rm_token: wire.am_rm_token.map(Token::from_wire).transpose()?,
            usage: ApplicationUsage {
                containers: count(usage.num_used_containers),
                reserved_containers: count(usage.num_reserved_containers),
                used: Resource::optional(usage.used_resources),
                reserved: Resource::optional(usage.reserved_resources),
                needed: Resource::optional(usage.needed_resources),
                memory_mib_seconds: usage.memory_seconds.unwrap_or(0).try_into().unwrap_or(0),
                vcore_seconds: usage.vcore_seconds.unwrap_or(0).try_into().unwrap_or(0),
            },
        })
    }
}

/// Unlimited (-1) and missing counts are 0.
fn count(value: Option<i32>) -> u32 {
    value
        .and_then(|value| u32::try_from(value).ok())
        .unwrap_or(0)
}

/// Which applications to list; an empty list does not filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApplicationFilter {
    /// States, of which one must be its own.
    pub states: Vec<YarnApplicationState>,
    /// Users, of whom one must have submitted it.
    pub users: Vec<String>,
    /// Queues, of which one must have it.
    pub queues: Vec<String>,
    /// Types, such as `YARN`.
    pub types: Vec<String>,
    /// Tags, of which one must be there.
    pub tags: Vec<String>,
    /// At most so many.
    pub limit: Option<u32>,
}

impl From<&ApplicationFilter> for yarn::GetApplicationsRequestProto {
    fn from(filter: &ApplicationFilter) -> Self {
        Self {
            application_types: filter.types.clone(),
            application_states: filter
                .states
                .iter()
                .filter_map(|state| state.number())
                .collect(),
            users: filter.users.clone(),
            queues: filter.queues.clone(),
            limit: filter.limit.map(i64::from),
            application_tags: filter.tags.clone(),
            ..Self::default()
        }
    }
}

/// One attempt to run an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationAttemptReport {
    /// Its id.
    pub id: AppAttemptId,
    /// State in YARN's own word, without its prefix, such as `RUNNING`.
    pub state: &'static str,
    /// Where its ApplicationMaster listens.
    pub host: String,
    /// The container of its ApplicationMaster; none for an unmanaged one.
    pub master_container: Option<ContainerId>,
    /// Why it failed.
    pub diagnostics: String,
    /// Start, in milliseconds since 1970.
    pub start_time_ms: i64,
    /// End, in milliseconds since 1970; 0 while it runs.
    pub finish_time_ms: i64,
}

impl FromWire<yarn::ApplicationAttemptReportProto> for ApplicationAttemptReport {
    fn from_wire(wire: yarn::ApplicationAttemptReportProto) -> Result<Self, Incomplete> {
        let state = wire
            .yarn_application_attempt_state
            .and_then(|number| yarn::YarnApplicationAttemptStateProto::try_from(number).ok())
            .map_or("UNKNOWN", |state| state.as_str_name());
        Ok(Self {
            id: required(wire.application_attempt_id, "id of an attempt")?,
            state: state.strip_prefix("APP_ATTEMPT_").unwrap_or(state),
            host: wire.host.unwrap_or_default(),
            master_container: wire
                .am_container_id
                .map(ContainerId::from_wire)
                .transpose()?,
            diagnostics: wire.diagnostics.unwrap_or_default(),
            start_time_ms: wire.start_time.unwrap_or(0),
            finish_time_ms: wire.finish_time.unwrap_or(0),
        })
    }
}
