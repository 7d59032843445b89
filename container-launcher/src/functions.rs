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
/// An attempt stands in line for a device that another one holds for so long, and is then queued elsewhere.
const WAIT: Duration = Duration::from_secs(60);
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
        }
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
            if found != self.known {
                self.known.clone_from(&found);
                return found;
            }
        }
    }

    /// A task has not got a device of this function, or has lost it: there is none until the next look.
    pub(crate) fn lost(&mut self, function: &str) -> Vec<Element> {
        self.is_wanted = true;
        let why = format!("lost by a task: looked at again in {} s", LOOK.as_secs());
        let name = function.strip_prefix(TYPE).unwrap_or(function);
        let is_it = |of: &Element| of.kind == ElementKind::Function && of.model == name;
        self.known.retain(|of| !is_it(of));
        self.known.push(Element {
            model: name.to_owned(),
            broken: Some(why),
            ..Element::none_of(ElementKind::Function)
        });
        // What is being asked was asked before.
        self.asking = JoinSet::new();
        self.due = Instant::now() + LOOK;
        self.known.clone()
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
    /// `acc/kmeans-map`.
    pub(crate) of: String,
    /// A sentence.
    pub(crate) why: String,
}

/// Leases a device for each function that is named, `acc/kmeans-map=2`. Functions that the driver does not know are
/// another's, and are left to the task.
///
/// # Errors
///
/// What there is no device of, and why. Those that were leased are given back.
pub(crate) fn lease(
    socket: &Path,
    functions: &[String],
    holder: &str,
) -> Result<Vec<FunctionLease>, NotLeased> {
    let mut leases = Vec::new();
    for named in functions {
        let need: ElementNeed = named.parse().map_err(|why| NotLeased {
            of: named.clone(),
            why,
        })?;
        let name = need.name.strip_prefix(TYPE).unwrap_or(&need.name);
        let Ok(function) = name.parse::<Function>() else {
            continue;
        };
        for _ in 0..need.count {
            let accelerator = Accelerator::lease(socket, function, holder, Some(WAIT));
            let accelerator = accelerator.map_err(|error| NotLeased {
                of: need.name.clone(),
                why: sentence(&need.name, &error),
            })?;
            leases.push(FunctionLease {
                of: need.name.clone(),
                function,
                accelerator,
            });
        }
    }
    Ok(leases)
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
        let lost = watch.lost("acc/kmeans-map");
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

    #[test]
    fn what_is_not_leased_is_named_and_other_drivers_functions_are_left_to_the_task() {
        let nowhere = Path::new("/nonexistent/fpgad.sock");
        let wanted = |name: &str| lease(nowhere, &[name.to_owned()], "me");
        assert!(wanted("acc/coffee=2").unwrap().is_empty());
        let none = wanted("acc/kmeans-map=2").unwrap_err();
        assert_eq!(none.of, "acc/kmeans-map");
        assert!(
            none.why
                .starts_with("no acc/kmeans-map: no fpgad answers at /nonexistent/fpgad.sock"),
            "{none:?}"
        );
    }
}
