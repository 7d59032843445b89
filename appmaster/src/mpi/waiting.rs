//! Why a job still waits: looked for now and then while it does, and once more when it gives up.

use std::collections::BTreeSet;
use std::time::Duration;

use holding::ApplicationCluster;
use job::explain::{Amount, Missing};
use policy::lifecycle::{Cause, KillReason, Verdict};
use policy::{ClusterView, Millis, NodeView, Resources};

use crate::mpi::Mpi;
use crate::mpi::holders::Holdings;
use crate::mpi::missing;
use crate::work::Do;

/// From the beginning of the waiting to the first look, and between two looks.
const FIRST: Millis = Millis(2_000);
const AGAIN: Millis = Millis(5_000);
/// The same where nobody has asked for every reason: who holds the room is said all the same, but many
/// jobs may wait, and a look is many calls.
const FIRST_UNASKED: Millis = Millis(3_000);
const AGAIN_UNASKED: Millis = Millis(300_000);
/// Each look asks for every node and for what the largest applications hold: a job that waits for long looks
/// after a quarter of that time, and this at the latest.
const LATEST: Millis = Millis(60_000);
/// For the nodes; who holds them has deadlines of its own.
const NODES_DEADLINE: Duration = Duration::from_secs(2);

/// Since when the job waits, and when its reasons were looked for.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    since: Option<Millis>,
    looked: Option<Millis>,
    looking: bool,
    /// Who stands in the way, as it was seen last; empty: not known.
    pub(crate) held: String,
    /// What that look has shown, and whether the queue was named for it.
    seen: Option<Missing>,
    names_queue: bool,
}

impl Watch {
    /// The job waits, now or already.
    pub(crate) fn begin(&mut self, now: Millis) {
        if self.since.is_none() {
            self.since = Some(now);
            self.looked = None;
            self.held.clear();
            self.seen = None;
            self.names_queue = false;
        }
    }

    pub(crate) fn end(&mut self) {
        self.since = None;
    }

    pub(crate) const fn is_waiting(&self) -> bool {
        self.since.is_some()
    }

    /// When to look next; `asked`: every reason is wanted.
    pub(crate) fn due(&self, asked: bool) -> Option<Millis> {
        if self.looking {
            return None;
        }
        let (first, again) = match asked {
            true => (FIRST, AGAIN),
            false => (FIRST_UNASKED, AGAIN_UNASKED),
        };
        let since = self.since?;
        Some(match self.looked {
            None => since.plus(first),
            Some(at) => {
                let waited = Millis(at.0.saturating_sub(since.0) / 4);
                at.plus(waited.min(LATEST).max(again))
            }
        })
    }
}

/// The nodes and who holds them.
#[derive(Debug)]
pub(crate) struct Look {
    /// `None`: they could not be read.
    view: Option<ClusterView>,
    holdings: Holdings,
}

impl Look {
    /// Nothing was looked at.
    pub(crate) fn nothing() -> Self {
        Self {
            view: None,
            holdings: Holdings::default(),
        }
    }

    /// Of nodes that nobody holds.
    #[cfg(test)]
    pub(crate) fn of(view: ClusterView) -> Self {
        Self {
            view: Some(view),
            holdings: Holdings::default(),
        }
    }

    /// Asks the ResourceManager, within deadlines; `awaited`: in passing, and for who holds these nodes alone,
    /// `host:port`.
    pub(crate) async fn take(
        cluster: ApplicationCluster,
        awaited: Option<BTreeSet<String>>,
    ) -> Self {
        let view = cluster.nodes(NODES_DEADLINE).await.ok();
        let used = awaited.map(|awaited| match &view {
            Some(view) => in_use(awaited, view),
            None => awaited,
        });
        let holdings = Holdings::read(cluster.client(), used.as_ref()).await;
        Self { view, holdings }
    }
}

