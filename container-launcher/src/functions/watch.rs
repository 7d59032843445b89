//! What the driver of the node leases, looked at again and again; what it refuses is none.

use std::collections::BTreeMap;
use std::future::pending;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use job::element::{Element, ElementKind};
use job::wire::FunctionLoad;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::load::SeenBoards;
use super::{LOOK, LOOK_IN_USE, SeenDriver, TYPE, looked_at, socket};

/// Refusals in a row after which the driver is not asked for a function any more, until it says something else.
const REFUSED_MAX: u32 = 3;

/// What the driver leases, as it was seen last.
#[derive(Debug)]
pub(crate) struct FunctionWatch {
    root: PathBuf,
    known: Vec<Element>,
    /// There was a driver, or a task wanted one: that there is none is said.
    is_wanted: bool,
    due: Instant,
    asking: JoinSet<SeenDriver>,
    /// What boards said of themselves.
    seen: SeenBoards,
    /// What they have to do, and is to be told.
    loads: Vec<FunctionLoad>,
    /// A loss was told, and what is there now was not.
    looks_again: bool,
    /// By the names of functions.
    refused: BTreeMap<String, RefusedFunction>,
}

/// A function that the driver says it has, and does not lease.
#[derive(Debug)]
struct RefusedFunction {
    /// In a row.
    times: u32,
    /// The driver's last words.
    why: String,
    /// What the driver said it has.
    of: Element,
    /// The driver's socket: another one is another driver's.
    driver: Option<u64>,
}

impl RefusedFunction {
    fn is_off(&self) -> bool {
        self.times >= REFUSED_MAX
    }

    /// Why there is none.
    fn sentence(&self) -> String {
        match self.is_off() {
            true => format!(
                "fpgad refused it {} times, the last time: {}; it is asked again when it is started anew",
                self.times, self.why
            ),
            false => format!(
                "fpgad refused it: {}; looked at again in {} s",
                self.why,
                LOOK.as_secs()
            ),
        }
    }
}

/// Why a task has no device, or has it no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Its lease was over before it was.
    Ended,
    /// Others hold them, and none came free in time.
    Taken,
    /// The driver gives none, though it says that it has some.
    Refused(String),
}

impl FunctionWatch {
    /// On the machine below `root`, with what was found there at once.
    pub(crate) fn new(root: &Path, known: Vec<Element>) -> Self {
        Self {
            root: root.to_owned(),
            is_wanted: !known.is_empty(),
            known,
            due: Instant::now() + LOOK,
            asking: JoinSet::new(),
            seen: SeenBoards::default(),
            loads: Vec::new(),
            looks_again: false,
            refused: BTreeMap::new(),
        }
    }

    /// Whether what is known is not the last word: something was lost, and what is there is asked for again.
    pub(crate) fn looks_again(&self) -> bool {
        self.looks_again
    }

    /// What boards of functions on lease have to do, once for each look at them.
    pub(crate) fn take_loads(&mut self) -> Vec<FunctionLoad> {
        std::mem::take(&mut self.loads)
    }

