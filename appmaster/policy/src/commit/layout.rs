//! Where everything of a job's output is, and how it is called.

use std::fmt;

/// The output folder, in the path of an [`Op`](super::Op).
pub const OUT: &str = "out";
/// The folder beside it where jobs write.
pub(super) const WORK: &str = "work";
/// By this folder it is said which job writes there.
pub const OWNER: &str = "work/.owner";
pub(super) const SUCCESS: &str = "out/_SUCCESS";
/// Below a job's folder: what becomes the output, before any of it is chosen.
pub(super) const WRITTEN: &str = "written";
/// What it is called once one ApplicationMaster, whose number follows, has begun to choose.
const CHOSEN: &str = "commit-";

/// The absolute path that the path of an [`Op`](super::Op) stands for; `output`: that of the output folder.
///
/// Jobs write beside it, under a name that Hadoop and its tools pass over.
#[must_use]
pub fn absolute(output: &str, path: &str) -> String {
    let output = output.trim_end_matches('/');
    if let Some(below) = path.strip_prefix(OUT) {
        return format!("{output}{below}");
    }
    let (above, name) = output.rsplit_once('/').unwrap_or(("", output));
    let below = path.strip_prefix(WORK).unwrap_or(path);
    format!("{above}/_{name}.temporary{below}")
}

/// A job's folder. `job` is the same for all its ApplicationMasters.
#[must_use]
pub fn job_folder(job: &str) -> String {
    format!("{WORK}/{job}")
}

/// Where that folder is brought, all at once, when nothing in it is to become output any more.
pub(super) fn aside(job: &str) -> String {
    format!("{WORK}/.aside-{job}")
}

/// The name of what `attempt` of the ApplicationMasters chooses from.
pub(super) fn chosen(attempt: u32) -> String {
    format!("{CHOSEN}{attempt}")
}

/// Which ApplicationMaster has given this name.
pub(super) fn chosen_by(name: &str) -> Option<u32> {
    name.strip_prefix(CHOSEN)?.parse().ok()
}

/// Where a leftover of this name goes, below the job's folder.
pub(super) fn left(name: &str) -> String {
    format!(".left.{name}")
}

/// An attempt at a task, as far as its output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptName {
    /// It is a map; else a reduce.
    pub is_map: bool,
    /// Of the map, or of the partition.
    pub task: u32,
    /// The first is 0.
    pub number: u32,
}

impl AttemptName {
    const fn stage(self) -> char {
        match self.is_map {
            true => 'm',
            false => 'r',
        }
    }

    /// Back from its text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix("attempt_")?.split('_');
        let is_map = is_map(parts.next()?)?;
        let [task, number] = [parts.next()?, parts.next()?].map(str::parse);
        let attempt = Self {
            is_map,
            task: task.ok()?,
            number: number.ok()?,
        };
        (attempt.to_string() == text).then_some(attempt)
    }

    /// The same in few bytes: `r7.1`.
    pub(super) fn short(self) -> String {
        format!("{}{}.{}", self.stage(), self.task, self.number)
    }

    pub(super) fn from_short(text: &str) -> Option<Self> {
        let is_map = is_map(text.get(..1)?)?;
        let (task, number) = text.get(1..)?.split_once('.')?;
        Some(Self {
            is_map,
            task: task.parse().ok()?,
            number: number.parse().ok()?,
        })
    }

    /// The file that an attempt writes as a rule.
    pub(super) fn usual(self) -> String {
        format!("part{}", self.tag())
    }

    /// What is in the name of each of its files, as in those of Hadoop's.
    #[must_use]
    pub fn tag(self) -> String {
        format!("-{}-{:05}", self.stage(), self.task)
    }

    /// Whether it may write a file of this name: no other task of its stage does, and nobody takes it for something else.
    /// Names without a stage are for the stage that writes the output: see [`is_without_stage`].
    #[must_use]
    pub fn may_write(self, name: &str) -> bool {
        let leads_elsewhere = name.contains('/') || name.starts_with(['.', '_']);
        !leads_elsewhere && writer_of(name).is_some_and(|writer| writer.is(self.at()))
    }

    /// The task.
    pub(super) const fn at(self) -> (bool, u32) {
        (self.is_map, self.task)
    }
}

impl fmt::Display for AttemptName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { task, number, .. } = self;
        write!(f, "attempt_{}_{task:06}_{number}", self.stage())
    }
}

fn is_map(stage: &str) -> Option<bool> {
    match stage {
        "m" => Some(true),
        "r" => Some(false),
        _ => None,
    }
}

/// Whose a file of the output is, as far as its name says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// The map or reduce of `part-m-00000` or `part-r-00000`.
    Task(bool, u32),
    /// The map or reduce of this number: `part-00000`, as files of Hadoop's older API are called.
    Number(u32),
}

