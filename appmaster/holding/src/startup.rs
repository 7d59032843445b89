//! An application begins: it registers, and holds nothing yet.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use credentials::Token;
use job::Application;
use policy::ResourceTypes;
use proto_hadoop::{AppAttemptId, ApplicationMasterClient, ContainerId, NodeId};

use crate::containers::{LaunchTemplate, Reached};
use crate::holding::Holding;
use crate::keys::Keys;
use crate::next_allocate::Draft;
use crate::nodes;
use crate::port::Port;
use crate::registration::{self, AmContainer, register};
use crate::requests::RequestTable;
use crate::resource_manager::ResourceManagerTask;

/// What an application begins with.
#[derive(Debug)]
pub struct Opening<'a> {
    /// How it stands to the cluster.
    pub application: &'a Application,
    /// Hosts that are no candidates, as their nodes registered them.
    pub exclude: &'a [String],
    /// The countable types that it asks for.
    pub types: &'a ResourceTypes,
    /// Keys of its own authority.
    pub keys: &'a Keys,
    /// What YARN counts this AM as.
    pub attempt: AppAttemptId,
    /// Logs in to the ResourceManager's scheduler port.
    pub amrm_token: Token,
    /// This AM's own container; `None` outside the cluster.
    pub container: Option<ContainerId>,
    /// The node that it is on.
    pub node: Option<NodeId>,
    /// Web page with this AM's log, without its scheme, which YARN knows; empty where there is none.
    pub page: &'a str,
    /// Hadoop's tokens that the launchers' containers may need.
    pub tokens: BTreeMap<String, Token>,
}

impl Holding {
    /// Registers an application whose port is open, and heartbeats from then on. It holds nothing yet.
    ///
    /// # Errors
    /// The ResourceManager does not take the registration, or a file's address makes no sense. Nothing
    /// runs then.
    pub async fn register(opening: Opening<'_>, port: Port) -> Result<Self> {
        let application = opening.application;
        let addresses = application.rm_scheduler.clone();
        let rm = ApplicationMasterClient::new(addresses, opening.amrm_token);
        let (host, number) = (port.host, port.number);
        let registration = register(&rm, &host, Some(number), opening.page, application).await?;
        let registered = SystemTime::now();
        tracing::info!(
            "{} is registered, listening on {}: attempt {} of {}",
            opening.attempt,
            port.address,
            opening.attempt.attempt,
            application.attempts
        );
        let own = AmContainer {
            container: opening.container,
            node: opening.node,
        };
        let (exclude, types) = (opening.exclude, opening.types);
        let cluster = registration::cluster(registration, application, exclude, types, own).await?;
        let table = RequestTable::new(
            application.node_label.clone(),
            nodes::names(application),
            cluster.limits().types.clone(),
        );
        let draft = Draft::new(table);
        let expiry = Duration::from_millis(application.am_expiry_ms);
        let heard = port.heard;
        let stream =
            ResourceManagerTask::new(rm, host, number, expiry, draft.clone(), heard.clone());
        let staged = &application.staged;
        let reached = Reached {
            appmaster: port.address,
            interface: application.interface.clone(),
            ports: application.launcher_ports,
        };
        let holding = Self {
            launch: LaunchTemplate::new(staged, opening.keys, opening.tokens, reached)?,
            draft,
            tickets: port.tickets,
            heard,
            tasks: port.tasks,
            cluster,
            registered,
            grants: BTreeMap::new(),
            links: BTreeMap::new(),
            headroom: None,
        };
        let stream = stream.with_page(opening.page.to_owned());
        holding.tasks.spawn(stream.run());
        Ok(holding)
    }
}
