//! Classes of cores: whether some of those that a launcher may use are slower than others.
//!
//! The first of these tells: what the session was started with, the kernel's lists of hybrid processors, the
//! capacities that it gives cores, their highest frequencies, and, where that is wanted, how fast they count.

mod measure;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use job::element::{Element, ElementKind, GivenCores, Scan, core_list};
use nix::errno::Errno;
use nix::sched::{sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// A class ends where the next core has less than so many hundredths of the one before.
const GAP: u64 = 90;
/// By which cores are compared, the better first: the kernel's capacity, 1024 of the fastest, and kHz.
const MEASURES: [&str; 2] = ["cpu_capacity", "cpufreq/cpuinfo_max_freq"];

/// Those of `mask` on the machine below `root`: one of cores that are alike, or a fast and a slow one; none where nothing
/// tells.
pub(super) fn classes(root: &Path, scan: Option<&Scan>, mask: &BTreeSet<u32>) -> Vec<Element> {
    if let Some(given) = scan.and_then(|scan| scan.cores.first()) {
        return as_given(given, mask);
    }
    let devices = root.join("sys/devices");
    let listed = |name: &str| {
        let text = fs::read_to_string(devices.join(name).join("cpus")).ok()?;
        let cores = numbers(text.trim())?;
        Some(cores.intersection(mask).copied().collect::<BTreeSet<u32>>())
    };
    let cpus = devices.join("system/cpu");
    let measured = MEASURES.into_iter().find_map(|measure| {
        let values = values(&cpus, measure, mask);
        (!values.is_empty()).then_some((measure, values))
    });
    if let (Some(fast), Some(slow)) = (listed("cpu_core"), listed("cpu_atom")) {
        let values = measured.map(|(_, values)| values).unwrap_or_default();
        let of = |model: &str, cores: BTreeSet<u32>, name: &str| {
            let evidence = vec![format!("/sys/devices/{name}/cpus")];
            class(model, cores, &values, evidence)
        };
        // A mask may leave one of the two.
        let of_slow = if fast.is_empty() { "plain" } else { "slow" };
        let of_fast = if slow.is_empty() { "plain" } else { "fast" };
        let both = [of(of_fast, fast, "cpu_core"), of(of_slow, slow, "cpu_atom")];
        return both.into_iter().filter(|of| of.count > 0).collect();
    }
    let measured = measured.map(|(measure, values)| {
        let name = measure.rsplit('/').next().unwrap_or(measure);
        (
            format!("/sys/devices/system/cpu/cpu*/{measure}"),
            name,
            values,
        )
    });
    let wants = scan.is_some_and(|scan| scan.measures_cores) && root == Path::new("/");
    let counted = || {
        let counts = measure::counted(mask);
        let evidence = "measured, 50 ms a core, three times".to_owned();
        (!counts.is_empty()).then_some((evidence, "count", counts))
    };
    let Some((evidence, name, values)) = measured.or_else(|| wants.then(counted).flatten()) else {
        return Vec::new();
    };
    let (fast, slow) = split(&values);
    if slow.is_empty() {
        let alike = alike(name, &values);
        return vec![class("plain", fast, &values, vec![evidence, alike])];
    }
    vec![
        class("fast", fast, &values, vec![evidence.clone()]),
        class("slow", slow, &values, vec![evidence]),
    ]
}

/// Where nothing may be bound to cores, none is known to run on fast or on slow ones: `may` is what binding comes to.
pub(super) fn bindable(classes: Vec<Element>, may: Result<(), Errno>) -> Vec<Element> {
    let Err(errno) = may else { return classes };
    let why = format!(
        "the kernel does not let its launcher bind tasks to cores: {}",
        errno.desc()
    );
    let classes = classes.into_iter().map(|class| match class.model.as_str() {
        "plain" => class,
        _ => Element {
            broken: class.broken.or_else(|| Some(why.clone())),
            ..class
        },
    });
    classes.collect()
}

/// Binds this thread to the cores that it may use anyhow.
pub(super) fn may_bind() -> Result<(), Errno> {
    let own = Pid::from_raw(0);
    sched_setaffinity(own, &sched_getaffinity(own)?)
}

/// Cores that this launcher may not use are no cores: then none of the classes holds.
fn as_given(given: &GivenCores, mask: &BTreeSet<u32>) -> Vec<Element> {
    let all = given.fast.iter().chain(&given.slow);
    let outside = all.copied().find(|core| !mask.contains(core));
    let broken = outside.map(|core| {
        let own: Vec<u32> = mask.iter().copied().collect();
        format!(
            "--cores names core {core}, and the launcher may use cores {}",
            core_list(&own)
        )
    });
    let classes = [("fast", &given.fast), ("slow", &given.slow)];
    let classes = classes.into_iter().map(|(model, cores)| Element {
        broken: broken.clone(),
        ..class(
            model,
            cores.iter().copied().collect(),
            &BTreeMap::new(),
            vec!["--cores".to_owned()],
        )
    });
    classes.collect()
}

fn class(
    model: &str,
    cores: BTreeSet<u32>,
    values: &BTreeMap<u32, u64>,
    evidence: Vec<String>,
) -> Element {
    let most = values.values().max().copied().unwrap_or_default();
    let own = cores.iter().filter_map(|core| values.get(core)).min();
    let least = own.copied().unwrap_or_default();
    let speed = least.saturating_mul(100).checked_div(most).unwrap_or(0);
    Element {
        model: model.to_owned(),
        count: u32::try_from(cores.len()).unwrap_or(u32::MAX),
        evidence,
        cpus: cores.into_iter().collect(),
        speed: u32::try_from(speed).unwrap_or(u32::MAX),
        ..Element::none_of(ElementKind::CoreClass)
    }
}

/// `cpu_capacity 1024 on all 8`.
fn alike(name: &str, values: &BTreeMap<u32, u64>) -> String {
    let least = values.values().min().copied().unwrap_or_default();
    let most = values.values().max().copied().unwrap_or_default();
    let count = values.len();
    match least == most {
        true => format!("{name} {most} on all {count}"),
        false => format!("{name} {least} to {most} on all {count}"),
    }
}

/// What `measure` says of each core.
fn values(cpus: &Path, measure: &str, mask: &BTreeSet<u32>) -> BTreeMap<u32, u64> {
    let value = |core: &u32| {
        let path = cpus.join(format!("cpu{core}")).join(measure);
        let text = fs::read_to_string(path).ok()?;
        Some((*core, text.trim().parse().ok()?))
    };
    mask.iter().filter_map(value).collect()
}

/// The cores of the fastest class, and those that are not.
fn split(values: &BTreeMap<u32, u64>) -> (BTreeSet<u32>, BTreeSet<u32>) {
    let mut sorted: Vec<u64> = values.values().copied().collect();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let pairs = sorted.iter().zip(sorted.iter().skip(1));
    let ends =
        |(one, next): &(&u64, &u64)| u128::from(**next) * 100 < u128::from(**one) * u128::from(GAP);
    let below = pairs.into_iter().find(ends).map(|(_, next)| *next);
    let is_fast = |value: u64| below.is_none_or(|below| value > below);
    let fast = values.iter().filter(|(_, value)| is_fast(**value));
    let slow = values.iter().filter(|(_, value)| !is_fast(**value));
    (
        fast.map(|(core, _)| *core).collect(),
        slow.map(|(core, _)| *core).collect(),
    )
}

/// The numbers of a list such as `0-3,8`.
fn numbers(list: &str) -> Option<BTreeSet<u32>> {
    let mut all = BTreeSet::new();
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || last.saturating_sub(first) > MOST {
            return None;
        }
        all.extend(first..=last);
    }
    Some(all)
}