    /// What there is, where that has changed, or where boards have something to do. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> Vec<Element> {
        loop {
            if self.asking.is_empty() {
                sleep_until(self.due).await;
                let (root, is_wanted) = (self.root.clone(), self.is_wanted);
                self.asking.spawn_blocking(move || {
                    let socket = socket(&root);
                    match is_wanted || socket.exists() {
                        true => looked_at(&socket),
                        false => SeenDriver::default(),
                    }
                });
            }
            let SeenDriver {
                elements: found,
                devices,
                boards,
            } = match self.asking.join_next().await {
                Some(Ok(found)) => found,
                // The launcher leaves.
                Some(Err(_)) | None => pending().await,
            };
            self.loads = self.seen.look(&devices, &boards);
            let is_in_use = devices.iter().any(|device| device.lease.is_some());
            self.due = Instant::now() + if is_in_use { LOOK_IN_USE } else { LOOK };
            self.is_wanted |= !found.is_empty();
            let found = self.without_refused(found);
            self.looks_again = false;
            if found != self.known || !self.loads.is_empty() {
                self.known.clone_from(&found);
                return found;
            }
        }
    }

    /// A task has not got a device of this function, or has lost it: there is none until the next look, and none at all
    /// once the driver has refused it [`REFUSED_MAX`] times in a row.
    pub(crate) fn lost(&mut self, function: &str, loss: Loss) -> Vec<Element> {
        self.is_wanted = true;
        let name = function.strip_prefix(TYPE).unwrap_or(function);
        let is_it = |of: &Element| of.kind == ElementKind::Function && of.model == name;
        let mut known = self.known.iter();
        // Attempts that were refused at the same time are one refusal.
        let offered = known.find(|of| is_it(of) && of.usable() > 0).cloned();
        if let (Loss::Refused(why), Some(of)) = (&loss, offered) {
            let driver = self.driver();
            let before = self.refused.remove(name);
            let before = before.filter(|before| before.of == of && before.driver == driver);
            let refused = RefusedFunction {
                times: before.map_or(0, |before| before.times).saturating_add(1),
                why: why.clone(),
                of,
                driver,
            };
            self.refused.insert(name.to_owned(), refused);
        }
        let seconds = LOOK.as_secs();
        let refused = self.refused.get(name);
        let is_off = refused.is_some_and(RefusedFunction::is_off);
        let why = match (refused, loss) {
            (Some(refused), _) if is_off => refused.sentence(),
            (Some(refused), Loss::Refused(_)) => refused.sentence(),
            (None, Loss::Refused(why)) => {
                format!("fpgad refused it: {why}; looked at again in {seconds} s")
            }
            (_, Loss::Taken) => format!("all are held: looked at again in {seconds} s"),
            (_, Loss::Ended) => format!("lost by a task: looked at again in {seconds} s"),
        };
        self.known.retain(|of| !is_it(of));
        self.known.push(Element {
            model: name.to_owned(),
            broken: Some(why),
            ..Element::none_of(ElementKind::Function)
        });
        self.looks_again |= !is_off;
        // What is being asked was asked before.
        self.asking = JoinSet::new();
        self.due = Instant::now() + LOOK;
        self.known.clone()
    }

    /// A task has a device of this function: what was refused before was not for good.
    pub(crate) fn leased(&mut self, function: &str) {
        let name = function.strip_prefix(TYPE).unwrap_or(function);
        self.refused.remove(name);
    }

    /// What the driver says, without what it refuses all the same; what it says otherwise than when it refused is news.
    fn without_refused(&mut self, mut found: Vec<Element>) -> Vec<Element> {
        let driver = self.driver();
        self.refused
            .retain(|_, refused| refused.driver == driver && found.contains(&refused.of));
        for element in &mut found {
            let mut refused = self.refused.values().filter(|refused| refused.is_off());
            if let Some(refused) = refused.find(|refused| refused.of == *element) {
                element.broken = Some(refused.sentence());
            }
        }
        found
    }

    /// Which driver listens: its socket is made anew when it starts.
    fn driver(&self) -> Option<u64> {
        let socket = std::fs::metadata(self.socket()).ok()?;
        Some(socket.ino() ^ socket.ctime_nsec().unsigned_abs().rotate_left(32))
    }

    /// Where the driver listens.
    pub(crate) fn socket(&self) -> PathBuf {
        socket(&self.root)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{board, device};
    use super::super::{at_once, elements};
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_driver_that_goes_is_said_and_one_that_never_was_is_not() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(at_once(root.path()), []);
        let mut watch = FunctionWatch::new(root.path(), Vec::new());
        let looks = tokio::time::timeout(LOOK * 5, watch.next());
        assert!(looks.await.is_err());
        // Until a task wants one.
        let lost = watch.lost("acc/kmeans-map", Loss::Ended);
        assert_eq!(
            (lost[0].model.as_str(), lost[0].usable()),
            ("kmeans-map", 0)
        );
        let found = watch.next().await;
        assert!(
            found[0].evidence[0].contains("no fpgad answers at"),
            "{found:?}"
        );
        assert_eq!((found[0].model.as_str(), found[0].count), ("", 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_function_that_the_driver_refuses_again_and_again_is_off_until_it_says_otherwise() {
        let root = tempfile::tempdir().unwrap();
        let has = |count| {
            elements(
                &vec![device("echo#0", "a"); count],
                &[board("a", None)],
                "/s",
            )
        };
        let mut watch = FunctionWatch::new(root.path(), has(2));
        let refused = || Loss::Refused("no descriptor".to_owned());
        let said = |watch: &mut FunctionWatch, loss| {
            let known = watch.lost("acc/echo", loss);
            // Others that were refused at the same time say nothing new.
            assert_eq!(watch.lost("acc/echo", refused()), known);
            let echo = known.iter().find(|of| of.model == "echo").unwrap();
            (echo.broken.clone().unwrap(), watch.looks_again())
        };
        let look = |watch: &mut FunctionWatch, count| {
            watch.known = watch.without_refused(has(count));
            watch.looks_again = false;
            usable(&watch.known)
        };
        let usable_first = usable(&watch.known);
        assert_eq!(usable_first, 2);
        for time in 1..REFUSED_MAX {
            let (why, looks_again) = said(&mut watch, refused());
            assert_eq!(
                why,
                "fpgad refused it: no descriptor; looked at again in 2 s"
            );
            assert!(looks_again, "{time}");
            assert_eq!(look(&mut watch, 2), 2);
        }
        let (why, looks_again) = said(&mut watch, refused());
        assert_eq!(
            why,
            "fpgad refused it 3 times, the last time: no descriptor; it is asked again when it is started anew"
        );
        assert!(!looks_again);
        assert_eq!((look(&mut watch, 2), look(&mut watch, 2)), (0, 0));
        // It says something else.
        assert_eq!((look(&mut watch, 1), look(&mut watch, 2)), (1, 2));
        // One that is leased meanwhile was not refused for good.
        for _ in 0..3 * REFUSED_MAX {
            assert!(said(&mut watch, refused()).1);
            assert_eq!(look(&mut watch, 2), 2);
            watch.leased("acc/echo");
        }
    }

    fn usable(all: &[Element]) -> u32 {
        let functions = all.iter().filter(|of| of.kind == ElementKind::Function);
        functions.map(Element::usable).sum()
    }
}
