//! What is seen of tasks while they work: how far they are, and whether they get on.

use std::sync::PoisonError;
use std::time::Duration;

use gerbil_task::settings::{
    ACC_TIMEOUT, COPIES, DISK_FULLNESS, KNOWN, LOCAL_DISK, LOCAL_DISKS, MEMORY, TIMEOUT,
};
use gerbil_task::{Blame, Blamed, Phase, Welcome};
use job::wire::TaskSeen;
use nix::unistd::{Pid, SysconfVar, sysconf};
use policy::scratch::ScratchLimits;
use tokio::time::Instant;

use super::attempt::Attempt;
use crate::shuffle::PATIENCE;

/// Between two looks, unless a timeout is shorter.
pub(super) const LOOK: Duration = Duration::from_secs(1);
/// A look costs something too.
pub(super) const LOOK_MIN: Duration = Duration::from_millis(50);

/// Each of them has a thread.
const COPIES_MAX: usize = 32;

/// What a task may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Without a sign of life; none: it may take its time.
    timeout: Option<Duration>,
    /// In memory, bytes; none: as much as there is.
    memory: Option<u64>,
}

impl Bounds {
    /// As the job's settings tell.
    ///
    /// # Errors
    ///
    /// One is no number: a sentence.
    pub(super) fn of(welcome: &Welcome) -> Result<Self, String> {
        let number =
            |name| Ok::<_, String>(Some(number(welcome, name)?).filter(|number| *number > 0));
        Ok(Self {
            timeout: number(TIMEOUT)?.map(Duration::from_millis),
            memory: number(MEMORY)?.map(|mib| mib.saturating_mul(1 << 20)),
        })
    }
}

/// How long an attempt stands in line for devices that others hold, as the job's settings tell; `welcome` is an order's.
///
/// # Errors
///
/// That is no number: a sentence.
pub(super) fn lease_wait(welcome: &str) -> Result<Duration, String> {
    let welcome: Welcome = serde_json::from_str(welcome)
        .map_err(|error| format!("the welcome of an order: {error}"))?;
    number(&welcome, ACC_TIMEOUT).map(Duration::from_secs)
}

/// Launchers that a reduce fetches from at the same time, as the job's settings tell.
///
/// # Errors
///
/// That is no number: a sentence.
pub(super) fn copies(welcome: &Welcome) -> Result<usize, String> {
    let copies = usize::try_from(number(welcome, COPIES)?).unwrap_or(usize::MAX);
    Ok(copies.clamp(1, COPIES_MAX))
}

/// What tasks may have of the disks of their container on the node `host`, as the job's settings tell.
///
/// # Errors
///
/// One is no number: a sentence.
pub(super) fn limits(welcome: &Welcome, host: &str) -> Result<ScratchLimits, String> {
    let number = |name| Ok::<_, String>(Some(number(welcome, name)?).filter(|number| *number > 0));
    let fullness = number(DISK_FULLNESS)?.filter(|percent| *percent < 100);
    Ok(ScratchLimits {
        most: match of_node(welcome, host)? {
            None => number(LOCAL_DISK)?,
            Some(mib) => Some(mib).filter(|mib| *mib > 0),
        }
        .map(|mib| mib.saturating_mul(1 << 20)),
        fullness: fullness.and_then(|percent| u8::try_from(percent).ok()),
    })
}

/// MiB of disk that the node `host` has of its own; none: as much as every node.
fn of_node(welcome: &Welcome, host: &str) -> Result<Option<u64>, String> {
    let text = welcome.settings.get(LOCAL_DISKS).map(String::as_str);
    let nodes = text.unwrap_or_default().split(',').map(str::trim);
    let mut own = None;
    for node in nodes.filter(|node| !node.is_empty()) {
        let found = node.split_once('=').and_then(|(name, mib)| {
            let mib: u64 = mib.trim().parse().ok()?;
            Some((name.trim(), mib))
        });
        let (name, mib) = found.ok_or_else(|| {
            format!("{LOCAL_DISKS} has {node:?}: give a host and a number of MiB, as in node3=5120")
        })?;
        if name == host {
            own = Some(mib);
        }
    }
    Ok(own)
}

/// A setting that is a number.
fn number(welcome: &Welcome, name: &str) -> Result<u64, String> {
    let default = KNOWN.iter().find(|known| known.name == name);
    let given = welcome.settings.get(name).map(String::as_str);
    let text = given.or(default.map(|known| known.default));
    let text = text.unwrap_or_default();
    let number = text.trim().parse();
    number.map_err(|_no_number| {
        let which = match name {
            COPIES => "from 1 on",
            ACC_TIMEOUT => "of seconds",
            _ => "0 for no limit",
        };
        format!("{name} is {text:?}: give a number, {which}")
    })
}

