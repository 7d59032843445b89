//! Asks a policy for decisions until it has none, and keeps it honest.

use std::collections::BTreeSet;
use std::ops::Range;

use super::element::has_element;
use super::legal::legal;
use super::parked::with_places;
use super::record::{RecordLine, What};
use super::{
    AttemptIx, By, Decision, Event, JobIx, Nanos, NodeIx, Owner, Saved, Session, Share, Snapshot,
    Speed,
};

/// One policy's way of choosing between jobs.
pub trait Scheduler: std::fmt::Debug + Send + Sync {
    /// The policy that a rule goes around; none of a policy.
    fn inner(&self) -> Option<&dyn Scheduler> {
        None
    }

    /// The same, to be told and asked.
    fn inner_mut(&mut self) -> Option<&mut dyn Scheduler> {
        None
    }

    /// What happened. A policy keeps only what `session` does not show: skips, ages.
    fn hear(&mut self, now: Nanos, session: &Session, event: &Event) {
        if let Some(inner) = self.inner_mut() {
            inner.hear(now, session, event);
        }
    }

    /// The next decision at `node`, or one for the whole session. It is applied before the next is asked.
    fn next(&mut self, now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision>;

    /// Where a partition of so many bytes is gathered.
    fn home(
        &mut self,
        now: Nanos,
        session: &Session,
        job: JobIx,
        partition: u32,
        bytes: u64,
    ) -> Option<NodeIx> {
        match self.inner_mut() {
            Some(inner) => inner.home(now, session, job, partition, bytes),
            None => super::home(session),
        }
    }

    /// What whoever owns `job` has of what is meant for it: of two jobs the one with less is served first, among
    /// equals the one that was submitted first. Nothing of anybody where the policy does not share out.
    fn standing(&self, session: &Session, job: JobIx) -> Share {
        let nothing = Share { part: 0, whole: 1 };
        self.inner()
            .map_or(nothing, |inner| inner.standing(session, job))
    }

    /// Whether all of `job` may start at once, by what its owner has already.
    fn lets(&self, session: &Session, job: JobIx) -> bool {
        self.inner().is_none_or(|inner| inner.lets(session, job))
    }

    /// The queues that jobs may name; `None`: any.
    fn queues(&self) -> Option<Vec<&str>> {
        self.inner()?.queues()
    }

    /// Among whom it shares out; `None`: it looks at jobs alone.
    fn shares_among(&self) -> Option<By> {
        self.inner()?.shares_among()
    }

    /// The first time after `asked`, when it was last asked, at which it wants to be asked again if nothing happens
    /// before. What was due by then has had its turn: named once more, it would wake the session for ever.
    fn wakes_at(&self, asked: Nanos) -> Option<Nanos> {
        self.inner()?.wakes_at(asked)
    }

    /// Whether it asks for the job with the [fewest attempts under way](Session::fewest_running): jobs are kept in that
    /// order for whoever does.
    fn goes_by_running(&self) -> bool {
        self.inner().is_some_and(|inner| inner.goes_by_running())
    }

    /// Whether the [turn](super::Job::seq) of a job is that of its deadline, and not of its submission.
    fn goes_by_deadline(&self) -> bool {
        self.inner().is_some_and(|inner| inner.goes_by_deadline())
    }

    /// Whether it may have something now for a node where nothing is pending for any free slot, such as a copy of what runs
    /// elsewhere. Such nodes are many, and are left out otherwise.
    fn looks_everywhere(&self, now: Nanos) -> bool {
        self.inner().is_none_or(|inner| inner.looks_everywhere(now))
    }

    /// Whether a decision for one node may make way for one at another that had none: the next job of a line whose first
    /// found no room there. Such nodes are asked again.
    fn asks_again(&self) -> bool {
        self.inner().is_some_and(|inner| inner.asks_again())
    }

    /// Hundredths of a place for stopped attempts that a container has for each of its fast slots.
    fn parks(&self) -> u64 {
        self.inner().map_or(0, |inner| inner.parks())
    }

    /// The speed of the slots that jobs of a queue, with so many tasks, have before others; `None`: none.
    fn own_speed(&self, queue: &str, tasks: u32) -> Option<Speed> {
        self.inner()?.own_speed(queue, tasks)
    }

    /// Whether it knows of no elements, and starts tasks on nodes that lack theirs, where they fail.
    fn is_blind(&self) -> bool {
        self.inner().is_some_and(|inner| inner.is_blind())
    }

    /// The policy as it can be kept on file; nothing of one that cannot.
    fn saved(&self) -> Option<Saved> {
        None
    }
}

/// A session, and the policy that decides for it. The ApplicationMaster and the simulator each own one.
#[derive(Debug)]
pub struct SessionDriver {
    session: Session,
    scheduler: Box<dyn Scheduler>,
    /// When the policy was last asked.
    asked: Nanos,
    refused: Vec<Illegal>,
    /// How often the policy was asked.
    asks: u64,
    /// What was told and decided since it was last taken; `None`: it is not recorded.
    record: Option<Vec<RecordLine>>,
}

/// A decision, and the attempts that it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The decision.
    pub decision: Decision,
    /// Of a start and a copy one, of a gang as many as ranks, in the order of its slots; none of all others.
    begun: Range<u32>,
}

