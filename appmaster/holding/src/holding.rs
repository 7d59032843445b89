//! The containers of one application: what is wanted, granted and running.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, SystemTime};

use job::element::{Scan, Trust};
use job::wire;
use job::wire::launcher_order::Order;
use policy::{ClusterView, ContainerId, NodeId, Resources};
use proto_hadoop::yarn::FinalApplicationStatus;
use tokio_util::task::TaskTracker;

use crate::cluster::ApplicationCluster;
use crate::container_event::{ContainerEvent, ContainerEventSender, Granted};
use crate::containers::{self, LaunchTemplate};
use crate::next_allocate::{Draft, Finish};
use crate::orders::Orders;
use crate::requests::Asking;
use crate::tickets::Tickets;

/// For the ResourceManager's answer to a read of the nodes.
const READ_DEADLINE: Duration = Duration::from_secs(30);

/// A launcher that has joined, as long as it is heard of.
#[derive(Debug)]
pub struct LauncherLink {
    orders: Orders,
    /// What it has found on its node.
    pub node: wire::NodeFacts,
}

/// The containers of one application. Its owner gives it what it hears ([`Holding::hear`]) and says what
/// it wants; nothing of that waits for anybody.
pub struct Holding {
    pub(crate) draft: Draft,
    pub(crate) launch: LaunchTemplate,
    pub(crate) tickets: Tickets,
    pub(crate) heard: ContainerEventSender,
    pub(crate) tasks: TaskTracker,
    pub(crate) cluster: ApplicationCluster,
    pub(crate) registered: SystemTime,
    pub(crate) grants: BTreeMap<ContainerId, Granted>,
    pub(crate) links: BTreeMap<ContainerId, LauncherLink>,
    /// What the queue still gives this application, as the ResourceManager last said.
    pub(crate) headroom: Option<Resources>,
}

impl fmt::Debug for Holding {
    /// Without the secrets of containers that are to be started.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holding")
            .field("grants", &self.grants.keys())
            .field("links", &self.links.keys())
            .finish_non_exhaustive()
    }
}

impl Holding {
    /// Launchers that are started from now on look for elements, and tell of them.
    pub fn scan(&mut self, scan: Scan, trust: Trust) {
        self.launch.scan = Some((scan, trust));
    }

    /// Launchers that are started from now on end what makes a disk fuller than so many hundredths; 0: nothing.
    pub fn leave_disks_at(&mut self, percent: u8) {
        self.launch.disk_percent = percent;
    }

