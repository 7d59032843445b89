//! The containers of a session: how many there are, which launchers are awaited or lost, and what YARN wants back.
//!
//! ```text
//! YARN: granted, refused, wanted back, nodes read ─▶ Containers ─▶ Want: ask, start, release, offer, withdraw
//! launchers: joined ───────────────────────────────▶
//!            lost ─▶ settling, for a moment ─▶ replaced on another node, unless YARN says before what became of it
//! jobs lack or use other slots ─▶ resize, after a moment
//! ```

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod pool;
#[cfg(test)]
mod tests;
mod wanted_back;

use std::collections::{BTreeMap, BTreeSet};

use job::SessionPlan;
use policy::gang::{GangEvent, Grant};
use policy::lending::{CoreClass, OfferedSlot};
use policy::{ClusterView, ContainerId, Millis, NodeId, Resources};

use pool::Pool;

pub(crate) use pool::Want;
#[cfg(test)]
pub(crate) use pool::tests::plan;
pub(crate) use wanted_back::{Back, of_containers, of_node};

/// A launcher that is lost has this long until YARN says what became of its container.
const SETTLE: Millis = Millis(3_000);
/// Between a change of what jobs lack and use, and of what is asked of YARN.
const RESIZE: Millis = Millis(200);

/// The containers of a session.
#[derive(Debug)]
pub(crate) struct Containers {
    pool: Pool,
    /// Those whose launchers are lost, until YARN says more.
    settling: BTreeMap<ContainerId, Millis>,
    /// What jobs lack and use has changed: the pool is resized then.
    resize_at: Option<Millis>,
}

impl Containers {
    /// None is asked for yet; `seed` is to differ from that of other sessions.
    pub(crate) fn new(plan: SessionPlan, seed: u64) -> Self {
        Self {
            pool: Pool::new(plan, seed),
            settling: BTreeMap::new(),
            resize_at: None,
        }
    }

    /// The application is registered: the first are asked for.
    pub(crate) fn begin(&mut self, now: Millis) -> Vec<Want> {
        self.pool.begin(now)
    }

    /// The session is over: all that is held goes back.
    pub(crate) fn end(&mut self) -> Vec<Want> {
        self.pool.end()
    }

    /// A container was granted for the request of this number.
    pub(crate) fn granted(&mut self, now: Millis, request: u32, grant: Grant) -> Vec<Want> {
        self.pool.granted(now, request, grant)
    }

    /// The nodes were read, or could not be.
    pub(crate) fn nodes_read(
        &mut self,
        now: Millis,
        view: &Result<ClusterView, String>,
    ) -> Vec<Want> {
        self.pool.snapshot(now, view)
    }

    /// The ResourceManager has taken what is asked of it.
    pub(crate) fn taken(&mut self) {
        self.pool.taken();
    }

    /// The ResourceManager refuses what these requests ask for, again and again.
    pub(crate) fn refused(
        &mut self,
        now: Millis,
        requests: &BTreeSet<u32>,
        words: String,
    ) -> Vec<Want> {
        self.pool.refused(now, requests, words)
    }

    /// The ResourceManager has something new to give, or has forgotten what was asked of it.
    pub(crate) fn all_hear(&mut self, now: Millis, event: &GangEvent) -> Vec<Want> {
        self.pool.all_hear(now, event)
    }

    /// A launcher has joined, whose node offers these devices and classes of cores.
    pub(crate) fn joined(
        &mut self,
        container: &ContainerId,
        devices: BTreeMap<String, u64>,
        cores: &[CoreClass],
    ) -> Vec<Want> {
        self.pool.joined(container, devices, cores)
    }

    /// A launcher has found other devices, or classes of cores, than before: the slots that its container has now.
    pub(crate) fn devices_found(
        &mut self,
        container: &ContainerId,
        devices: &BTreeMap<String, u64>,
        cores: &[CoreClass],
    ) -> Vec<OfferedSlot> {
        self.pool.found(container, !devices.is_empty());
        self.pool.slots(container, devices, cores)
    }

    /// The slots of a container whose node has these devices, and that has these cores of it.
    pub(crate) fn slots(
        &self,
        container: &ContainerId,
        devices: &BTreeMap<String, u64>,
        cores: &[CoreClass],
    ) -> Vec<OfferedSlot> {
        self.pool.slots(container, devices, cores)
    }

