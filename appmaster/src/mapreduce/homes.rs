//! Homes of partitions: launchers that gather the input of reduces while maps still run, without a slot.
//!
//! Where a home is, the session's policy says; what it is to bring it is told once in a while, as maps end. What it has
//! are copies: the reduce has a place there by preference, fetches what it does not find, and everything anywhere else.
//! A home that lags, or has no room, is exchanged for another, which fetches anew where maps have left it.

use std::collections::{BTreeMap, BTreeSet};

use gerbil_task::add;
use job::explain::{HomeMoved, WhyMoved};
use job::wire;
use job::wire::task_order::Order;
use policy::lending::{Home, TaskInput};
use policy::mapreduce::gathering::{Gathering, Move, MoveReason};
use policy::schedule::{ContainerIx, TaskIx};
use policy::{ContainerId, Millis};

use super::{ContainerUse, LifeState, MapReduce, MapReduceEffect};

/// Between two orders to gather: maps that end meanwhile are fetched together.
const PAUSE: Millis = Millis(1_000);
/// Where is counted what Hadoop has no counter for.
const GROUP: &str = "gerbil";

/// Where partitions are gathered, and what was done about it.
#[derive(Debug, Default)]
pub(super) struct Homes {
    of: BTreeMap<u32, At>,
    /// Homes are told then what maps have left.
    at: Option<Millis>,
    /// Bytes that maps have left so far.
    left: u64,
    /// How far homes are.
    gathering: Gathering,
    /// What moves, when there is another home for it.
    moving: BTreeMap<u32, Move>,
}

/// The home of a partition.
#[derive(Debug)]
struct At {
    container: ContainerId,
    host: String,
    /// The last output of a map that it was told of.
    told: u64,
    /// Bytes that it has gathered.
    bytes: u64,
}

impl Homes {
    pub(super) fn wakes_at(&self) -> Option<Millis> {
        self.at.into_iter().chain(self.gathering.wakes_at()).min()
    }

    /// A container is gone, with what it had gathered.
    pub(super) fn lose(&mut self, container: &ContainerId) {
        self.of.retain(|_, home| home.container != *container);
        self.gathering.lose(container);
    }

    /// What a reduce is told to read, as far as it matters where: at home, if it has one.
    pub(super) fn input(&self, partition: u32) -> TaskInput {
        let home = self.of.get(&partition).filter(|home| home.bytes > 0);
        home.map_or_else(TaskInput::default, |home| TaskInput {
            hosts: vec![home.host.clone()],
            bytes: home.bytes,
        })
    }
}

impl MapReduce {
    /// A map has left so many bytes for reduces.
    pub(super) fn has_left(&mut self, bytes: u64) {
        self.homes.left = self.homes.left.saturating_add(bytes);
        if self.is_early() {
            self.homes.at.get_or_insert(self.now.plus(PAUSE));
        }
    }

    /// What `count` reduces read, that may start from now on.
    pub(super) fn reduce_inputs(&mut self, count: u32) -> Vec<TaskInput> {
        let first = self.reduces_told;
        self.reduces_told = first.saturating_add(count);
        let tasks = (first..self.reduces_told).map(TaskIx);
        let partitions = tasks.map(|task| self.machine.partition(task));
        let inputs = partitions.map(|of| of.map(|of| self.homes.input(of)).unwrap_or_default());
        inputs.collect()
    }

    /// Has what maps have left gathered, where that is due and maps still run: after the last one reduces fetch it.
    pub(super) fn gather_ahead(&mut self) {
        if !self.is_early() || !matches!(self.step, LifeState::Running) {
            self.homes.at = None;
            return self.homes.gathering.ends();
        }
        self.move_partitions();
        if self.homes.at.is_none_or(|at| self.now < at) {
            return;
        }
        self.homes.at = None;
        let (reduces, bytes) = (self.description.reduces, self.average());
        let homeless = (0..reduces).filter(|partition| !self.homes.of.contains_key(partition));
        let homeless: Vec<(u32, u64)> = homeless.map(|partition| (partition, bytes)).collect();
        if homeless.is_empty() {
            return self.tell_homes();
        }
        let mut among = self.may_be_homes();
        among.retain(|container| self.homes.gathering.may_be_home(container));
        self.want(MapReduceEffect::Homes {
            partitions: homeless,
            among,
        });
    }

    /// Looks for other homes for partitions whose homes lag.
    fn move_partitions(&mut self) {
        if self
            .homes
            .gathering
            .wakes_at()
            .is_none_or(|at| self.now < at)
        {
            return;
        }
        let among = self.may_be_homes();
        let moves = self.homes.gathering.moves(self.now, &among);
        if moves.partitions.is_empty() {
            return;
        }
        let bytes = self.average();
        let partitions = moves.partitions.iter().map(|of| (of.partition, bytes));
        self.want(MapReduceEffect::Homes {
            partitions: partitions.collect(),
            among: moves.among,
        });
        let moving = moves.partitions.into_iter().map(|of| (of.partition, of));
        self.homes.moving = moving.collect();
    }

    /// Containers that have the job's files and do well.
    fn may_be_homes(&self) -> BTreeSet<ContainerId> {
        let joined = self.places.iter();
        let may = joined.filter(|(container, place)| {
            let known = self.known.get(*container);
            **place == ContainerUse::Joined && !known.is_some_and(|of| self.is_bad(*of))
        });
        may.map(|(container, _)| container.clone()).collect()
    }