/// Whether one task gets on.
#[derive(Debug)]
pub(super) struct Watch {
    bounds: Bounds,
    pid: Pid,
    seen: Blame,
    since: Instant,
    /// It is stopped, and shows no sign of life: its time begins anew when it goes on.
    is_parked: bool,
}

/// What is wrong with a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It showed no sign of life for longer than this.
    Stalled(Duration),
    /// It has more in memory than it may, bytes.
    Overfed { used: u64, limit: u64 },
}

impl Watch {
    pub(super) fn new(bounds: Bounds, pid: Pid, seen: Blame) -> Self {
        Self {
            bounds,
            pid,
            seen,
            since: Instant::now(),
            is_parked: false,
        }
    }

    pub(super) fn park(&mut self, is_parked: bool) {
        (self.is_parked, self.since) = (is_parked, Instant::now());
    }

    /// When the next look is due.
    pub(super) fn pause(&self) -> Duration {
        let quarter = self.bounds.timeout.map_or(LOOK, |timeout| timeout / 4);
        match self.bounds.memory {
            Some(_) => LOOK_MIN,
            None => quarter.clamp(LOOK_MIN, LOOK),
        }
    }

    /// Looks what is wrong, if anything.
    pub(super) fn look(&mut self, blame: Blame) -> Option<Wrong> {
        if blame != self.seen {
            (self.seen, self.since) = (blame, Instant::now());
        }
        let Bounds { timeout, memory } = self.bounds;
        // Who fetches has deadlines of its own, and says then whose fault it is.
        let timeout = match blame.phase {
            Phase::Fetch => timeout.map(|timeout| timeout.max(PATIENCE)),
            _ => timeout,
        };
        let timeout = timeout.filter(|_| !self.is_parked);
        if let Some(timeout) = timeout.filter(|timeout| self.since.elapsed() > *timeout) {
            return Some(Wrong::Stalled(timeout));
        }
        let (limit, used) = memory.zip(resident(self.pid))?;
        (used > limit).then_some(Wrong::Overfed { used, limit })
    }
}

/// Bytes of a process that are in memory.
fn resident(pid: Pid) -> Option<u64> {
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    let page = sysconf(SysconfVar::PAGE_SIZE).ok()??;
    pages.checked_mul(u64::try_from(page).ok()?)
}

/// How far a task is.
pub(super) fn seen(process: u32, attempt: &Attempt) -> TaskSeen {
    let blame = attempt.blame();
    let status = attempt
        .status
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    TaskSeen {
        process,
        done: blame.done,
        wanted: blame.total,
        status: status.clone(),
        pid: attempt.pid.as_raw().try_into().unwrap_or(0),
    }
}

