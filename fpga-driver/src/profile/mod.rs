//! The profile of a node, `fpga.toml`: its boards, and the virtual devices on each.
//!
//! ```toml
//! [node]
//! vcores = 8
//! memory_mib = 16384
//!
//! [[board]]
//! kind = "xdma"                # xdma, model or rtl
//! path = "/dev/xdma0"          # xdma only: what the device files' names begin with
//! functions = { kmeans-map = 2, kmeans-reduce = 1 }
//! blocks = 8                   # of each ring of a lease
//! block_kib = 1024
//! patience_ms = 2000           # how long the card may do nothing while it has something to do
//!
//! [[board]]
//! kind = "model"
//! functions = { echo = 4, sink = 4 }
//! link_mb_s = 1000             # model and rtl: 0 is as fast as memory
//! clock_mhz = 200              # model: 0 is as fast as this machine
//! ns = 2000                    # model and rtl: what each packet costs besides
//! faults = ["lost-result@3"]   # model and rtl: what goes wrong
//! late_ms = 3000
//! ```

pub mod xml;

use crate::board::card::CardTiming;
use crate::board::fault::FaultOrder;
use crate::function::Function;
use crate::ring::Geometry;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// No board is divided into more virtual devices.
pub const MOST_DEVICES: usize = 256;

/// A profile that makes no sense, or cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The file cannot be read.
    #[error("profile {path}: {source}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// It is no TOML, or has keys that are none.
    #[error("profile {path}: {message}", path = path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where, and what.
        message: String,
    },
    /// A value that cannot be.
    #[error("profile {path}, board {board}: {message}", path = path.display())]
    Board {
        /// The file.
        path: PathBuf,
        /// The board's number, from 0.
        board: usize,
        /// What, and what to do.
        message: String,
    },
}

/// What the driver is to offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// What YARN is told of the node besides.
    pub node: NodeProfile,
    /// In the order of the file.
    pub boards: Vec<BoardProfile>,
}

/// What YARN is told of the node besides; what is left out, YARN finds elsewhere.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeProfile {
    /// Cores for containers.
    pub vcores: Option<u32>,
    /// Memory for containers, MiB.
    pub memory_mib: Option<u64>,
}

/// What a board is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoardKind {
    /// A card behind Xilinx's DMA driver.
    Xdma,
    /// Functions in Rust.
    Model,
    /// The Verilog of this crate, simulated.
    Rtl,
}

/// One board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardProfile {
    /// Its name: kind, and number among its kind.
    pub name: String,
    /// What it is made of.
    pub kind: BoardKind,
    /// What the names of the device files begin with.
    pub path: Option<PathBuf>,
    /// Virtual devices of each function.
    pub functions: BTreeMap<Function, usize>,
    /// Sizes of each lease's rings.
    pub geometry: Geometry,
    /// How long the card may do nothing while it has something to do.
    pub patience: Duration,
    /// How long things take on a modelled card.
    pub timing: CardTiming,
    /// What goes wrong on a modelled card.
    pub faults: Vec<FaultOrder>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    node: NodeProfile,
    #[serde(default)]
    board: Vec<BoardEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BoardEntry {
    kind: BoardKind,
    path: Option<PathBuf>,
    functions: BTreeMap<String, usize>,
    blocks: Option<usize>,
    block_kib: Option<usize>,
    patience_ms: Option<u64>,
    link_mb_s: Option<u64>,
    clock_mhz: Option<u64>,
    ns: Option<u64>,
    #[serde(default)]
    faults: Vec<String>,
    late_ms: Option<u64>,
}

impl Profile {
    /// Reads a profile.
    ///
    /// # Errors
    ///
    /// It cannot be read, or makes no sense: which line or board, and what to do.
    pub fn read(path: &Path) -> Result<Self, ProfileError> {
        let text = std::fs::read_to_string(path).map_err(|source| ProfileError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text, path)
    }

    /// Reads a profile's text; `path` is for what is said about it.
    ///
    /// # Errors
    ///
    /// It makes no sense: which line or board, and what to do.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ProfileError> {
        let file: File = toml::from_str(text).map_err(|error| ProfileError::Syntax {
            path: path.to_owned(),
            message: error.to_string().trim_end().replace('\n', "\n  "),
        })?;
        if file.board.is_empty() {
            return Err(ProfileError::Syntax {
                path: path.to_owned(),
                message: "it names no board: add a [[board]]".to_owned(),
            });
        }
        let mut boards: Vec<BoardProfile> = Vec::new();
        for (number, row) in file.board.into_iter().enumerate() {
            let same = boards.iter().filter(|board| board.kind == row.kind).count();
            let board = row.check(same).map_err(|message| ProfileError::Board {
                path: path.to_owned(),
                board: number,
                message,
            })?;
            boards.push(board);
        }
        Ok(Self {
            node: file.node,
            boards,
        })
    }

    /// One modelled board that computes everything, at the speed of this machine.
    pub fn model(devices: usize) -> Self {
        let functions = Function::ALL.map(|function| (function, devices));
        Self {
            node: NodeProfile::default(),
            boards: vec![BoardProfile {
                name: "model:0".to_owned(),
                kind: BoardKind::Model,
                path: None,
                functions: functions.into_iter().collect(),
                geometry: Geometry::default(),
                patience: Duration::from_secs(2),
                timing: CardTiming::default(),
                faults: Vec::new(),
            }],
        }
    }
}

