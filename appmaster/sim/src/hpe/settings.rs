//! What can be set with `-D`: how nodes are cut, and how HPE chooses.

use anyhow::{Result, bail};
use policy::schedule::Cut;

use crate::{Keys, whole};

/// Keys, and what each is.
pub(super) const KEYS: Keys = Keys(&[
    ("slots.map", "map slots of a node without a GPU (4)"),
    ("slots.map.gpu", "map slots of a node with one (4)"),
    ("slots.reduce", "reduce slots of a node (1)"),
    (
        "slots",
        "slots of a node for maps and reduces alike, in place of those",
    ),
    (
        "scale.nodes",
        "what nodes and tasks are divided by, 1 or 2 (1)",
    ),
    ("scale.time", "what times are divided by (1)"),
    ("ways", "tasks that a GPU runs at a time (1)"),
    ("skip", "of hpe (3)"),
    ("window", "of hpe (plain)"),
    ("age", "of hpe (0)"),
    ("seed", "of hpe-literal (0)"),
    ("per", "of hpe-conserve (2)"),
    (
        "device",
        "percent of a map with its element that it has the device, in region (50)",
    ),
]);

/// Slots of a node, tasks that a GPU runs at a time, and what times are divided by.
const MOST: u16 = 1_000;

/// The settings.
#[derive(Clone, Debug)]
pub(super) struct HpeSettings {
    pub(super) cut: Cut,
    /// Of each node, for tasks of either stage; `None`: as `cut` says.
    pub(super) slots: Option<usize>,
    /// Nodes of a cluster and tasks of a job are divided by it.
    pub(super) nodes: u32,
    /// So are times.
    pub(super) time: u32,
    pub(super) ways: u64,
    skip: String,
    window: String,
    age: String,
    seed: String,
    per: String,
    /// Percent.
    pub(super) device: u32,
}

impl Default for HpeSettings {
    fn default() -> Self {
        Self {
            cut: Cut::default(),
            slots: None,
            nodes: 1,
            time: 1,
            ways: 1,
            skip: "3".to_owned(),
            window: "plain".to_owned(),
            age: "0".to_owned(),
            seed: "0".to_owned(),
            per: "2".to_owned(),
            device: 50,
        }
    }
}

impl HpeSettings {
    /// `slots.map.gpu=3`.
    pub(super) fn set(&mut self, text: &str) -> Result<()> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        match key {
            "slots.map" => self.cut.map = most(key, value)?.into(),
            "slots.map.gpu" => self.cut.map_gpu = most(key, value)?.into(),
            "slots.reduce" => self.cut.reduce = most(key, value)?.into(),
            "slots" => self.slots = Some(most(key, value)?.into()),
            "scale.nodes" => {
                self.nodes = match value {
                    "1" => 1,
                    // Table 1 has 2, 6 and 8 of a kind.
                    "2" => 2,
                    _ => bail!("{key}={value}: 1 or 2 is wanted"),
                }
            }
            "scale.time" => self.time = most(key, value)?.into(),
            "ways" => self.ways = most(key, value)?.into(),
            // Read, and refused, with the policy.
            "skip" => value.clone_into(&mut self.skip),
            "window" => value.clone_into(&mut self.window),
            "age" => value.clone_into(&mut self.age),
            "seed" => value.clone_into(&mut self.seed),
            "per" => value.clone_into(&mut self.per),
            "device" => self.device = whole(key, value, 1..=100)?,
            _ => return Err(KEYS.unknown(key)),
        }
        Ok(())
    }

    pub(super) fn hpe(&self) -> String {
        let Self {
            skip, window, age, ..
        } = self;
        format!("hpe:skip={skip},window={window},age={age}")
    }

    pub(super) fn conserve(&self) -> String {
        let Self { per, age, .. } = self;
        format!("hpe-conserve:per={per},age={age}")
    }

    pub(super) fn literal(&self) -> String {
        format!("hpe-literal:seed={}", self.seed)
    }
}

fn most(key: &str, value: &str) -> Result<u16> {
    whole(key, value, 1..=MOST)
}