impl Decided {
    /// The attempts that it begins.
    pub fn attempts(&self) -> impl Iterator<Item = AttemptIx> + use<> {
        self.begun.clone().map(AttemptIx)
    }
}

/// A decision that cannot be carried out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Illegal {
    /// What was decided.
    pub decision: Decision,
    /// What is wrong with it.
    pub why: String,
}

impl SessionDriver {
    /// A new session under `scheduler`.
    #[must_use]
    pub fn new(scheduler: Box<dyn Scheduler>) -> Self {
        Self {
            session: Session::ordered(scheduler.goes_by_running(), scheduler.goes_by_deadline()),
            scheduler,
            asked: Nanos(0),
            refused: Vec::new(),
            asks: 0,
            record: None,
        }
    }

    /// What [`load`](Self::load) makes this driver of again; nothing where the policy cannot be saved. Decisions
    /// that could not be carried out are not in it.
    #[must_use]
    pub fn snapshot(&self) -> Option<Snapshot> {
        Some(Snapshot {
            session: self.session.clone(),
            scheduler: self.scheduler.saved()?,
        })
    }

    /// The driver that a snapshot was taken of: the same events lead it to the same decisions.
    #[must_use]
    pub fn load(snapshot: Snapshot) -> Self {
        Self {
            asked: snapshot.session.now(),
            session: snapshot.session,
            scheduler: snapshot.scheduler.scheduler(),
            refused: Vec::new(),
            asks: 0,
            record: None,
        }
    }

    /// What is known.
    #[must_use]
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// The queues that jobs may name; `None`: any.
    #[must_use]
    pub fn queues(&self) -> Option<Vec<&str>> {
        self.scheduler.queues()
    }

    /// The queue or user that a job is of, where the policy shares out among them.
    #[must_use]
    pub fn owner_of(&self, tenant: &str, queue: &str) -> Option<Owner> {
        match self.scheduler.shares_among()? {
            By::Tenant => Some(Owner::Tenant(tenant.to_owned())),
            By::Queue => Some(Owner::Queue(queue.to_owned())),
            By::Job => None,
        }
    }

    /// Whether its policy goes by the deadlines of jobs.
    #[must_use]
    pub fn goes_by_deadline(&self) -> bool {
        self.scheduler.goes_by_deadline()
    }

    /// The speed of the slots that jobs of a queue, with so many tasks, have before others; `None`: its policy does not
    /// tell slots apart.
    #[must_use]
    pub fn own_speed(&self, queue: &str, tasks: u32) -> Option<Speed> {
        self.scheduler.own_speed(queue, tasks)
    }

    /// Whether its policy knows of no elements.
    #[must_use]
    pub fn is_blind(&self) -> bool {
        self.scheduler.is_blind()
    }

    /// Decisions that could not be carried out since this was last called: faults of the policy.
    pub fn refused(&mut self) -> Vec<Illegal> {
        std::mem::take(&mut self.refused)
    }

    /// How often the policy was asked so far: for one node, or for the whole session.
    #[must_use]
    pub const fn asks(&self) -> u64 {
        self.asks
    }

    /// When to tell [`Event::Wake`], if nothing happens before: always after the policy was last asked.
    #[must_use]
    pub fn wakes_at(&self) -> Option<Nanos> {
        let both = self
            .scheduler
            .wakes_at(self.asked)
            .into_iter()
            .chain(self.session.first_hold_ends());
        both.min()
    }

    /// From now on what is told and decided is recorded, to be [taken](Self::take_record).
    pub fn record(&mut self) {
        self.record.get_or_insert_default();
    }