impl BoardEntry {
    fn check(self, same: usize) -> Result<BoardProfile, String> {
        let mut functions = BTreeMap::new();
        for (name, count) in self.functions {
            let function: Function = name.parse().map_err(|unknown| format!("{unknown}"))?;
            if !(1..=MOST_DEVICES).contains(&count) {
                return Err(format!(
                    "{name} = {count}: a function has 1 to {MOST_DEVICES} virtual devices; leave out what the board shall not offer"
                ));
            }
            functions.insert(function, count);
        }
        if functions.is_empty() {
            return Err("it has no functions: name at least one, as in { kmeans-map = 2 }".into());
        }
        let name = match self.kind {
            BoardKind::Xdma => "xdma",
            BoardKind::Model => "model",
            BoardKind::Rtl => "rtl",
        };
        if self.kind == BoardKind::Xdma {
            let Some(path) = &self.path else {
                return Err("an xdma board needs its path, as in \"/dev/xdma0\"".into());
            };
            let user = crate::board::xdma::file(path, "user");
            if !user.exists() {
                return Err(format!(
                    "{} is missing: is Xilinx's driver loaded, and is this the right card?",
                    user.display()
                ));
            }
        } else if self.path.is_some() {
            return Err(format!("path is for xdma boards; a {name} board has none"));
        }
        let standard = Geometry::default();
        let geometry = Geometry {
            blocks: self.blocks.unwrap_or(standard.blocks),
            block: self.block_kib.map_or(standard.block, |kib| kib << 10),
        };
        if !geometry.is_possible() {
            return Err(format!(
                "{} blocks of {} bytes: rings have 1 to 16 blocks of 4 KiB to 32 MiB, in steps of 4 KiB",
                geometry.blocks, geometry.block
            ));
        }
        let faults = self
            .faults
            .iter()
            .map(|fault| {
                fault
                    .parse::<FaultOrder>()
                    .map_err(|unknown| unknown.to_string())
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(BoardProfile {
            name: format!("{name}:{same}"),
            kind: self.kind,
            path: self.path,
            functions,
            geometry,
            patience: Duration::from_millis(self.patience_ms.unwrap_or(2000).max(1)),
            timing: CardTiming {
                link_mb_s: self.link_mb_s.unwrap_or(1000),
                clock_mhz: self.clock_mhz.unwrap_or(200),
                ns: self.ns.unwrap_or(0),
                late_ms: self.late_ms.unwrap_or(3000),
            },
            faults,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Profile, String> {
        Profile::parse(text, Path::new("fpga.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_profile_is_read() {
        let profile = read(
            "[node]\nvcores = 8\nmemory_mib = 16384\n\n[[board]]\nkind = \"model\"\nfunctions = { kmeans-map = 2, kmeans-reduce = 1 }\n[[board]]\nkind = \"rtl\"\nblocks = 4\nfunctions = { bayes-map = 1 }\nfaults = [\"stuck@2\"]\n",
        )
        .unwrap();
        assert_eq!(profile.node.vcores, Some(8));
        let names: Vec<&str> = profile.boards.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["model:0", "rtl:0"]);
        assert_eq!(profile.boards[0].functions[&Function::KmeansMap], 2);
        assert_eq!(profile.boards[0].timing.link_mb_s, 1000);
        assert_eq!(profile.boards[1].geometry.blocks, 4);
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        let board =
            |rest: &str| read(&format!("[[board]]\nkind = \"model\"\n{rest}\n")).unwrap_err();
        let cases = [
            (
                board("functions = { kmeans = 1 }"),
                "\"kmeans\" is no function",
            ),
            (
                board("functions = { echo = 0 }"),
                "echo = 0: a function has 1 to 256",
            ),
            (board("functions = {}"), "it has no functions"),
            (
                board("functions = { echo = 1 }\npath = \"/dev/x\""),
                "a model board has none",
            ),
            (board("functions = { echo = 1 }\nblocks = 99"), "99 blocks"),
            (
                board("functions = { echo = 1 }\nfaults = [\"x\"]"),
                "orders no fault",
            ),
            (board("functions = { echo = 1 }\nspeed = 1"), "speed"),
            (read("").unwrap_err(), "names no board"),
            (
                read("[[board]]\nkind = \"xdma\"\nfunctions = { echo = 1 }").unwrap_err(),
                "needs its path",
            ),
            (
                read("[[board]]\nkind = \"xdma\"\npath = \"/dev/xdma9\"\nfunctions = { echo = 1 }")
                    .unwrap_err(),
                "/dev/xdma9_user is missing",
            ),
        ];
        for (said, wanted) in cases {
            assert!(said.contains(wanted), "{said}");
            assert!(said.starts_with("profile fpga.toml"), "{said}");
        }
    }
}