/// Those of `awaited` on which somebody holds something: of a node that is free, as those that stand for a
/// placement often are, nobody can be named however many are asked.
fn in_use(mut awaited: BTreeSet<String>, view: &ClusterView) -> BTreeSet<String> {
    let is_free = |node: &&NodeView| node.used == Resources::default();
    for free in view.nodes.iter().filter(is_free) {
        awaited.remove(&free.id.0);
    }
    awaited
}

impl Mpi {
    /// The reasons of the waiting are looked for.
    pub(crate) fn look_around(&mut self) {
        self.story.watch.looking = true;
        let enough = (!self.story.explain).then(|| {
            let wanted = self.story.wanted().into_iter();
            wanted.map(|wanted| wanted.node.0).collect()
        });
        self.todo.push(Do::LookAround { enough });
    }

    /// What the look showed.
    pub(crate) fn looked(&mut self, look: &Look) {
        let now = self.now;
        let watch = &mut self.story.watch;
        watch.looking = false;
        watch.looked = Some(now);
        if let (true, Some(view)) = (watch.is_waiting(), &look.view) {
            let wanted = self.story.wanted();
            let missing = missing::missing(now, &wanted, view, &look.holdings, self.headroom);
            self.name_causes(&missing);
            self.story.watch.seen = Some(missing.clone());
            self.story.missing(missing);
            self.show_waiting();
        }
    }

    fn name_causes(&mut self, missing: &Missing) {
        let own = self.application();
        let causes = missing::causes(missing, self.limits.counted);
        let watch = &mut self.story.watch;
        watch.names_queue = causes.headroom.is_some();
        watch.held = missing::in_the_way(&causes, &own, self.limits.counted);
    }

    /// The queue gives less or more. Looks are rare: one from before may not have seen that it is in the way. Once that
    /// is told it is not told anew, since how much is left changes all the time.
    pub(crate) fn on_headroom(&mut self, headroom: Resources) {
        self.headroom = Some(headroom);
        let watch = &self.story.watch;
        if !watch.is_waiting() || watch.names_queue {
            return;
        }
        let Some(seen) = watch.seen.clone() else {
            return;
        };
        let wanted = sort::set(self.story.wanted().into_iter().map(|wanted| wanted.node.0));
        let nodes = seen.nodes.into_iter();
        let missing = Missing {
            headroom: Some(Amount::of(headroom, &self.story.types())),
            nodes: nodes.filter(|node| wanted.contains(&node.id)).collect(),
            ..seen
        };
        if missing::causes(&missing, self.limits.counted)
            .headroom
            .is_some()
        {
            self.name_causes(&missing);
            self.show_waiting();
        }
    }

    /// Whether the sentence of the verdict is to say what a job waited for that ended while it did, and who
    /// stands in the way: so it is looked once more. `true`: it names the missing nodes itself.
    pub(crate) fn wants_last_look(&self, verdict: &Verdict) -> Option<bool> {
        let cause = verdict.cause.as_ref();
        let cause = cause.filter(|_| self.story.watch.is_waiting())?;
        let names_nodes = matches!(cause, Cause::NotInTime { .. });
        let waited = matches!(
            cause,
            Cause::NoRoomInTime { .. } | Cause::Killed(KillReason::Interrupted)
        );
        (names_nodes || waited).then_some(names_nodes)
    }

    /// `sentence` with what that look has shown.
    pub(crate) fn with_last_look(
        &self,
        sentence: String,
        verdict: &Verdict,
        look: &Look,
    ) -> String {
        let (Some(names_nodes), Some(view)) = (self.wants_last_look(verdict), &look.view) else {
            return sentence;
        };
        let wanted = self.story.wanted_at_the_end();
        let missing = missing::missing(self.now, wanted, view, &look.holdings, self.headroom);
        let own = self.application();
        let mut held = missing::in_the_way(&missing, &own, self.limits.counted);
        if let (true, Some(words)) = (view.nodes.is_empty(), self.candidates.clone()) {
            // The queue's headroom is no comfort where there are no nodes.
            held = words;
        }
        with_reasons(sentence, &missing, &held, names_nodes)
    }
}

