//! Functions of accelerators: what `fpgad` leases on this node, and leases for the tasks that take some.
//!
//! ```text
//!  fpgad ──map, at the start and every [`LOOK`]──▶ FunctionWatch ──▶ elements, a function each, with its count
//!        ◀──lease, on a thread of its own────────  an order with functions: the process inherits the sockets
//! ```
//!
//! A lease lives as long as its socket is open: that of a task goes with its process, and the copy by which the launcher
//! sees that a lease is over goes when the process is reaped.

mod lease;
mod load;
mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fpga_client::client::{address, map_within};
use fpga_client::wire::{BoardRow, MappedDevice};
use job::element::{Element, ElementKind};

pub(crate) use lease::{FunctionLease, NotLeased, lease};
pub(crate) use watch::{FunctionWatch, Loss};

/// Between two looks at what there is.
const LOOK: Duration = Duration::from_secs(2);
/// The same while tasks have some of it on lease.
const LOOK_IN_USE: Duration = Duration::from_secs(1);
/// For an answer of the driver, which waits for no lease.
const ANSWER: Duration = Duration::from_secs(1);
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
    looked_at(socket).elements
}

/// What was found.
#[derive(Debug, Default)]
struct SeenDriver {
    elements: Vec<Element>,
    devices: Vec<MappedDevice>,
    boards: Vec<BoardRow>,
}

fn looked_at(socket: &Path) -> SeenDriver {
    match map_within(socket, ANSWER) {
        Ok((devices, boards)) => SeenDriver {
            elements: elements(&devices, &boards, &socket.display().to_string()),
            devices,
            boards,
        },
        Err(error) => SeenDriver {
            elements: vec![none(&error.to_string())],
            ..SeenDriver::default()
        },
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

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn device(device: &str, board: &str) -> MappedDevice {
        MappedDevice {
            device: device.to_owned(),
            board: board.to_owned(),
            lease: None,
        }
    }

    pub(super) fn board(board: &str, off: Option<&str>) -> BoardRow {
        BoardRow {
            board: board.to_owned(),
            queued: 0,
            in_flight: 0,
            packets: 0,
            resets: 0,
            last_reset: None,
            ring: 0,
            served_us: 0,
            busy_us: 0,
            waited_us: 0,
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
}
