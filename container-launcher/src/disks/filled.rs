//! Ranks that fill a disk of the container: whose they are, and which is to end before YARN gives the node up.
//!
//! A rank writes what it likes, where a task says what it keeps. So a job has what lies in its folder, and what its
//! processes have open that has no name any more; of its ranks the one is named whose processes have written the most.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use job::JobId;
use policy::scratch::{ScratchLimits, filler};

use super::room::{WRITTEN, megabytes};
use super::{BLOCK, Disks, SeenDisk, nameless};
use crate::process::Id;
use crate::processes::{self, ProcessStat};
use crate::samples::leader;

/// Between two looks.
const LEAST: Duration = Duration::from_millis(50);
const MOST: Duration = Duration::from_secs(5);
/// Files of one job that are looked at: what so many have is enough to tell.
const FILES: usize = 200_000;

/// A job that may have filled a disk.
#[derive(Clone, Debug)]
pub(crate) struct Suspect {
    pub(crate) job: JobId,
    /// Where its ranks write unless they say another place.
    pub(crate) folder: PathBuf,
    /// Its node, as the job calls it.
    pub(crate) host: String,
    /// Numbers and pids of its ranks.
    pub(crate) ranks: Vec<(u32, i32)>,
}

/// What a look at the disks has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiskLook {
    /// The rank to end, and why, a whole sentence.
    pub(crate) filled: Option<(Id, String)>,
    /// Until the next look.
    pub(crate) pause: Duration,
}

impl Disks {
    /// Looks whether a disk is fuller than `percent` hundredths, and whose fault that is.
    pub(crate) fn filled(&self, percent: u8, suspects: &[Suspect]) -> DiskLook {
        let limits = ScratchLimits {
            most: None,
            fullness: Some(percent),
        };
        let seen = self.look();
        let rooms = seen.iter().map(|of| limits.room(of.disk, 0));
        let room = rooms.min().unwrap_or_default();
        let full = seen
            .iter()
            .filter(|of| limits.exceeded(of.disk, 0).is_some());
        let mut full = full.peekable();
        // Others have filled it, and looking for that costs something.
        let pause = match full.peek() {
            Some(_) => MOST,
            None => Duration::from_millis(room / WRITTEN).clamp(LEAST, MOST),
        };
        let filled = full.find_map(|of| by_whom(of, percent, suspects));
        DiskLook { filled, pause }
    }
}

/// Who is to end of those that have something on a disk that is too full.
fn by_whom(full: &SeenDisk<'_>, percent: u8, suspects: &[Suspect]) -> Option<(Id, String)> {
    let processes = processes::all();
    let has = suspects.iter().map(|of| {
        let open = of.processes(&processes).into_keys().flat_map(nameless);
        let open = open.filter(|(device, ..)| *device == full.device);
        let open = open.fold(0, |sum: u64, (.., bytes)| sum.saturating_add(bytes));
        let named = bytes_below(&of.folder, full.device);
        (of.job.0, named.saturating_add(open))
    });
    let has: BTreeMap<u32, u64> = sort::map(has);
    let job = filler(full.disk, has.iter().map(|(job, bytes)| (*job, *bytes)))?;
    let of = suspects.iter().find(|of| of.job.0 == job)?;
    let number = of.writer(&processes)?;
    let sentence = format!(
        "rank {number} on {} was ended, and its job with it: the job has {} in {}, whose disk is {} % full, and ranks of \
         a session leave one at {percent} %, before YARN gives up the node with all that runs there; write less there, \
         or to HDFS",
        of.host,
        megabytes(has.get(&job).copied().unwrap_or_default()),
        of.folder.display(),
        full.disk.percent(),
    );
    Some((
        Id {
            job: of.job,
            number,
        },
        sentence,
    ))
}

