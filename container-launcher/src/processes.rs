//! The processes of the node, as `/proc/PID/stat` tells of them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// One process. Sizes and times are in the kernel's units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    pub(crate) parent: i32,
    /// Its process group.
    pub(crate) group: i32,
    pub(crate) is_zombie: bool,
    /// User and system time, that of children it has waited for included, clock ticks.
    pub(crate) ticks: u64,
    pub(crate) virtual_bytes: u64,
    pub(crate) resident_pages: u64,
}

/// All processes of the node that can be seen, by pid.
pub(crate) fn all() -> BTreeMap<i32, ProcessStat> {
    all_minding(|| ControlFlow::Continue(()), |_| true)
}

/// The same of those that are wanted, for a thread that has more to do: calls `between` before each
/// process, and ends there when told to break.
pub(crate) fn all_minding(
    mut between: impl FnMut() -> ControlFlow<()>,
    mut is_wanted: impl FnMut(i32) -> bool,
) -> BTreeMap<i32, ProcessStat> {
    let Ok(folder) = std::fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    folder
        .take_while(|_| between().is_continue())
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|&pid| is_wanted(pid))
        .filter_map(|pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            Some((pid, parse(&stat)?))
        })
        .collect()
}

/// What a process has resident, its part of what it shares with others, KiB. `None`: it is gone, or the kernel
/// is older than 4.14.
pub(crate) fn proportional_kib(pid: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    proportional(&text)
}

/// `Pss:    1234 kB`.
fn proportional(rollup: &str) -> Option<u64> {
    let told = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    told.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// `pid (name) state parent group …`; the name may hold anything, parentheses too. Fields are counted
/// as proc(5) does, the state being the third.
fn parse(stat: &str) -> Option<ProcessStat> {
    let (_, after) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number.checked_sub(3)?).copied();
    let count = |number| field(number).and_then(|text| text.parse::<u64>().ok());
    // User, system, and the same of children.
    let ticks = [14, 15, 16, 17].into_iter().filter_map(count);
    Some(ProcessStat {
        is_zombie: matches!(field(3)?, "Z" | "X"),
        parent: field(4)?.parse().ok()?,
        group: field(5)?.parse().ok()?,
        ticks: ticks.fold(0, u64::saturating_add),
        virtual_bytes: count(23).unwrap_or(0),
        resident_pages: count(24).unwrap_or(0),
    })
}

/// What a process makes of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalDisposition {
    /// It has a handler.
    Handler,
    /// Its first thread holds the signal back: the program waits for it, or starts a thread or a process
    /// just now.
    HeldBack,
    /// It would be killed, or does not care, or is gone.
    None,
}

/// What `pid` makes of `signal`.
pub(crate) fn answer(pid: i32, signal: i32) -> SignalDisposition {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
    status.map_or(SignalDisposition::None, |status| answer_by(&status, signal))
}

/// Signal n is bit n - 1 of each mask.
fn answer_by(status: &str, signal: i32) -> SignalDisposition {
    let bit = u32::try_from(signal - 1).ok();
    let Some(bit) = bit.and_then(|bit| 1_u64.checked_shl(bit)) else {
        return SignalDisposition::None;
    };
    let has = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask & bit != 0)
    };
    if has("SigCgt:") {
        SignalDisposition::Handler
    } else if has("SigBlk:") {
        SignalDisposition::HeldBack
    } else {
        SignalDisposition::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_its_part_of_what_it_shares() {
        let rollup = "7f00-7fff ---p 00000000 00:00 0   [rollup]\nRss:   2048 kB\nPss:    700 kB\nPss_Dirty: 1 kB\n";
        assert_eq!(proportional(rollup), Some(700));
        assert_eq!(proportional("Rss: 1 kB\n"), None);
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(proportional_kib(own).is_some_and(|kib| kib > 100));
        assert_eq!(proportional_kib(i32::MAX), None);
    }

    #[test]
    fn a_signal_is_answered_by_a_handler_or_by_waiting_for_it() {
        let status = "Name:\tp\nSigBlk:\t0000000000000800\nSigIgn:\t0000000000000200\nSigCgt:\t0000000000000400\n";
        // SIGUSR1 is ignored, SIGSEGV handled, SIGUSR2 waited for.
        assert_eq!(answer_by(status, 10), SignalDisposition::None);
        assert_eq!(answer_by(status, 11), SignalDisposition::Handler);
        assert_eq!(answer_by(status, 12), SignalDisposition::HeldBack);
        for (status, signal) in [(status, 0), (status, 65), ("", 11)] {
            assert_eq!(answer_by(status, signal), SignalDisposition::None);
        }
        assert_eq!(answer(0, 10), SignalDisposition::None);
    }

    #[test]
    fn names_with_parentheses_do_not_confuse() {
        let process = parse("42 (a) b) S 7 42 42 0").unwrap();
        assert_eq!((process.parent, process.is_zombie), (7, false));
        assert!(parse("42 (a) Z 7 42").unwrap().is_zombie);
        assert_eq!(parse("nonsense"), None);
    }

    #[test]
    fn fields_are_those_of_proc_5() {
        let stat = "9 (p) R 7 8 8 0 -1 4194304 1 2 3 4 100 20 30 4 20 0 1 0 555 8192 77 1 1";
        let expected = ProcessStat {
            parent: 7,
            group: 8,
            is_zombie: false,
            ticks: 154,
            virtual_bytes: 8192,
            resident_pages: 77,
        };
        assert_eq!(parse(stat), Some(expected));
    }

    #[test]
    fn this_process_uses_something() {
        let all = all();
        let this = all.get(&nix::unistd::Pid::this().as_raw()).unwrap();
        assert!(this.resident_pages > 0 && this.virtual_bytes > 0);
        assert_eq!(this.parent, nix::unistd::getppid().as_raw());
    }
}