/// No machine has more cores.
const MOST: u32 = 8_192;

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join("sys/devices").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn found_of(root: &Path, mask: impl IntoIterator<Item = u32>) -> Vec<(String, Vec<u32>, u32)> {
        let mask = mask.into_iter().collect();
        let classes = classes(root, None, &mask).into_iter();
        classes
            .map(|class| (class.model, class.cpus, class.speed))
            .collect()
    }

    fn found(root: &Path) -> Vec<(String, Vec<u32>, u32)> {
        found_of(root, 0..100)
    }

    fn of(model: &str, cores: &[u32], speed: u32) -> (String, Vec<u32>, u32) {
        (model.to_owned(), cores.to_vec(), speed)
    }

    #[test]
    fn the_kernels_lists_go_before_what_it_says_of_each_core() {
        let node = tempfile::tempdir().unwrap();
        let root = node.path();
        assert_eq!(found(root), []);
        for (core, khz) in [
            (0, 5_000_000),
            (1, 5_200_000),
            (2, 3_800_000),
            (10, 3_900_000),
        ] {
            let file = format!("system/cpu/cpu{core}/cpufreq/cpuinfo_max_freq");
            write(root, &file, &format!("{khz}\n"));
        }
        write(root, "system/cpu/cpufreq/policy0/scaling_max_freq", "1\n");
        let both = [of("fast", &[0, 1], 96), of("slow", &[2, 10], 73)];
        assert_eq!(found(root), both);
        for core in [0, 1, 2, 10] {
            write(
                root,
                &format!("system/cpu/cpu{core}/cpu_capacity"),
                "1024\n",
            );
        }
        assert_eq!(found(root), [of("plain", &[0, 1, 2, 10], 100)]);
        let plain = classes(root, None, &(0..100).collect());
        assert_eq!(plain[0].evidence[1], "cpu_capacity 1024 on all 4");
        write(root, "cpu_core/cpus", "0-1,8\n");
        assert_eq!(found(root), [of("plain", &[0, 1, 2, 10], 100)]);
        write(root, "cpu_atom/cpus", "2-3\n");
        let listed = [of("fast", &[0, 1, 8], 100), of("slow", &[2, 3], 100)];
        assert_eq!(found(root), listed);
    }

    #[test]
    fn only_cores_of_the_launchers_mask_count() {
        let node = tempfile::tempdir().unwrap();
        let root = node.path();
        for (core, capacity) in [(0, 1024), (1, 1024), (2, 446), (3, 446)] {
            let file = format!("system/cpu/cpu{core}/cpu_capacity");
            write(root, &file, &format!("{capacity}\n"));
        }
        let both = [of("fast", &[1], 100), of("slow", &[2], 43)];
        assert_eq!(found_of(root, [1, 2, 7]), both);
        assert_eq!(found_of(root, [2, 3]), [of("plain", &[2, 3], 100)]);
        write(root, "cpu_core/cpus", "0-1\n");
        write(root, "cpu_atom/cpus", "2-3\n");
        assert_eq!(found_of(root, [3]), [of("plain", &[3], 100)]);
    }

    #[test]
    fn what_is_given_goes_before_all_else_unless_the_launcher_may_not_use_it() {
        let scan = Scan {
            cores: vec!["fast=0,slow=1".parse().unwrap()],
            ..Scan::default()
        };
        let of_mask =
            |mask: &[u32]| classes(Path::new("/"), Some(&scan), &mask.iter().copied().collect());
        let both = of_mask(&[0, 1, 2]);
        let shown: Vec<_> = both
            .iter()
            .map(|of| (of.model.as_str(), of.cpus.as_slice(), of.usable()))
            .collect();
        assert_eq!(shown, [("fast", &[0][..], 1), ("slow", &[1][..], 1)]);
        let outside = of_mask(&[0, 2, 3]);
        assert!(outside.iter().all(|of| of.usable() == 0));
        let why = outside[0].broken.as_deref().unwrap();
        assert_eq!(
            why,
            "--cores names core 1, and the launcher may use cores 0,2-3"
        );
    }

    #[test]
    fn where_nothing_may_be_bound_no_core_is_fast_or_slow() {
        assert_eq!(may_bind(), Ok(()));
        let known = |model, core| class(model, [core].into(), &BTreeMap::new(), Vec::new());
        let both = || vec![known("fast", 0), known("slow", 1)];
        assert_eq!(bindable(both(), Ok(())), both());
        for class in bindable(both(), Err(Errno::EPERM)) {
            let why = class.broken.unwrap();
            assert_eq!(
                why,
                "the kernel does not let its launcher bind tasks to cores: Operation not permitted"
            );
        }
        let plain = vec![known("plain", 0)];
        assert_eq!(bindable(plain.clone(), Err(Errno::EPERM)), plain);
    }

    #[test]
    fn cores_within_a_tenth_of_each_other_are_alike() {
        let split = |values: &[u64]| {
            let (fast, slow) = split(&(0..).zip(values.iter().copied()).collect());
            (fast.len(), slow.len())
        };
        assert_eq!(split(&[100, 91, 95]), (3, 0));
        assert_eq!(split(&[400, 1024, 400, 1024, 200]), (2, 3));
        assert_eq!(split(&[]), (0, 0));
        assert_eq!(numbers("4-1"), None);
        assert_eq!(numbers(""), None);
    }
}
