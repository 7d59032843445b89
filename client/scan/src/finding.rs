//! What a stage needs, and why that is thought.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::label::{Declared, Label};

/// A stage of a job. A map task needs what map and combine need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgramStage {
    /// Map tasks: readers and mappers.
    Map,
    /// Combiners, which run in map tasks.
    Combine,
    /// Reduce tasks: reducers and writers.
    Reduce,
}

impl fmt::Display for ProgramStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Map => "map",
            Self::Combine => "combine",
            Self::Reduce => "reduce",
        })
    }
}

/// How sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Nothing was found.
    None,
    /// A string or an import.
    Likely,
    /// A section, a needed library or an undefined symbol.
    Sure,
    /// Somebody says so.
    Declared,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "likely none",
            Self::Likely => "likely",
            Self::Sure => "sure",
            Self::Declared => "declared",
        })
    }
}

/// What one stage needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The stage whose tasks need it.
    pub stage: ProgramStage,
    /// `gpu`, `fpga`, or a type of the cluster's; `None`: nothing that not every node has.
    pub need: Option<String>,
    /// 1: declared; 2: found, or not, in files.
    pub level: u8,
    /// Where, a few words each; or why nothing could be seen.
    pub evidence: Vec<String>,
    /// How sure it is.
    pub confidence: Confidence,
}

impl Finding {
    /// Of what somebody says.
    #[must_use]
    pub fn declared(declared: &Declared) -> Self {
        Self {
            stage: declared.stage,
            need: match &declared.label {
                Label::Cpu => None,
                Label::Needs(need) => Some(need.to_string()),
            },
            level: 1,
            evidence: vec![declared.by.clone()],
            confidence: Confidence::Declared,
        }
    }
}

impl fmt::Display for Finding {
    /// `map needs gpu (sure: section .nv_fatbin)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let need = self.need.as_deref().unwrap_or("no device");
        write!(f, "{} needs {need} ({}", self.stage, self.confidence)?;
        let mut separator = ": ";
        for evidence in &self.evidence {
            write!(f, "{separator}{evidence}")?;
            separator = "; ";
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_read_by_people_and_programs() {
        let finding = Finding {
            stage: ProgramStage::Map,
            need: Some("gpu".into()),
            level: 2,
            evidence: vec!["section .nv_fatbin".into(), "string cuLaunchKernel".into()],
            confidence: Confidence::Sure,
        };
        assert_eq!(
            finding.to_string(),
            "map needs gpu (sure: section .nv_fatbin; string cuLaunchKernel)"
        );
        let json = serde_json::to_string(&finding).unwrap();
        assert_eq!(
            json,
            "{\"stage\":\"map\",\"need\":\"gpu\",\"level\":2,\"evidence\":[\"section .nv_fatbin\",\"string \
             cuLaunchKernel\"],\"confidence\":\"sure\"}"
        );
        let declared = Finding::declared(&Declared {
            stage: ProgramStage::Reduce,
            label: Label::Cpu,
            by: "-D needs.reduce".into(),
        });
        assert_eq!(
            declared.to_string(),
            "reduce needs no device (declared: -D needs.reduce)"
        );
    }
}
