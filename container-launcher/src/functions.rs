//! Functions of accelerators: what `fpgad` leases on this node, and leases for the tasks that take some.
//!
//! ```text
//!  fpgad ──map, at the start and every [`LOOK`]──▶ FunctionWatch ──▶ elements, a function each, with its count
//!        ◀──lease, on a thread of its own────────  an order with functions: the process inherits the sockets
//! ```
//!
//! A lease lives as long as its socket is open: that of a task goes with its process, and the copy by which the launcher
//! sees that a lease is over goes when the process is reaped.

use std::collections::BTreeMap;
use std::future::pending;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fpga_client::Function;
use fpga_client::client::{Accelerator, AcceleratorError, address, map_within};
use fpga_client::wire::{BoardRow, MappedDevice};
use job::element::{Element, ElementKind};
use policy::elements::ElementNeed;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// Between two looks at what there is.
const LOOK: Duration = Duration::from_secs(2);
/// For an answer of the driver, which waits for no lease.
const ANSWER: Duration = Duration::from_secs(1);
/// Refusals in a row after which the driver is not asked for a function any more, until it says something else.
const REFUSED_MAX: u32 = 3;
/// Where the driver listens on a machine that is a folder.
const DRIVER_SOCKET: &str = "run/gerbil/fpgad.sock";
/// Before the name of a function, that of the type that counts it.
const TYPE: &str = "acc/";
/// The driver, as elements name it.
const DRIVER: &str = "fpgad";

/// Where the driver of a machine listens.
fn socket(root: &Path) -> PathBuf {
    match root == Path::new("/") {
        true => address::default_socket(),
        false => root.join(DRIVER_SOCKET),
    }
}

/// What the driver of a machine leases, and its boards; nothing where there is no driver.
pub(crate) fn at_once(root: &Path) -> Vec<Element> {
    let socket = socket(root);
    match socket.exists() {
        true => read(&socket),
        false => Vec::new(),
    }
}

/// Whether an element is what the driver says.
pub(crate) fn is_leased(element: &Element) -> bool {
    element.kind == ElementKind::Function || element.driver == DRIVER
}

/// Adds what the driver says to what files tell. A card that has files counts once.
pub(crate) fn add(elements: &mut Vec<Element>, leased: &[Element]) {
    let has_cards = elements.iter().any(|of| of.kind == ElementKind::Fpga);
    let leased = leased.iter();
    elements.extend(
        leased
            .filter(|of| !has_cards || of.kind != ElementKind::Fpga)
            .cloned(),
    );
}

fn read(socket: &Path) -> Vec<Element> {
    match map_within(socket, ANSWER) {
        Ok((devices, boards)) => elements(&devices, &boards, &socket.display().to_string()),
        Err(error) => vec![none(&error.to_string())],
    }
}

/// No function is there, and why.
fn none(why: &str) -> Element {
    Element {
        evidence: vec![why.to_owned()],
        ..Element::none_of(ElementKind::Function)
    }
}

/// The boards that are on as cards, and each function with as many devices as are on them; a function of which all
/// boards are off is broken.
fn elements(devices: &[MappedDevice], boards: &[BoardRow], socket: &str) -> Vec<Element> {
    let off = |device: &MappedDevice| {
        let mut boards = boards.iter();
        let board = boards.find(|board| board.board == device.board)?;
        Some(format!(
            "board {} is off: {}",
            board.board,
            board.off.as_ref()?
        ))
    };
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let mut functions: BTreeMap<&str, (u32, Option<String>)> = BTreeMap::new();
    for device in devices {
        let name = device.device.split('#').next().unwrap_or_default();
        let (there, broken) = functions.entry(name).or_default();
        match off(device) {
            Some(why) => *broken = Some(why),
            None => *there = there.saturating_add(1),
        }
    }
    let mut elements = Vec::new();
    let on = boards.iter().filter(|board| board.off.is_none()).count();
    if on > 0 {
        elements.push(Element {
            count: count(on),
            driver: DRIVER.to_owned(),
            evidence: vec![socket.to_owned()],
            ..Element::none_of(ElementKind::Fpga)
        });
    }
    if functions.is_empty() {
        elements.push(none(&format!("the fpgad at {socket} has no devices")));
    }
    elements.extend(
        functions
            .into_iter()
            .map(|(name, (there, broken))| Element {
                model: name.to_owned(),
                count: there,
                driver: DRIVER.to_owned(),
                evidence: vec![socket.to_owned()],
                broken: broken.filter(|_| there == 0),
                ..Element::none_of(ElementKind::Function)
            }),
    );
    elements
}