impl Suspect {
    /// The processes of its ranks, and whose each is.
    fn processes(&self, all: &BTreeMap<i32, ProcessStat>) -> BTreeMap<i32, u32> {
        let ranks: BTreeMap<i32, u32> =
            self.ranks.iter().map(|(rank, pid)| (*pid, *rank)).collect();
        let own = all.keys().filter_map(|&pid| {
            let leads = leader(pid, all, |pid| ranks.contains_key(&pid))?;
            Some((pid, *ranks.get(&leads)?))
        });
        own.collect()
    }

    /// The rank whose processes have written the most, those that have ended included; of equals the first.
    fn writer(&self, all: &BTreeMap<i32, ProcessStat>) -> Option<u32> {
        let mut written: BTreeMap<u32, u64> =
            self.ranks.iter().map(|(rank, _)| (*rank, 0)).collect();
        for (pid, rank) in self.processes(all) {
            let bytes = bytes_written(pid);
            let all = written.entry(rank).or_default();
            *all = all.saturating_add(bytes);
        }
        let most = written.into_iter().rev().max_by_key(|(_, bytes)| *bytes);
        most.map(|(rank, _)| rank)
    }
}

/// What a process has written to anything so far, and children of it that it has waited for; 0: nobody says.
fn bytes_written(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.and_then(|bytes| bytes.trim().parse().ok())
        .unwrap_or_default()
}

/// What the files below a folder have on a disk. Links lead elsewhere.
fn bytes_below(folder: &Path, device: u64) -> u64 {
    let mut folders = vec![folder.to_owned()];
    let (mut sum, mut left) = (0_u64, FILES);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Some(fewer) = left.checked_sub(1) else {
                return sum;
            };
            left = fewer;
            match entry.metadata() {
                Ok(about) if about.is_dir() => folders.push(entry.path()),
                Ok(about) if about.dev() == device => {
                    sum = sum.saturating_add(about.blocks().saturating_mul(BLOCK));
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn files_of_all_folders_count_and_what_links_lead_to_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let job = folder.path().join("job");
        fs::create_dir_all(job.join("deep/er")).unwrap();
        let write = |path: &Path| {
            let mut file = fs::File::create(path).unwrap();
            file.write_all(&vec![1; 1 << 20]).unwrap();
            file.sync_all().unwrap();
        };
        write(&job.join("one"));
        write(&job.join("deep/er/two"));
        write(&folder.path().join("other"));
        std::os::unix::fs::symlink(folder.path(), job.join("link")).unwrap();
        let device = fs::metadata(&job).unwrap().dev();
        let bytes = bytes_below(&job, device);
        assert!((2 << 20..3 << 20).contains(&bytes), "{bytes}");
        assert_eq!(bytes_below(&job, device + 1), 0);
        assert_eq!(bytes_below(&job.join("gone"), device), 0);
    }

    #[test]
    fn the_rank_that_writes_is_named_though_its_children_do_it() {
        let start = |script: &str| {
            Command::new("sh")
                .args(["-c", script])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let mut idle = start("echo up; read line");
        let mut busy = start("head -c 3000000 /dev/zero > /dev/null; echo up; read line");
        for child in [&mut idle, &mut busy] {
            let mut line = [0; 3];
            std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        }
        let pid = |child: &std::process::Child| i32::try_from(child.id()).unwrap();
        let suspect = Suspect {
            job: JobId(1),
            folder: PathBuf::new(),
            host: "n1".into(),
            ranks: vec![(4, pid(&idle)), (5, pid(&busy))],
        };
        let all = processes::all();
        assert_eq!(suspect.processes(&all).len(), 2);
        assert_eq!(suspect.writer(&all), Some(5));
        for mut child in [idle, busy] {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
        let none = Suspect {
            ranks: Vec::new(),
            ..suspect
        };
        assert_eq!(none.writer(&all), None);
    }

    #[test]
    fn a_disk_with_room_is_looked_at_seldom_and_blames_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let disks = Disks::at(vec![folder.path().to_owned()]);
        let look = disks.filled(100, &[]);
        assert_eq!(look.filled, None);
        assert!(look.pause >= LEAST && look.pause <= MOST);
        assert_eq!(disks.filled(0, &[]).pause, MOST);
    }
}