    /// What was told and decided since this was last called, where it is [recorded](Self::record).
    pub fn take_record(&mut self) -> Vec<RecordLine> {
        self.record.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Nothing is recorded any more.
    pub fn record_no_more(&mut self) {
        self.record = None;
    }

    /// Takes what happened into account, and decides.
    pub fn happened(&mut self, now: Nanos, event: &Event) -> Vec<Decision> {
        self.tell(now, event);
        self.decide(now)
    }

    /// Takes what happened into account, and leaves deciding for later: several events of one moment.
    ///
    /// The slots of a container are told without places for stopped attempts: the policy says how many there are.
    pub fn tell(&mut self, now: Nanos, event: &Event) {
        let event = &*with_places(event, self.scheduler.parks());
        if let Some(record) = &mut self.record {
            let what = What::Told(event.clone());
            record.push(RecordLine { at: now, what });
        }
        self.apply(now, event);
    }

    fn apply(&mut self, now: Nanos, event: &Event) {
        self.session.apply(now, event);
        self.scheduler.hear(now, &self.session, event);
    }

    /// Upon what was told last the policy is asked.
    fn record_asked(&mut self, now: Nanos) {
        let Some(record) = &mut self.record else {
            return;
        };
        match record.last_mut() {
            Some(RecordLine { at, what }) if *at == now => {
                if let What::Told(event) = what {
                    *what = What::Event(event.clone());
                    return;
                }
            }
            Some(_) | None => {}
        }
        let what = What::Asked(());
        record.push(RecordLine { at: now, what });
    }

    /// Where a partition of so many bytes is gathered, as its policy says: that node is reckoned to have them from now
    /// on.
    pub fn home(&mut self, now: Nanos, job: JobIx, partition: u32, bytes: u64) -> Option<NodeIx> {
        let node = self
            .scheduler
            .home(now, &self.session, job, partition, bytes)?;
        let gathered = Event::Gathered {
            job,
            partition,
            node,
            bytes,
        };
        self.tell(now, &gathered);
        Some(node)
    }

    /// Nodes with free slots by number, one decision each, so that work spreads, until a round has none; then for
    /// the whole session, until there is none. Nodes that have an element come after all others have as much as
    /// they take, so that what needs none leaves them free, unless the policy knows of no elements. A node without
    /// a decision is not asked again before something happens, unless the policy says that others make way. Nodes without
    /// elements are not asked where all that is pending needs some.
    pub fn decide(&mut self, now: Nanos) -> Vec<Decision> {
        let decided = self.decide_attempts(now).into_iter();
        decided.map(|one| one.decision).collect()
    }

    /// The same, with the attempts that each decision begins.
    pub fn decide_attempts(&mut self, now: Nanos) -> Vec<Decided> {
        self.asked = now;
        self.record_asked(now);
        let mut decisions = Vec::new();
        let tells_apart = !self.scheduler.is_blind();
        let everywhere = self.scheduler.looks_everywhere(now);
        let special = |session: &Session, node| tells_apart && has_element(session, node);
        loop {
            let before = decisions.len();
            if everywhere || !tells_apart || self.session.needs_plain_nodes() {
                self.rounds(now, &mut decisions, |session, node| !special(session, node));
            }
            self.rounds(now, &mut decisions, special);
            if decisions.len() == before || !self.scheduler.asks_again() {
                break;
            }
        }
        while self.ask(now, None, &mut decisions) {}
        decisions
    }

    /// Asks the nodes that `are` meant in turn, until none has a decision. Whether a gang starts does not depend on the
    /// node: while nothing has happened since one was asked, no other is asked for gangs alone.
    fn rounds(
        &mut self,
        now: Nanos,
        decisions: &mut Vec<Decided>,
        are: impl Fn(&Session, NodeIx) -> bool,
    ) {
        let everywhere = self.scheduler.looks_everywhere(now);
        let next = |session: &Session, after, gangs| match everywhere {
            true => session.free_node_after(after),
            false => session.open_node_after(after, gangs),
        };
        let again = self.scheduler.asks_again();
        let mut silent = BTreeSet::new();
        let mut gangs = true;
        loop {
            let before = decisions.len();
            let mut at = next(&self.session, None, gangs);
            while let Some(node) = at {
                if !silent.contains(&node) && are(&self.session, node) {
                    gangs = self.ask(now, Some(node), decisions);
                    if !gangs {
                        silent.insert(node);
                    }
                }
                at = next(&self.session, Some(node), gangs);
            }
            if decisions.len() == before {
                break;
            }
            if again {
                silent.clear();
            }
        }
    }

    fn ask(&mut self, now: Nanos, node: Option<NodeIx>, decisions: &mut Vec<Decided>) -> bool {
        self.asks = self.asks.saturating_add(1);
        let Some(decision) = self.scheduler.next(now, &self.session, node) else {
            return false;
        };
        let blind = self.scheduler.is_blind();
        if let Err(why) = legal(&self.session, &decision, blind) {
            self.refused.push(Illegal { decision, why });
            return false;
        }
        let first = self.session.next_attempt();
        self.apply(now, &Event::Ordered(decision.clone()));
        if let Some(record) = &mut self.record {
            let what = What::Decision(decision.clone());
            record.push(RecordLine { at: now, what });
        }
        let begun = first.0..self.session.next_attempt().0;
        decisions.push(Decided { decision, begun });
        true
    }
}
