//! How files of the output are called: by its name it is known whose a file is, whoever looks at the folder.

use crate::message::{MapOrder, ReduceOrder};

/// The task that writes a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputOf {
    /// It is a map; else a reduce.
    pub is_map: bool,
    /// Of the map, or of the partition.
    pub task: u32,
    /// It is a map of a job with reduces, which write the output.
    pub feeds_reduces: bool,
}

impl From<&MapOrder> for OutputOf {
    fn from(order: &MapOrder) -> Self {
        Self {
            is_map: true,
            task: order.task,
            feeds_reduces: order.partitions > 0,
        }
    }
}

impl From<&ReduceOrder> for OutputOf {
    fn from(order: &ReduceOrder) -> Self {
        Self {
            is_map: false,
            task: order.task,
            feeds_reduces: false,
        }
    }
}

impl OutputOf {
    /// Whether the task may write a file of this name: `part-r-00007`, and where its stage writes the output `part-00007`,
    /// too, as files of Hadoop's older API are called; with anything before, and an ending such as `.gz`.
    ///
    /// # Errors
    /// It may not: a sentence.
    pub fn check(self, name: &str) -> Result<(), String> {
        let is_plain = !name.contains('/') && !name.starts_with(['.', '_']);
        let is_own = match number(name) {
            Some((Some(of_maps), task)) => (of_maps, task) == (self.is_map, self.task),
            Some((None, task)) => task == self.task && !self.feeds_reduces,
            None => false,
        };
        if is_plain && is_own {
            return Ok(());
        }
        let stage = if self.is_map { 'm' } else { 'r' };
        let tagged = format!("-{stage}-{:05}", self.task);
        let ends = match self.feeds_reduces {
            true => tagged,
            false => format!("{tagged} or -{:05}", self.task),
        };
        Err(format!(
            "{name:?} is no name of an output file: those of this task end with {ends}, and neither begin with a dot or _ \
             nor have a /"
        ))
    }
}

/// The number that is in a name, and whether it is a map's, where that is said.
fn number(name: &str) -> Option<(Option<bool>, u32)> {
    let tag = ["-m-", "-r-"]
        .iter()
        .filter_map(|tag| name.rfind(tag))
        .max();
    let (stage, rest) = match tag {
        Some(at) => {
            let (tag, rest) = name.get(at..)?.split_at_checked(3)?;
            (Some(tag == "-m-"), rest)
        }
        None => (None, name.rsplit_once('-')?.1),
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, behind) = rest.split_at_checked(digits).filter(|_| digits >= 5)?;
    let is_whole = stage.is_some() || behind.is_empty() || behind.starts_with('.');
    Some((stage, digits.parse().ok().filter(|_| is_whole)?))
}

#[cfg(test)]
mod tests {
    use super::OutputOf;

    #[test]
    fn each_task_has_its_own_names() {
        let of = |is_map, feeds_reduces| OutputOf {
            is_map,
            task: 7,
            feeds_reduces,
        };
        for name in ["part-00007", "part-00007.gz", "a-b-00007", "-00007"] {
            assert_eq!(of(true, false).check(name), Ok(()), "{name}");
            assert_eq!(of(false, false).check(name), Ok(()), "{name}");
            assert!(of(true, true).check(name).is_err(), "{name}");
        }
        for name in ["part-m-00007", "part-m-00007.gz", "a-r-00001-m-00007"] {
            assert_eq!(of(true, true).check(name), Ok(()), "{name}");
            assert_eq!(of(true, false).check(name), Ok(()), "{name}");
            assert!(of(false, false).check(name).is_err(), "{name}");
        }
        for name in [
            "",
            "part",
            "part-7",
            "part-00008",
            "part-00007x",
            "_part-00007",
            ".part-00007",
            "a/part-00007",
            "part-m-00008",
            "part-r-00008",
            "part-99999999999",
            "part-m-é",
        ] {
            assert!(of(true, false).check(name).is_err(), "{name}");
            assert!(of(false, false).check(name).is_err(), "{name}");
        }
        let said = of(false, false).check("x").unwrap_err();
        assert!(said.contains("end with -r-00007 or -00007, and"), "{said}");
        let said = of(true, true).check("x").unwrap_err();
        assert!(said.contains("end with -m-00007, and"), "{said}");
    }
}