impl Writer {
    /// Whether it may be this task.
    fn is(self, (is_map, task): (bool, u32)) -> bool {
        match self {
            Self::Task(of_map, number) => (of_map, number) == (is_map, task),
            Self::Number(number) => number == task,
        }
    }
}

/// Who writes files of this name.
pub(super) fn writer_of(name: &str) -> Option<Writer> {
    let tag = ["-m-", "-r-"]
        .iter()
        .filter_map(|tag| name.rfind(tag))
        .max();
    let Some(at) = tag else {
        let (number, behind) = number_at(name.rsplit_once('-')?.1)?;
        let is_whole = behind.is_empty() || behind.starts_with('.');
        return is_whole.then_some(Writer::Number(number));
    };
    let (tag, rest) = name.get(at..)?.split_at_checked(3)?;
    Some(Writer::Task(tag == "-m-", number_at(rest)?.0))
}

/// The number of five digits and more that `text` begins with, and what is behind it.
fn number_at(text: &str) -> Option<(u32, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, behind) = text.split_at_checked(digits).filter(|_| digits >= 5)?;
    Some((number.parse().ok()?, behind))
}

/// Whether a file of this name could be a map's as well as a reduce's: only those write such who write the output, the
/// reduces of a job or the maps of one without any.
#[must_use]
pub fn is_without_stage(name: &str) -> bool {
    matches!(writer_of(name), Some(Writer::Number(_)))
}

/// Where an attempt writes a file of the output: the first at its task under the name that the file is to have, any
/// other beside those.
#[must_use]
pub fn attempt_file(job: &str, attempt: AttemptName, name: &str) -> String {
    let folder = job_folder(job);
    match attempt.number {
        0 => format!("{folder}/{WRITTEN}/{name}"),
        _ => format!("{folder}/{attempt}.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_write_beside_the_output() {
        for output in ["/data/out", "/data/out/"] {
            assert_eq!(absolute(output, "out"), "/data/out");
            assert_eq!(absolute(output, "out/_SUCCESS"), "/data/out/_SUCCESS");
            assert_eq!(absolute(output, "work"), "/data/_out.temporary");
            let owner = "/data/_out.temporary/.owner";
            assert_eq!(absolute(output, OWNER), owner);
        }
        assert_eq!(absolute("/out", "work/j"), "/_out.temporary/j");
    }

    #[test]
    fn an_attempt_is_called_so_that_it_is_found_again() {
        let attempt = AttemptName {
            is_map: false,
            task: 7,
            number: 1,
        };
        assert_eq!(attempt.to_string(), "attempt_r_000007_1");
        assert_eq!(AttemptName::parse("attempt_r_000007_1"), Some(attempt));
        assert_eq!(AttemptName::from_short(&attempt.short()), Some(attempt));
        assert_eq!(attempt.usual(), "part-r-00007");
        for odd in [
            "attempt_r_7_1",
            "attempt_x_000007_1",
            "attempt_r_000007",
            "",
        ] {
            assert_eq!(AttemptName::parse(odd), None, "{odd}");
        }
        for odd in ["", "r", "r7", "x7.1", "r7.", "é7.1"] {
            assert_eq!(AttemptName::from_short(odd), None, "{odd}");
        }
    }

    #[test]
    fn each_file_is_one_task_s() {
        let attempt = AttemptName {
            is_map: true,
            task: 123_456,
            number: 0,
        };
        for name in ["part-m-123456", "a-r-00001-m-123456.gz", "-m-123456"] {
            assert!(attempt.may_write(name), "{name}");
            assert!(!is_without_stage(name), "{name}");
        }
        for name in ["part-123456", "a-00001-123456.gz", "-123456"] {
            assert!(attempt.may_write(name), "{name}");
            assert!(is_without_stage(name), "{name}");
        }
        for name in [
            "part-r-123456",
            "part-m-12345",
            "part-m-1234567",
            "part-m-123456-r-00001",
            "part-r-00001-123456",
            "part-12345",
            "part-123456x",
            "part123456",
            "-123456-",
            "part",
            "a/part-m-123456",
            ".part-m-123456",
            "_part-m-123456",
            "part-m-",
            "",
        ] {
            assert!(!attempt.may_write(name), "{name}");
        }
        let third = AttemptName { task: 3, ..attempt };
        assert!(third.may_write("part-m-00003") && !third.may_write("part-m-0003"));
        assert_eq!(attempt_file("j", third, "a"), "work/j/written/a");
        let second = AttemptName { number: 1, ..third };
        let beside = "work/j/attempt_m_000003_1.a";
        assert_eq!(attempt_file("j", second, "a"), beside);
    }
}