/// What is wrong with a task, in a sentence.
pub(super) fn sentence(attempt: &Attempt, wrong: Wrong) -> String {
    let blame = attempt.blame();
    match (Blamed::of(&attempt.task), wrong) {
        (Some(task), Wrong::Stalled(timeout)) => task.stalled(&blame, timeout),
        (Some(task), Wrong::Overfed { used, limit }) => task.overfed(&blame, used, limit),
        (None, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use gerbil_task::Page;

    use super::*;

    #[test]
    fn bounds_are_hadoop_s_unless_they_are_given() {
        let with = |settings: &[(&str, &str)]| {
            let mut welcome = Welcome::default();
            for (name, value) in settings {
                welcome
                    .settings
                    .insert((*name).to_owned(), (*value).to_owned());
            }
            Bounds::of(&welcome)
        };
        let bounds = |timeout, memory| Ok(Bounds { timeout, memory });
        assert_eq!(with(&[]), bounds(Some(Duration::from_secs(600)), None));
        assert_eq!(
            with(&[(TIMEOUT, "0"), (MEMORY, "2")]),
            bounds(None, Some(2 << 20))
        );
        assert_eq!(
            with(&[(TIMEOUT, "400")]),
            bounds(Some(Duration::from_millis(400)), None)
        );
        let wrong = with(&[(TIMEOUT, "soon")]).unwrap_err();
        assert!(
            wrong.contains("mapreduce.task.timeout is \"soon\""),
            "{wrong}"
        );
    }

    #[test]
    fn disks_have_no_limits_unless_they_are_given() {
        let with = |settings: &[(&str, &str)]| {
            let settings = settings.iter();
            let settings = settings.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let welcome = Welcome {
                settings: settings.collect(),
                ..Welcome::default()
            };
            limits(&welcome, "n3")
        };
        assert_eq!(with(&[]), Ok(ScratchLimits::default()));
        let both = [(LOCAL_DISK, "3"), (DISK_FULLNESS, "85")];
        let wanted = ScratchLimits {
            most: Some(3 << 20),
            fullness: Some(85),
        };
        assert_eq!(with(&both), Ok(wanted));
        assert_eq!(
            with(&[(DISK_FULLNESS, "100")]),
            Ok(ScratchLimits::default())
        );
        assert!(with(&[(LOCAL_DISK, "much")]).is_err());
        // A node's own amount stands over that of all.
        let most = |nodes: &str| {
            let limits = with(&[(LOCAL_DISK, "3"), (LOCAL_DISKS, nodes)]);
            limits.map(|limits| limits.most)
        };
        assert_eq!(most("n2=1, n3=5,n33=7"), Ok(Some(5 << 20)));
        assert_eq!(most("n2=1"), Ok(Some(3 << 20)));
        assert_eq!(most("n3=0"), Ok(None));
        let wrong = most("n2=1,n3").unwrap_err();
        assert!(
            wrong.starts_with("gerbil.local.disk.nodes has \"n3\": give"),
            "{wrong}"
        );
    }

    #[test]
    fn a_reduce_fetches_from_five_launchers_at_once_unless_told() {
        let with = |value: Option<&str>| {
            let mut welcome = Welcome::default();
            if let Some(value) = value {
                welcome.settings.insert(COPIES.to_owned(), value.to_owned());
            }
            copies(&welcome)
        };
        assert_eq!(with(None), Ok(5));
        assert_eq!(with(Some("0")), Ok(1));
        assert_eq!(with(Some("10000")), Ok(COPIES_MAX));
        let wrong = with(Some("all")).unwrap_err();
        assert!(wrong.ends_with("give a number, from 1 on"), "{wrong}");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_shows_no_sign_of_life_or_takes_too_much_is_found() {
        let (page, _descriptor) = Page::create().unwrap();
        page.begin(0, 10);
        let timeout = Duration::from_secs(10);
        let bounds = |timeout, memory| Bounds { timeout, memory };
        let watching = |bounds| Watch::new(bounds, Pid::this(), page.read());
        let mut watch = watching(bounds(Some(timeout), None));
        assert_eq!(watch.pause(), LOOK);
        tokio::time::advance(Duration::from_secs(9)).await;
        page.done(5);
        assert_eq!(watch.look(page.read()), None);
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(watch.look(page.read()), None);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(watch.look(page.read()), Some(Wrong::Stalled(timeout)));
        // One that is stopped has all its time again when it goes on.
        let mut parked = watching(bounds(Some(timeout), None));
        parked.park(true);
        tokio::time::advance(timeout * 9).await;
        assert_eq!(parked.look(page.read()), None);
        parked.park(false);
        tokio::time::advance(timeout).await;
        assert_eq!(parked.look(page.read()), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(parked.look(page.read()), Some(Wrong::Stalled(timeout)));
        // It may wait for what is brought longer than its own code may take.
        page.phase(Phase::Fetch);
        let mut fetching = watching(bounds(Some(timeout), None));
        tokio::time::advance(PATIENCE).await;
        assert_eq!(fetching.look(page.read()), None);
        page.alive();
        tokio::time::advance(PATIENCE).await;
        assert_eq!(fetching.look(page.read()), None);
        tokio::time::advance(PATIENCE + timeout).await;
        assert_eq!(fetching.look(page.read()), Some(Wrong::Stalled(PATIENCE)));
        let mut patient = watching(bounds(None, Some(1 << 40)));
        tokio::time::advance(Duration::from_secs(9999)).await;
        assert_eq!(patient.look(page.read()), None);
        let mut poor = watching(bounds(None, Some(1)));
        assert_eq!(poor.pause(), LOOK_MIN);
        let wrong = poor.look(page.read());
        assert!(
            matches!(wrong, Some(Wrong::Overfed { limit: 1, .. })),
            "{wrong:?}"
        );
        let short = watching(bounds(Some(Duration::from_millis(100)), None));
        assert_eq!(short.pause(), LOOK_MIN);
    }
}
