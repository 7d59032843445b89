//! How YARN says that a container ended: a number, and what the number means.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The end of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerExit {
    /// The code of its process, 0 to 255 and 128 + N for signal N, or one that YARN gives itself, below 0.
    pub status: i32,
    /// What the status means, in a few words; empty for a plain code.
    pub name: String,
}

impl From<i32> for ContainerExit {
    fn from(status: i32) -> Self {
        let name = match status {
            129..=192 => format!("signal {}", status - 128),
            status => name(status).to_owned(),
        };
        Self { status, name }
    }
}

impl fmt::Display for ContainerExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.as_str() {
            "" => write!(f, "{}", self.status),
            name => write!(f, "{} ({name})", self.status),
        }
    }
}

/// After `ContainerExitStatus` of Hadoop 2.10 to 3.5.
const fn name(status: i32) -> &'static str {
    match status {
        -100 => "taken back, or its node lost",
        -101 => "disks failed",
        -102 => "preempted",
        -103 => "over its virtual memory",
        -104 => "over its memory",
        -105 => "killed by its application",
        -106 => "killed by YARN",
        -107 => "its application had ended",
        -108 => "killed by its node's scheduler",
        -109 => "over its log size",
        -1000 => "not started",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_told_with_its_meaning() {
        let told = |status: i32| ContainerExit::from(status).to_string();
        assert_eq!(told(-104), "-104 (over its memory)");
        assert_eq!(told(143), "143 (signal 15)");
        assert_eq!((told(0), told(70)), ("0".into(), "70".into()));
        assert_eq!((told(128), told(255)), ("128".into(), "255".into()));
        assert_eq!(told(i32::MIN), i32::MIN.to_string());
    }
}
