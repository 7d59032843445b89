//! A driver on file: what is known, and what the policy and the rules around it keep, so that whoever loads it
//! goes on to the same decisions.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::wrapper::{Age, Avoid, Delay, GangScheduling, Priority, Speculate};
use super::{
    Blind, ByDeadline, Capacity, DyScale, Fair, Fifo, Hetero, Hpe, HpeConserve, HpeLiteral, JobIx,
    MapsFast, Nanos, NodeIx, Scheduler, Session, Stage, TaskIx,
};

/// A [`SessionDriver`](super::SessionDriver) between two events.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    pub(super) session: Session,
    pub(super) scheduler: Saved,
}

/// A policy, or a rule around one, with what it keeps between decisions.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Saved {
    /// [`Fifo`].
    Fifo(Fifo),
    /// [`Capacity`].
    Capacity(Capacity),
    /// [`Fair`].
    Fair(Fair),
    /// [`Blind`].
    Blind(Blind),
    /// [`Hetero`].
    Hetero(Hetero),
    /// [`Hpe`].
    Hpe(Hpe),
    /// [`HpeConserve`].
    HpeConserve(HpeConserve),
    /// [`HpeLiteral`].
    HpeLiteral(HpeLiteral),
    /// [`DyScale`], with where attempts run.
    DyScale(Box<DyScale>),
    /// [`MapsFast`].
    MapsFast(MapsFast),
    /// [`Delay`], with its members.
    Delay {
        /// Patience for the node.
        node: Nanos,
        /// Patience for the rack.
        rack: Nanos,
        /// Stages that are passed over.
        #[serde(with = "pairs")]
        passed: BTreeMap<(JobIx, Stage, NodeIx), Nanos>,
        /// The policy inside the rule, with what it keeps.
        inner: Box<Self>,
    },
    /// [`Speculate`], with its members.
    Speculate {
        /// When an attempt is slow.
        factor: u64,
        /// Most copies.
        share: u64,
        /// What is not worth a copy.
        least: Nanos,
        /// When attempts are looked through again.
        look: Nanos,
        /// There are some.
        busy: bool,
        /// The policy inside the rule, with what it keeps.
        inner: Box<Self>,
    },
    /// [`Avoid`], which keeps nothing.
    Avoid {
        /// The policy inside the rule, with what it keeps.
        inner: Box<Self>,
    },
    /// [`ByDeadline`], which keeps nothing.
    ByDeadline {
        /// The policy, which goes by the order of submission.
        inner: Box<Self>,
    },
    /// [`Priority`], with its members.
    Priority {
        /// Whether attempts are ended.
        preempt: bool,
        /// Tasks that lost an attempt.
        ended: BTreeSet<(JobIx, Stage, TaskIx)>,
        /// The policy inside the rule, with what it keeps.
        inner: Box<Self>,
    },
    /// [`Age`], with its members.
    Age {
        /// How long a stage may wait.
        limit: Nanos,
        /// Only those without need of an element.
        plain: bool,
        /// When the next has waited for too long.
        due: Option<Nanos>,
        /// The policy inside the rule, with what it keeps.
        inner: Box<Self>,
    },
    /// [`GangScheduling`], with its members.
    Gang {
        /// For how long slots are held.
        hold: Nanos,
        /// Until when they are.
        until: Option<Nanos>,
        /// Nothing is held before.
        rests: Nanos,
        /// The policy inside the rule, with what it keeps.
        inner: Box<Self>,
    },
}

impl Saved {
    /// The policy as it was.
    #[must_use]
    pub fn scheduler(self) -> Box<dyn Scheduler> {
        match self {
            Self::Fifo(fifo) => Box::new(fifo),
            Self::Capacity(capacity) => Box::new(capacity),
            Self::Fair(fair) => Box::new(fair),
            Self::Blind(blind) => Box::new(blind),
            Self::Hetero(hetero) => Box::new(hetero),
            Self::Hpe(hpe) => Box::new(hpe),
            Self::HpeConserve(conserve) => Box::new(conserve),
            Self::HpeLiteral(literal) => Box::new(literal),
            Self::DyScale(dyscale) => dyscale,
            Self::MapsFast(maps_fast) => Box::new(maps_fast),
            Self::Delay {
                node,
                rack,
                passed,
                inner,
            } => Box::new(Delay {
                node,
                rack,
                inner: inner.scheduler(),
                passed,
            }),
            Self::Speculate {
                factor,
                share,
                least,
                look,
                busy,
                inner,
            } => Box::new(Speculate {
                factor,
                share,
                least,
                inner: inner.scheduler(),
                look,
                busy,
            }),
            Self::Avoid { inner } => Box::new(Avoid {
                inner: inner.scheduler(),
            }),
            Self::ByDeadline { inner } => Box::new(ByDeadline {
                inner: inner.scheduler(),
            }),
            Self::Priority {
                preempt,
                ended,
                inner,
            } => Box::new(Priority {
                preempt,
                inner: inner.scheduler(),
                ended,
            }),
            Self::Age {
                limit,
                plain,
                due,
                inner,
            } => Box::new(Age {
                limit,
                plain,
                due,
                inner: inner.scheduler(),
            }),
            Self::Gang {
                hold,
                until,
                rests,
                inner,
            } => {
                let mut gangs = GangScheduling::new(hold, inner.scheduler());
                gangs.until = until;
                gangs.rests = rests;
                Box::new(gangs)
            }
        }
    }
}

/// Maps as rows of pairs: in JSON and the like only texts and numbers are keys.
pub(super) mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in crate::schedule) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(in crate::schedule) fn deserialize<'de, K, V, D>(
        deserializer: D,
    ) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Ok(Vec::deserialize(deserializer)?.into_iter().collect())
    }
}