    /// The node of a container.
    pub(crate) fn node_of(&self, container: &ContainerId) -> Option<NodeId> {
        self.pool.node_of(container)
    }

    /// A launcher is lost: YARN has a moment to say what became of its container.
    pub(crate) fn launcher_lost(&mut self, now: Millis, container: &ContainerId) {
        self.settling.insert(container.clone(), now.plus(SETTLE));
    }

    /// It is known what became of a container, which is not replaced.
    pub(crate) fn forget(&mut self, container: &ContainerId) {
        self.settling.remove(container);
    }

    /// Another container takes the place of one that is lost; `in_doubt`: on another node.
    pub(crate) fn replace(
        &mut self,
        now: Millis,
        container: &ContainerId,
        in_doubt: bool,
    ) -> Vec<Want> {
        self.settling.remove(container);
        self.pool.lost(now, container, in_doubt)
    }

    /// Those whose launchers are lost and of which YARN has said nothing in time.
    pub(crate) fn settled(&self, now: Millis) -> Vec<ContainerId> {
        let settled = self.settling.iter().filter(|(_, at)| now >= **at);
        settled.map(|(container, _)| container.clone()).collect()
    }

    /// YARN wants a container back, and says what for in `words`. `None`: it is not here, or is leaving already.
    pub(crate) fn wanted_back(
        &mut self,
        now: Millis,
        container: &ContainerId,
        words: &str,
        back: Back,
    ) -> Option<Vec<Want>> {
        let for_others = back == Back::Preempted;
        self.pool.wanted_back(now, container, words, for_others)
    }

    /// What jobs lack or use has changed.
    pub(crate) fn resize_soon(&mut self, now: Millis) {
        if self.pool.is_elastic() || self.pool.is_leaving() {
            self.resize_at.get_or_insert(now.plus(RESIZE));
        }
    }

    /// Holds more of them, or fewer: jobs use these, and lack so many slots; `None`: nothing is asked for, and no idle
    /// one is given back.
    pub(crate) fn resize(
        &mut self,
        now: Millis,
        lacking: Option<u32>,
        used: &BTreeSet<ContainerId>,
    ) -> Vec<Want> {
        self.resize_at = None;
        let mut wants = self.pool.leave(now, used);
        if let Some(lacking) = lacking {
            wants.extend(self.pool.resize(now, lacking, used));
        }
        wants
    }

    /// What is due of the pool alone.
    pub(crate) fn tick(&mut self, now: Millis) -> Vec<Want> {
        match self.pool.wakes_at() {
            Some(at) if now >= at => self.pool.tick(now),
            Some(_) | None => Vec::new(),
        }
    }

    /// Whether [`Containers::resize`] is due; `may_resize`: idle ones may be given back.
    pub(crate) fn is_to_resize(&self, now: Millis, may_resize: bool) -> bool {
        let dues = [self.resize_at, self.idle_until(may_resize)];
        dues.into_iter().flatten().any(|at| now >= at)
    }

    /// What is due when; `may_resize`: idle ones may be given back.
    pub(crate) fn dues(&self, may_resize: bool) -> [(&'static str, Option<Millis>); 4] {
        [
            ("the containers", self.pool.wakes_at()),
            ("how many containers there are", self.resize_at),
            ("idle containers", self.idle_until(may_resize)),
            ("lost launchers", self.settling.values().min().copied()),
        ]
    }

    fn idle_until(&self, may_resize: bool) -> Option<Millis> {
        self.pool.idle_until().filter(|_| may_resize)
    }

    /// What YARN has granted to a container that is started.
    pub(crate) fn granted_to(&self, container: &ContainerId) -> Option<Resources> {
        self.pool.granted_to(container)
    }

    /// What the attributes of a container's node tell of devices.
    pub(crate) fn attributed_to(&self, container: &ContainerId) -> BTreeMap<String, u64> {
        self.pool.attributed_to(container)
    }

    /// Containers whose launchers are not there.
    pub(crate) fn missing(&self) -> u32 {
        self.pool.missing()
    }

    /// No further node is to be expected.
    pub(crate) fn is_complete(&self) -> bool {
        self.pool.is_complete()
    }

    /// What a container is wanted back for; `None`: it stays.
    pub(crate) fn leaves_for(&self, container: &ContainerId) -> Option<&str> {
        self.pool.leaves_for(container)
    }

    /// For questions that change nothing.
    pub(crate) const fn pool(&self) -> &Pool {
        &self.pool
    }
}
