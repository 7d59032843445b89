//! What somebody declares a stage to need.

use policy::elements::{ElementNeed, is_function};
use serde::Deserialize;

use crate::finding::ProgramStage;

/// What every ResourceManager counts, and no stage needs to name.
const EVERYWHERE: [&str; 2] = ["memory-mb", "vcores"];
/// Names of GPUs, those of clusters' types included.
const GPUS: [&str; 4] = ["gpu", "gpgpu", "acc/gpu", "yarn.io/gpu"];
/// The same of FPGAs.
const FPGAS: [&str; 3] = ["fpga", "acc/fpga", "yarn.io/fpga"];
/// Longest line of a section, and label, bytes.
const LABEL_MAX: usize = 256;

/// What a stage needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// Nothing that not every node has.
    Cpu,
    /// `gpu`, `fpga`, or so many of a type of the cluster's.
    Needs(ElementNeed),
}

/// A label that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadLabel {
    /// Nobody knows it.
    #[error("{label:?}: known are cpu, gpu, fpga{}", of_cluster(.types))]
    Unknown {
        /// As given.
        label: String,
        /// What the cluster counts.
        types: Vec<String>,
    },
    /// A function of accelerators that the cluster does not count: it would drop what it is asked for of it.
    #[error(
        "{0} is no resource type of this cluster: add it to resource-types.xml (gerbil fpga profile --xml)"
    )]
    Uncounted(String),
    /// A number stands there that is none.
    #[error("{0}")]
    Number(String),
}

fn of_cluster(types: &[String]) -> String {
    match types {
        [] => String::new(),
        types => format!(" and this cluster's {}", types.join(", ")),
    }
}

impl Label {
    /// One of those that need no cluster to be known.
    #[must_use]
    pub fn known_everywhere(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        match text.as_str() {
            "cpu" => Some(Self::Cpu),
            gpu if GPUS.contains(&gpu) => Some(Self::Needs(ElementNeed::one("gpu"))),
            fpga if FPGAS.contains(&fpga) => Some(Self::Needs(ElementNeed::one("fpga"))),
            _ => None,
        }
    }

    /// What `text` means where the cluster counts `types`; `None`: what it counts is not known, and each node says what
    /// it has.
    ///
    /// # Errors
    /// Nothing; the error lists what there is.
    pub fn of(text: &str, types: Option<&[String]>) -> Result<Self, BadLabel> {
        let given = text.trim();
        if let Some(label) = Self::known_everywhere(given) {
            return Ok(label);
        }
        let need: ElementNeed = given.parse().map_err(BadLabel::Number)?;
        let is_function = is_function(&need.name);
        let counted = types.unwrap_or_default().iter();
        let mut counted = counted.filter(|name| !EVERYWHERE.contains(&name.as_str()));
        if counted.clone().any(|name| *name == need.name) || (is_function && types.is_none()) {
            return Ok(Self::Needs(need));
        }
        // gpu=1, by any of its names.
        match Self::known_everywhere(&need.name) {
            Some(Self::Needs(known)) if need.count == 1 => return Ok(Self::Needs(known)),
            Some(_) => {
                return Err(BadLabel::Number(format!(
                    "{given}: tasks use what a node has of it in turn, and need no number; write {}",
                    need.name
                )));
            }
            None => {}
        }
        match is_function {
            true => Err(BadLabel::Uncounted(need.name)),
            false => Err(BadLabel::Unknown {
                label: text.to_owned(),
                types: counted.by_ref().cloned().collect(),
            }),
        }
    }
}

/// A label, and who says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Of which stage.
    pub stage: ProgramStage,
    /// What it is declared to need.
    pub label: Label,
    /// In a few words.
    pub by: String,
}

/// A line of the section `gerbil_needs`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct NeedsLine {
    /// Of which stage.
    pub stage: ProgramStage,
    /// The type that it stands on, without its path.
    #[serde(rename = "type")]
    pub of: String,
    /// The label.
    pub need: String,
}

/// The lines of a section; what is none is left out.
#[must_use]
pub fn lines(section: &[u8]) -> Vec<NeedsLine> {
    let lines = section.split(|byte| *byte == b'\n' || *byte == 0);
    let lines = lines.filter(|line| !line.is_empty() && line.len() <= LABEL_MAX);
    lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_those_of_everywhere_and_of_the_cluster() {
        let types = ["memory-mb", "vcores", "acc/kmeans-map"].map(str::to_owned);
        let of = |text: &str| Label::of(text, Some(&types)).map_err(|error| error.to_string());
        let needs = |text: &str| Ok(Label::Needs(text.parse().unwrap()));
        assert_eq!(of("cpu"), Ok(Label::Cpu));
        assert_eq!(of("GPGPU"), needs("gpu"));
        assert_eq!(of("yarn.io/gpu"), needs("gpu"));
        assert_eq!(of("acc/gpu=1"), needs("gpu"));
        assert_eq!(of("fpga"), needs("fpga"));
        assert_eq!(of("acc/kmeans-map"), needs("acc/kmeans-map"));
        assert_eq!(of(" acc/kmeans-map=2 "), needs("acc/kmeans-map=2"));
        assert_eq!(
            of("gpuu"),
            Err("\"gpuu\": known are cpu, gpu, fpga and this cluster's acc/kmeans-map".into())
        );
        assert_eq!(
            Label::of("vcores", Some(&types[..2]))
                .unwrap_err()
                .to_string(),
            "\"vcores\": known are cpu, gpu, fpga"
        );
        for (bad, why) in [
            ("acc/kmeans-map=0", "is no number of acc/kmeans-map"),
            ("acc/kmeans-map=many", "is no number of acc/kmeans-map"),
            ("acc/gpu=2", "need no number; write acc/gpu"),
            ("gpu=2", "need no number of them; write gpu"),
        ] {
            let said = of(bad).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn a_function_that_the_cluster_does_not_count_is_told_from_one_that_may_count_it() {
        let types = ["memory-mb".to_owned()];
        let why = Label::of("acc/kmeans-map=2", Some(&types)).unwrap_err();
        assert_eq!(
            why.to_string(),
            "acc/kmeans-map is no resource type of this cluster: add it to resource-types.xml (gerbil fpga profile \
             --xml)"
        );
        let told = Label::of("acc/kmeans-map=2", None);
        assert_eq!(told, Ok(Label::Needs("acc/kmeans-map=2".parse().unwrap())));
        assert!(matches!(
            Label::of("gpuu", None),
            Err(BadLabel::Unknown { .. })
        ));
    }

    #[test]
    fn lines_of_a_section_are_taken_and_others_left_out() {
        let section = b"{\"stage\":\"map\",\"type\":\"Words\",\"need\":\"gpu\"}\n\0\0no json\n\
                        {\"stage\":\"later\",\"type\":\"A\",\"need\":\"b\"}\n\
                        {\"stage\":\"reduce\",\"type\":\"Sums\",\"need\":\"cpu\"}\n";
        let found: Vec<String> = lines(section)
            .iter()
            .map(|line| format!("{} {} {}", line.stage, line.of, line.need))
            .collect();
        assert_eq!(found, ["map Words gpu", "reduce Sums cpu"]);
    }
}
