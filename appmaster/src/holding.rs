//! The containers of one application: what is wanted, granted and running.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use job::wire;
use job::wire::launcher_order::Order;
use policy::{ClusterView, ContainerId, Resources};
use proto_hadoop::ApplicationClient;
use proto_hadoop::yarn::{FinalApplicationStatus, NodeState};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::containers::{self, LaunchTemplate};
use crate::draft::{Draft, Finish, Nodes};
use crate::heard::{Granted, Heard, HeardSender};
use crate::nodes::{self, Candidates, Limits};
use crate::orders::Orders;
use crate::requests::Asking;
use crate::tickets::Tickets;

/// For the ResourceManager's answer to a read of the nodes.
const READ_DEADLINE: Duration = Duration::from_secs(30);

/// The cluster as this application may use it.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    client: Arc<ApplicationClient>,
    limits: Limits,
    candidates: Arc<Candidates>,
}

impl Cluster {
    /// Read by `client`. `candidates` are the nodes that the application may use, within `limits`.
    pub(crate) fn new(client: Arc<ApplicationClient>, limits: Limits, which: Candidates) -> Self {
        Self {
            client,
            limits,
            candidates: Arc::new(which),
        }
    }

    /// Asks the ResourceManager whatever an application's owner may ask.
    pub(crate) const fn client(&self) -> &Arc<ApplicationClient> {
        &self.client
    }

    /// What registration told of limits.
    pub(crate) const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Which nodes it may use.
    pub(crate) fn candidates(&self) -> &Candidates {
        &self.candidates
    }

    /// The running nodes, or why they cannot be told after `deadline` at the latest. What the queue still
    /// gives is not known from them.
    pub(crate) async fn nodes(&self, deadline: Duration) -> Nodes {
        let running = [NodeState::Running];
        match timeout(deadline, self.client.nodes(&running)).await {
            Ok(Ok(reports)) => Ok(nodes::view(&self.limits, &self.candidates, &reports)),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_late) => Err("no answer in time".into()),
        }
    }
}

/// A launcher that has joined, as long as it is heard of.
#[derive(Debug)]
pub(crate) struct Link {
    orders: Orders,
    /// What it has found on its node.
    pub(crate) node: wire::NodeFacts,
}

/// What the containers of an application are started with.
pub(crate) struct Parts {
    /// What the next call to the ResourceManager says.
    pub draft: Draft,
    /// What all containers have in common.
    pub launch: LaunchTemplate,
    /// By which launchers are let in.
    pub tickets: Tickets,
    /// Who hears what becomes of them.
    pub heard: HeardSender,
    /// Owns what is under way.
    pub tasks: TaskTracker,
    pub cluster: Cluster,
}

/// The containers of one application. Its owner gives it what it hears ([`Holding::hear`]) and says what
/// it wants; nothing of that waits for anybody.
pub(crate) struct Holding {
    parts: Parts,
    grants: BTreeMap<ContainerId, Granted>,
    links: BTreeMap<ContainerId, Link>,
    /// What the queue still gives this application, as the ResourceManager last said.
    headroom: Option<Resources>,
}

impl Holding {
    /// An application that holds nothing yet.
    pub(crate) const fn new(parts: Parts) -> Self {
        Self {
            parts,
            grants: BTreeMap::new(),
            links: BTreeMap::new(),
            headroom: None,
        }
    }

    /// Keeps its books by what is heard, in the order in which it is; `None` where that is of no concern
    /// to the owner.
    pub(crate) fn hear(&mut self, heard: Heard) -> Option<Heard> {
        match heard {
            Heard::Granted(granted) => {
                for granted in &granted {
                    let container = ContainerId(granted.container.id.to_string());
                    self.grants.insert(container, granted.clone());
                }
                Some(Heard::Granted(granted))
            }
            Heard::Ended { ref container, .. } => {
                if let Some(link) = self.links.get(container) {
                    // Without a link it does not come by another.
                    link.orders.container_ended();
                }
                Some(heard)
            }
            Heard::Joined {
                container,
                orders,
                node,
            } => {
                let link = Link {
                    orders: orders.clone(),
                    node: node.clone(),
                };
                self.links.insert(container.clone(), link);
                if !self.is_granted(&container) {
                    // Given back while it was on its way here.
                    self.dismiss(&container);
                    return None;
                }
                Some(Heard::Joined {
                    container,
                    orders,
                    node,
                })
            }
            Heard::Cut => {
                // Most often it is dead, and YARN will soon say so.
                self.hurry();
                Some(Heard::Cut)
            }
            Heard::Lost(container) => {
                self.let_go(&container);
                Some(Heard::Lost(container))
            }
            Heard::Headroom(headroom) => {
                let before = self.headroom.replace(headroom).unwrap_or_default();
                (headroom.memory > before.memory).then_some(Heard::Freed)
            }
            Heard::Nodes(Ok(mut view)) => {
                view.queue.headroom = self.believed_headroom(&view);
                Some(Heard::Nodes(Ok(view)))
            }
            other => Some(other),
        }
    }