/// `sentence`, and what stood in the way; it may name the missing nodes already.
fn with_reasons(sentence: String, missing: &Missing, held: &str, names_nodes: bool) -> String {
    let mut parts = vec![sentence];
    if !names_nodes && !missing.nodes.is_empty() {
        let nodes = missing::nodes(missing);
        parts.push(match missing.stand_ins {
            true => format!("the freest nodes are {nodes}"),
            false => format!("it waited for {nodes}"),
        });
    }
    if !held.is_empty() {
        parts.push(held.to_owned());
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_begin_after_two_seconds_and_become_rare_while_it_waits() {
        let mut watch = Watch::default();
        assert_eq!(watch.due(true), None);
        watch.begin(Millis(100));
        watch.begin(Millis(700));
        assert_eq!(watch.due(true), Some(Millis(2_100)));
        watch.looking = true;
        assert_eq!(watch.due(true), None);
        (watch.looking, watch.looked) = (false, Some(Millis(2_300)));
        assert_eq!(watch.due(true), Some(Millis(7_300)));
        watch.looked = Some(Millis(60_100));
        assert_eq!(watch.due(true), Some(Millis(75_100)));
        watch.looked = Some(Millis(3_600_100));
        assert_eq!(watch.due(true), Some(Millis(3_660_100)));
        watch.end();
        assert_eq!(watch.due(true), None);
        watch.begin(Millis(9_000));
        assert_eq!(watch.due(true), Some(Millis(11_000)));
        assert_eq!(watch.due(false), Some(Millis(12_000)));
        watch.looked = Some(Millis(12_000));
        assert_eq!(watch.due(false), Some(Millis(312_000)));
    }

    #[test]
    fn nobody_is_asked_who_holds_a_free_node() {
        let node = |host: &str, used_mib| NodeView {
            id: policy::NodeId(format!("{host}:1")),
            used: Resources::new(used_mib, 0),
            ..NodeView::default()
        };
        let view = ClusterView {
            nodes: vec![node("free", 0), node("held", 1024), node("other", 1024)],
            ..ClusterView::default()
        };
        let awaited = |hosts: &[&str]| hosts.iter().map(|host| format!("{host}:1")).collect();
        // One that has gone may come back with what it held.
        let asked = in_use(awaited(&["free", "held", "gone"]), &view);
        assert_eq!(asked, awaited(&["gone", "held"]));
        assert_eq!(in_use(awaited(&["free"]), &view), BTreeSet::new());
    }

    #[test]
    fn a_sentence_that_names_the_nodes_is_not_told_them_again() {
        let missing = Missing {
            at_ms: 0,
            headroom: None,
            nodes: vec![job::explain::MissingNode {
                id: "a:1".into(),
                host: "a".into(),
                ask: Amount {
                    memory_mib: 1024,
                    vcores: 1,
                    ..Amount::default()
                },
                room: None,
                holders: Vec::new(),
                unseen: Amount::default(),
            }],
            stand_ins: false,
            left_out: 0,
            hidden: 0,
            holders_are_partial: false,
        };
        let stand_in = Missing {
            stand_ins: true,
            ..missing.clone()
        };
        assert_eq!(
            with_reasons("no room".into(), &stand_in, "", false),
            "no room; the freest nodes are a (1024 MiB and 1 vcore wanted, the node is gone)"
        );
        assert_eq!(
            with_reasons("interrupted by the user".into(), &missing, "", false),
            "interrupted by the user; it waited for a (1024 MiB and 1 vcore asked for, the node is \
             gone)"
        );
        assert_eq!(
            with_reasons("a did not come".into(), &missing, "bob holds it", true),
            "a did not come; bob holds it"
        );
    }
}