    /// About how many bytes a partition has so far.
    fn average(&self) -> u64 {
        let reduces = u64::from(self.description.reduces.max(1));
        self.homes
            .left
            .checked_div(reduces)
            .unwrap_or_default()
            .max(1)
    }

    /// Not every map has ended yet, so that no reduce has begun.
    fn is_early(&self) -> bool {
        self.reduces_told == 0 && self.outputs.len() < self.description.splits.len()
    }

    fn is_bad(&self, place: ContainerIx) -> bool {
        self.faulty.contains(&place)
    }

    /// These are homes from now on.
    pub(super) fn have_homes(&mut self, homes: Vec<Home>) {
        for Home {
            partition,
            container,
            host,
        } in homes
        {
            if self.places.get(&container) == Some(&ContainerUse::Joined) {
                self.homes.gathering.begins(partition, container.clone());
                let home = At {
                    container,
                    host: host.clone(),
                    told: 0,
                    bytes: 0,
                };
                let before = self.homes.of.insert(partition, home);
                if let Some((before, of)) = before.zip(self.homes.moving.remove(&partition)) {
                    self.has_moved(&of, before.host, host);
                }
            }
        }
        self.homes.moving.clear();
        self.tell_homes();
    }

    /// A partition is gathered elsewhere from now on.
    fn has_moved(&mut self, of: &Move, from: String, to: String) {
        let partition = of.partition;
        tracing::info!("partition {partition} is gathered on {to} and not on {from}: {of:?}");
        self.count_own("HOMES_MOVED", 1);
        self.explain_moved(HomeMoved {
            at_ms: self.now.0,
            job: self.orders.job().to_owned(),
            partition,
            from,
            to,
            why: match of.why {
                MoveReason::Lags => WhyMoved::Lags,
                MoveReason::Full => WhyMoved::Full,
            },
            lacks_bytes: of.lacks,
            behind_ms: of.behind.0,
        });
    }

    /// Tells each home what it has not been told of: once for all partitions that have the same to be told.
    fn tell_homes(&mut self) {
        let mut alike: BTreeMap<(ContainerId, u64), Vec<u32>> = BTreeMap::new();
        for (partition, home) in &mut self.homes.of {
            let key = (home.container.clone(), home.told);
            alike.entry(key).or_default().push(*partition);
            home.told = self.outputs_made;
        }
        for ((to, told), partitions) in alike {
            if let Some(order) = self.gather_order(&to, told, partitions) {
                let outputs = super::count(order.sources.len());
                let each = self.average().checked_div(self.outputs_made);
                let bytes = each.unwrap_or_default().saturating_mul(outputs.into());
                for partition in &order.partitions {
                    let gathering = &mut self.homes.gathering;
                    gathering.told(self.now, *partition, outputs, bytes);
                }
                let order = Box::new(Order::Gather(order));
                self.want(MapReduceEffect::Tell { to, order });
            }
        }
    }

    /// To bring to `home` what maps have left elsewhere since the output `told`; `None`: nothing.
    fn gather_order(
        &self,
        home: &ContainerId,
        told: u64,
        partitions: Vec<u32>,
    ) -> Option<wire::GatherAhead> {
        let (mut launchers, mut sources) = (Vec::new(), Vec::new());
        for (map, output) in &self.outputs {
            let is_elsewhere = output.container != *home && !self.is_bad(output.place);
            if output.number <= told || !is_elsewhere {
                continue;
            }
            let known = launchers.iter().position(|of| *of == output.address);
            let place = known.unwrap_or_else(|| {
                launchers.push(output.address.clone());
                launchers.len().saturating_sub(1)
            });
            sources.push(wire::MapLeft {
                map: map.0,
                output: output.attempt.0,
                kept_by: super::count(place).saturating_add(1),
            });
        }
        (!sources.is_empty()).then(|| wire::GatherAhead {
            partitions,
            welcome: self.orders.welcome().to_owned(),
            launchers,
            sources,
        })
    }

    /// A home tells what it has.
    pub(super) fn gathered_ahead(&mut self, home: &ContainerId, gathered: &wire::GatheredAhead) {
        let is_early = self.is_early();
        let mut more = 0_u64;
        if gathered.is_full {
            self.homes.gathering.is_full(home);
        }
        let far = gathered.coming.iter().zip(&gathered.handled);
        let far = far.map(Some).chain(std::iter::repeat(None));
        for ((partition, bytes), far) in gathered.partitions.iter().zip(&gathered.bytes).zip(far) {
            if let Some(at) = self.homes.of.get_mut(partition)
                && at.container == *home
            {
                more = more.saturating_add(bytes.saturating_sub(at.bytes));
                at.bytes = *bytes;
            }
            if let Some((coming, handled)) = far {
                let bytes = bytes.saturating_add(*coming);
                let gathering = &mut self.homes.gathering;
                gathering.seen(home, *partition, *handled, bytes);
            }
        }
        if is_early {
            self.count_own("GATHERED_AHEAD_BYTES", more);
        }
    }

    /// Counts something; nothing is not counted.
    pub(super) fn count_own(&mut self, counter: &str, count: u64) {
        if count > 0 {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            let one = [(counter.to_owned(), count)].into();
            add(&mut self.counters, [(GROUP.to_owned(), one)].into());
        }
    }
}