    /// Keeps its books by what is heard, in the order in which it is; `None` where that is of no concern
    /// to the owner.
    pub fn hear(&mut self, heard: ContainerEvent) -> Option<ContainerEvent> {
        match heard {
            ContainerEvent::Granted(granted) => {
                for granted in &granted {
                    let container = ContainerId(granted.container.id.to_string());
                    self.grants.insert(container, granted.clone());
                }
                Some(ContainerEvent::Granted(granted))
            }
            ContainerEvent::Ended { ref container, .. } => {
                if let Some(link) = self.links.get(container) {
                    // Without a link it does not come by another.
                    link.orders.container_ended();
                }
                Some(heard)
            }
            ContainerEvent::Joined {
                container,
                orders,
                node,
            } => {
                let link = LauncherLink {
                    orders: orders.clone(),
                    node: node.clone(),
                };
                self.links.insert(container.clone(), link);
                if !self.is_granted(&container) {
                    // Given back while it was on its way here.
                    self.dismiss(&container);
                    return None;
                }
                Some(ContainerEvent::Joined {
                    container,
                    orders,
                    node,
                })
            }
            ContainerEvent::Cut => {
                // Most often it is dead, and YARN will soon say so.
                self.hurry();
                Some(ContainerEvent::Cut)
            }
            ContainerEvent::Lost(container) => {
                self.let_go(&container);
                Some(ContainerEvent::Lost(container))
            }
            ContainerEvent::Headroom(headroom) => {
                let before = self.headroom.replace(headroom).unwrap_or_default();
                (headroom.memory > before.memory).then_some(ContainerEvent::Freed)
            }
            ContainerEvent::Nodes(Ok(mut view)) => {
                view.queue.headroom = self.believed_headroom(&view);
                view.queue.names_no_room = self.names_no_room(&view);
                view.queue.named = self.headroom.filter(|_| view.queue.maximum.is_none());
                Some(ContainerEvent::Nodes(Ok(view)))
            }
            ContainerEvent::ResourceManagerRestarted { maximum } => {
                // Its settings, or its nodes, may be others.
                if let Some(maximum) = maximum {
                    self.cluster.grants_at_most(maximum);
                }
                Some(heard)
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

    /// Whether the queue has named no room of late, where its word counts: it is full, or it has not counted yet.
    fn names_no_room(&self, view: &ClusterView) -> bool {
        let none = self.headroom.is_some_and(|headroom| headroom.memory.0 == 0);
        none && view.queue.maximum.is_some()
    }

    /// Reads the nodes: [`ContainerEvent::Nodes`], after what has been granted until then.
    pub fn read_nodes(&self) {
        let (cluster, draft) = (self.cluster.clone(), self.draft.clone());
        let reading = async move { draft.read(cluster.nodes(READ_DEADLINE).await) };
        self.tasks.spawn(reading);
    }

    /// Replaces what is asked for by `request`, a number that the owner chooses: what others ask for
    /// stands.
    pub fn ask(&self, request: u32, asking: &Asking) {
        self.draft.ask(request, asking);
    }

    /// Gives containers back; launchers there are to leave.
    pub fn release(&mut self, containers: &[ContainerId]) {
        for container in containers {
            self.dismiss(container);
        }
        let released = containers.iter().filter_map(|id| self.grants.remove(id));
        let ids: Vec<_> = released.map(|granted| granted.container.id).collect();
        self.draft.release(&ids);
    }

    /// Something is about to be heard of the ResourceManager: it is asked more often until containers are
    /// asked for.
    pub fn hurry(&self) {
        self.draft.hurry();
    }

    /// What YARN is told of the application's progress, in thousandths.
    pub fn progress(&self, thousandths: u16) {
        self.draft.progress(thousandths);
    }

    /// Starts a launcher in a container: it joins, or [`ContainerEvent::StartFailed`].
    pub fn start(&self, container: &ContainerId) {
        if let Some(granted) = self.grants.get(container) {
            let ticket = ticket();
            self.tickets.issue(container.clone(), ticket.clone());
            let Self { heard, tasks, .. } = self;
            self.launch.start(granted, &ticket, heard, tasks);
        }
    }

    /// Asks the node of a container whether it is still being localized: [`ContainerEvent::Localizing`], or
    /// nothing.
    pub fn probe(&self, container: &ContainerId) {
        if let Some(granted) = self.grants.get(container) {
            let Self { heard, tasks, .. } = self;
            containers::probe(granted, heard, tasks);
        }
    }

    /// Orders the launcher in a container something, if it is there. It is lost before an order is.
    pub fn tell(&self, container: &ContainerId, order: Order) {
        if let Some(link) = self.links.get(container) {
            link.orders.say(order);
        }
    }

    /// Orders every launcher something.
    pub fn tell_all(&self, order: &Order) {
        for link in self.links.values() {
            link.orders.say(order.clone());
        }
    }

    /// The launcher in a container is to leave, and it is heard when it has.
    pub fn leave(&self, container: &ContainerId) {
        if let Some(link) = self.links.get(container) {
            link.orders.say_last(Order::Leave(wire::Leave {}));
        }
    }

    /// A launcher that is of no use is to leave, with whatever runs there. Nothing more is heard of it
    /// than that it has, and none may come in its place.
    pub fn dismiss(&mut self, container: &ContainerId) {
        self.leave(container);
        self.links.remove(container);
        self.tickets.revoke(container);
    }

    /// A job is over in a container: its output and input there are.
    pub fn forget(&self, container: &ContainerId, job: u32) {
        self.tickets.forget(container, job);
    }

    /// Nothing more is heard of the launcher in a container, nor may it come again.
    pub fn let_go(&mut self, container: &ContainerId) {
        if let Some(link) = self.links.remove(container) {
            link.orders.end();
        }
        self.tickets.revoke(container);
    }

    /// Unregisters the application, after what was given back: [`ContainerEvent::Finished`] is the last that is
    /// heard. `diagnostics` are for YARN's pages.
    pub fn finish(&self, status: FinalApplicationStatus, diagnostics: String) {
        self.draft.finish(Finish {
            status,
            diagnostics,
        });
    }

    /// The containers that are held on a node.
    #[must_use]
    pub fn on_node(&self, node: &NodeId) -> Vec<ContainerId> {
        let there = self.grants.iter();
        let there = there.filter(|(_, granted)| granted.container.node.to_string() == node.0);
        there.map(|(container, _)| container.clone()).collect()
    }

    /// The host of a container that is held, as its node registered it.
    #[must_use]
    pub fn host_of(&self, container: &ContainerId) -> Option<String> {
        let granted = self.grants.get(container)?;
        Some(granted.container.node.host.clone())
    }

    /// Whether a container is held.
    #[must_use]
    pub fn is_granted(&self, container: &ContainerId) -> bool {
        self.grants.contains_key(container)
    }

    /// The launcher in a container, if it is there.
    #[must_use]
    pub fn link(&self, container: &ContainerId) -> Option<&LauncherLink> {
        self.links.get(container)
    }

    /// All launchers that are there, in the order of their containers.
    pub fn links(&self) -> impl Iterator<Item = (&ContainerId, &LauncherLink)> {
        self.links.iter()
    }

    /// When the ResourceManager took the registration.
    #[must_use]
    pub const fn registered(&self) -> SystemTime {
        self.registered
    }

    /// The cluster.
    #[must_use]
    pub const fn cluster(&self) -> &ApplicationCluster {
        &self.cluster
    }

    /// What the queue still gives this application, as the ResourceManager last said.
    #[must_use]
    pub const fn headroom(&self) -> Option<Resources> {
        self.headroom
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.draft.abandon();
    }
}

/// Sixteen random bytes, from the kernel.
fn ticket() -> Vec<u8> {
    let mut ticket = vec![0u8; 16];
    rand::fill(&mut ticket[..]);
    ticket
}

#[cfg(test)]
mod tests;