/// What the driver leases, as it was seen last.
#[derive(Debug)]
pub(crate) struct FunctionWatch {
    root: PathBuf,
    known: Vec<Element>,
    /// There was a driver, or a task wanted one: that there is none is said.
    is_wanted: bool,
    due: Instant,
    asking: JoinSet<Vec<Element>>,
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
            looks_again: false,
            refused: BTreeMap::new(),
        }
    }

    /// Whether what is known is not the last word: something was lost, and what is there is asked for again.
    pub(crate) fn looks_again(&self) -> bool {
        self.looks_again
    }

    /// What there is, where that has changed. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> Vec<Element> {
        loop {
            if self.asking.is_empty() {
                sleep_until(self.due).await;
                let (root, is_wanted) = (self.root.clone(), self.is_wanted);
                self.asking.spawn_blocking(move || match is_wanted {
                    true => read(&socket(&root)),
                    false => at_once(&root),
                });
            }
            let found = match self.asking.join_next().await {
                Some(Ok(found)) => found,
                // The launcher leaves.
                Some(Err(_)) | None => pending().await,
            };
            self.due = Instant::now() + LOOK;
            self.is_wanted |= !found.is_empty();
            let found = self.without_refused(found);
            self.looks_again = false;
            if found != self.known {
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

/// A lease of a function, by the name of its type.
#[derive(Debug)]
pub(crate) struct FunctionLease {
    /// `acc/kmeans-map`.
    pub(crate) of: String,
    pub(crate) function: Function,
    pub(crate) accelerator: Accelerator,
}

/// Why a task has none.
#[derive(Debug)]
pub(crate) struct NotLeased {
    /// `acc/kmeans-map`; each that is missing.
    pub(crate) of: Vec<String>,
    /// A sentence.
    pub(crate) why: String,
    pub(crate) loss: Loss,
}

/// Leases a device for each function that is named, `acc/kmeans-map=2`, all at the same time or none: a task that waits
/// holds nothing that another one waits for. Functions that the driver does not know are another's, and are left to the
/// task.
///
/// # Errors
///
/// What there is no device of, and why.
pub(crate) fn lease(
    socket: &Path,
    functions: &[String],
    holder: &str,
    wait: Duration,
) -> Result<Vec<FunctionLease>, NotLeased> {
    let mut wanted: Vec<(String, Function)> = Vec::new();
    for named in functions {
        let need: ElementNeed = named.parse().map_err(|why: String| NotLeased {
            of: vec![named.clone()],
            loss: Loss::Refused(why.clone()),
            why,
        })?;
        let name = need.name.strip_prefix(TYPE).unwrap_or(&need.name);
        let Ok(function) = name.parse::<Function>() else {
            continue;
        };
        wanted.extend((0..need.count).map(|_| (need.name.clone(), function)));
    }
    let each: Vec<Function> = wanted.iter().map(|(_, function)| *function).collect();
    let leased = match each[..] {
        [] => Ok(Vec::new()),
        [one] => Accelerator::lease(socket, one, holder, Some(wait)).map(|lease| vec![lease]),
        _ => Accelerator::lease_all(socket, &each, holder, Some(wait)),
    };
    let leased = leased.map_err(|error| {
        let there = map_within(socket, ANSWER).ok();
        let names = missing(&wanted, there.as_ref());
        NotLeased {
            why: sentence(&names.join(" and "), &error),
            of: names,
            loss: match error {
                AcceleratorError::TimedOut { .. } => Loss::Taken,
                other => Loss::Refused(other.to_string()),
            },
        }
    })?;
    let each = wanted.into_iter().zip(leased);
    let each = each.map(|((of, function), accelerator)| FunctionLease {
        of,
        function,
        accelerator,
    });
    Ok(each.collect())
}

/// Which of the functions that a task wants are missing, by the driver's map: those of which fewer are free than it wants;
/// where the map does not tell, all.
fn missing(
    wanted: &[(String, Function)],
    map: Option<&(Vec<MappedDevice>, Vec<BoardRow>)>,
) -> Vec<String> {
    let mut counts: BTreeMap<&str, (Function, usize)> = BTreeMap::new();
    for (name, function) in wanted {
        counts.entry(name).or_insert((*function, 0)).1 += 1;
    }
    let free = |function: Function| {
        let (devices, boards) = map?;
        let is_on = |name: &str| {
            let mut boards = boards.iter();
            boards.any(|board| board.board == name && board.off.is_none())
        };
        let of_it = devices.iter().filter(|of| {
            of.device.split('#').next() == Some(function.name())
                && of.lease.is_none()
                && is_on(&of.board)
        });
        Some(of_it.count())
    };
    let short = counts
        .iter()
        .filter(|(_, (function, count))| free(*function).is_some_and(|free| free < *count));
    let short: Vec<String> = short.map(|(name, _)| (*name).to_owned()).collect();
    match short.is_empty() {
        true => counts.into_keys().map(str::to_owned).collect(),
        false => short,
    }
}

fn sentence(name: &str, error: &AcceleratorError) -> String {
    match error {
        AcceleratorError::TimedOut { waited } => format!(
            "no {name} came free within {} s: gerbil fpga ps on that node says who holds them",
            waited.as_secs()
        ),
        other => format!("no {name}: {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(device: &str, board: &str) -> MappedDevice {
        MappedDevice {
            device: device.to_owned(),
            board: board.to_owned(),
            lease: None,
        }
    }

    fn board(board: &str, off: Option<&str>) -> BoardRow {
        BoardRow {
            board: board.to_owned(),
            queued: 0,
            in_flight: 0,
            packets: 0,
            resets: 0,
            last_reset: None,
            lost_by: 0,
            off: off.map(str::to_owned),
        }
    }

    #[test]
    fn a_function_has_as_many_devices_as_are_on_boards_that_are_on() {
        let devices = [
            device("kmeans-map#0", "a"),
            device("kmeans-map#1", "a"),
            device("kmeans-map#2", "b"),
            device("bayes-map#0", "b"),
        ];
        let all = [board("a", None), board("b", Some("three packets lost"))];
        let found = elements(&devices, &all, "/s");
        let said: Vec<_> = found
            .iter()
            .map(|of| {
                (
                    of.kind,
                    of.model.as_str(),
                    of.usable(),
                    of.broken.as_deref(),
                )
            })
            .collect();
        let broken = "board b is off: three packets lost";
        assert_eq!(
            said,
            [
                (ElementKind::Fpga, "", 1, None),
                (ElementKind::Function, "bayes-map", 0, Some(broken)),
                (ElementKind::Function, "kmeans-map", 2, None),
            ]
        );
    }

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

    #[test]
    fn what_is_not_leased_is_named_and_other_drivers_functions_are_left_to_the_task() {
        let nowhere = Path::new("/nonexistent/fpgad.sock");
        let wanted = |name: &str| lease(nowhere, &[name.to_owned()], "me", LOOK);
        assert!(wanted("acc/coffee=2").unwrap().is_empty());
        let none = wanted("acc/kmeans-map=2").unwrap_err();
        assert_eq!(none.of, ["acc/kmeans-map"]);
        assert!(
            none.why
                .starts_with("no acc/kmeans-map: no fpgad answers at /nonexistent/fpgad.sock"),
            "{none:?}"
        );
    }

    #[test]
    fn of_several_functions_those_are_missing_that_are_not_free_and_where_nobody_tells_all() {
        let wanted = [
            ("acc/kmeans-map".to_owned(), Function::KmeansMap),
            ("acc/kmeans-map".to_owned(), Function::KmeansMap),
            ("acc/bayes-map".to_owned(), Function::BayesMap),
        ];
        let both = ["acc/bayes-map", "acc/kmeans-map"];
        let map = |devices: &[(&str, &str)], off: Option<&str>| {
            let devices = devices.iter().map(|(name, on)| device(name, on));
            (devices.collect(), vec![board("a", None), board("b", off)])
        };
        let one_short = [
            ("kmeans-map#0", "a"),
            ("kmeans-map#1", "b"),
            ("bayes-map#0", "a"),
        ];
        assert_eq!(missing(&wanted, None), both);
        assert_eq!(missing(&wanted, Some(&map(&[], None))), both);
        // They came free meanwhile.
        assert_eq!(missing(&wanted, Some(&map(&one_short, None))), both);
        let off = map(&one_short, Some("stuck"));
        assert_eq!(missing(&wanted, Some(&off)), ["acc/kmeans-map"]);
        assert_eq!(
            missing(&wanted, Some(&map(&one_short[..2], None))),
            ["acc/bayes-map"]
        );
    }
}