    /// What the queue still gives, where that is to be relied on: a CapacityScheduler says it, the other
    /// ones name a fair share, above which they give too. Until something was said it is zero.
    fn believed_headroom(&self, view: &ClusterView) -> Option<Resources> {
        let said = self.headroom.filter(|headroom| headroom.memory.0 > 0);
        said.filter(|_| view.queue.maximum.is_some())
    }

    /// Reads the nodes: [`Heard::Nodes`], after what has been granted until then.
    pub(crate) fn read_nodes(&self) {
        let (cluster, draft) = (self.parts.cluster.clone(), self.parts.draft.clone());
        let reading = async move { draft.read(cluster.nodes(READ_DEADLINE).await) };
        self.parts.tasks.spawn(reading);
    }

    /// Replaces everything that is asked for.
    pub(crate) fn ask(&self, asking: &Asking) {
        self.parts.draft.ask(asking);
    }

    /// Gives containers back; launchers there are to leave.
    pub(crate) fn release(&mut self, containers: &[ContainerId]) {
        for container in containers {
            self.dismiss(container);
        }
        let released = containers.iter().filter_map(|id| self.grants.remove(id));
        let ids: Vec<_> = released.map(|granted| granted.container.id).collect();
        self.parts.draft.release(&ids);
    }

    /// Something is about to be heard of the ResourceManager: it is asked more often until containers are
    /// asked for.
    pub(crate) fn hurry(&self) {
        self.parts.draft.hurry();
    }

    /// What YARN is told of the application's progress, in thousandths.
    pub(crate) fn progress(&self, thousandths: u16) {
        self.parts.draft.progress(thousandths);
    }

    /// Starts a launcher in a container: it joins, or [`Heard::StartFailed`].
    pub(crate) fn start(&self, container: &ContainerId) {
        if let Some(granted) = self.grants.get(container) {
            let ticket = ticket();
            self.parts.tickets.issue(container.clone(), ticket.clone());
            let Parts { heard, tasks, .. } = &self.parts;
            self.parts.launch.start(granted, &ticket, heard, tasks);
        }
    }

    /// Asks the node of a container whether it is still being localized: [`Heard::Localizing`], or
    /// nothing.
    pub(crate) fn probe(&self, container: &ContainerId) {
        if let Some(granted) = self.grants.get(container) {
            let Parts { heard, tasks, .. } = &self.parts;
            containers::probe(granted, heard, tasks);
        }
    }

    /// Orders the launcher in a container something, if it is there. It is lost before an order is.
    pub(crate) fn tell(&self, container: &ContainerId, order: Order) {
        if let Some(link) = self.links.get(container) {
            link.orders.say(order);
        }
    }

    /// Orders every launcher something.
    pub(crate) fn tell_all(&self, order: &Order) {
        for link in self.links.values() {
            link.orders.say(order.clone());
        }
    }

    /// The launcher in a container is to leave, and it is heard when it has.
    pub(crate) fn leave(&self, container: &ContainerId) {
        if let Some(link) = self.links.get(container) {
            link.orders.say_last(Order::Leave(wire::Leave {}));
        }
    }

    /// A launcher that is of no use is to leave, with whatever runs there. Nothing more is heard of it
    /// than that it has, and none may come in its place.
    pub(crate) fn dismiss(&mut self, container: &ContainerId) {
        self.leave(container);
        self.links.remove(container);
        self.parts.tickets.revoke(container);
    }

    /// Nothing more is heard of the launcher in a container, nor may it come again.
    pub(crate) fn let_go(&mut self, container: &ContainerId) {
        if let Some(link) = self.links.remove(container) {
            link.orders.end();
        }
        self.parts.tickets.revoke(container);
    }

    /// Unregisters the application, after what was given back: [`Heard::Finished`] is the last that is
    /// heard. `diagnostics` are for YARN's pages.
    pub(crate) fn finish(&self, status: FinalApplicationStatus, diagnostics: String) {
        self.parts.draft.finish(Finish {
            status,
            diagnostics,
        });
    }

    /// Whether a container is held.
    pub(crate) fn is_granted(&self, container: &ContainerId) -> bool {
        self.grants.contains_key(container)
    }

    /// The launcher in a container, if it is there.
    pub(crate) fn link(&self, container: &ContainerId) -> Option<&Link> {
        self.links.get(container)
    }

    /// All launchers that are there, in the order of their containers.
    pub(crate) fn links(&self) -> impl Iterator<Item = (&ContainerId, &Link)> {
        self.links.iter()
    }

    /// The cluster.
    pub(crate) const fn cluster(&self) -> &Cluster {
        &self.parts.cluster
    }

    /// What the queue still gives this application, as the ResourceManager last said.
    pub(crate) const fn headroom(&self) -> Option<Resources> {
        self.headroom
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.parts.draft.abandon();
    }
}

/// Sixteen random bytes, from the kernel.
fn ticket() -> Vec<u8> {
    let mut ticket = vec![0u8; 16];
    rand::fill(&mut ticket[..]);
    ticket
}
