//! What somebody declares a stage to need.

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
    /// `gpu`, `fpga`, or a type of the cluster's.
    Needs(String),
}

/// A label that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{label:?}: known are cpu, gpu, fpga{}", of_cluster(.types))]
pub struct UnknownLabel {
    /// As given.
    pub label: String,
    /// What the cluster counts.
    pub types: Vec<String>,
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
            gpu if GPUS.contains(&gpu) => Some(Self::Needs("gpu".to_owned())),
            fpga if FPGAS.contains(&fpga) => Some(Self::Needs("fpga".to_owned())),
            _ => None,
        }
    }

    /// What `text` means where the cluster counts `types`.
    ///
    /// # Errors
    /// Nothing; the error lists what there is.
    pub fn of(text: &str, types: &[String]) -> Result<Self, UnknownLabel> {
        let types = types.iter();
        let types = types.filter(|name| !EVERYWHERE.contains(&name.as_str()));
        let types: Vec<String> = types.cloned().collect();
        let given = text.trim();
        match Self::known_everywhere(given) {
            Some(label) => Ok(label),
            None if types.iter().any(|name| name == given) => Ok(Self::Needs(given.to_owned())),
            None => Err(UnknownLabel {
                label: text.to_owned(),
                types,
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
        let of = |text: &str| Label::of(text, &types).map_err(|error| error.to_string());
        let needs = |name: &str| Ok(Label::Needs(name.to_owned()));
        assert_eq!(of("cpu"), Ok(Label::Cpu));
        assert_eq!(of("GPGPU"), needs("gpu"));
        assert_eq!(of("yarn.io/gpu"), needs("gpu"));
        assert_eq!(of("fpga"), needs("fpga"));
        assert_eq!(of("acc/kmeans-map"), needs("acc/kmeans-map"));
        assert_eq!(
            of("gpuu"),
            Err("\"gpuu\": known are cpu, gpu, fpga and this cluster's acc/kmeans-map".into())
        );
        assert_eq!(
            Label::of("vcores", &types[..2]).unwrap_err().to_string(),
            "\"vcores\": known are cpu, gpu, fpga"
        );
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
