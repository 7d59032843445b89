//! Classes of cores: whether some of a node's cores are slower than others.
//!
//! By the kernel's lists of hybrid processors, else by the capacities that it gives cores, else by their
//! highest frequencies.

use std::fs;
use std::path::Path;

use job::element::{Element, ElementKind};

/// A class ends where the next core has less than so many hundredths of the one before.
const GAP: u64 = 90;
/// By which cores are compared, the better first: the kernel's capacity, 1024 of the fastest, and kHz.
const MEASURES: [&str; 2] = ["cpu_capacity", "cpufreq/cpuinfo_max_freq"];

/// Those of the machine below `root`: one of cores that are alike, or a fast and a slow one; none where nothing
/// tells.
pub(super) fn classes(root: &Path) -> Vec<Element> {
    let devices = root.join("sys/devices");
    let listed = |name: &str| {
        let text = fs::read_to_string(devices.join(name).join("cpus")).ok()?;
        count(text.trim())
    };
    if let (Some(fast), Some(slow)) = (listed("cpu_core"), listed("cpu_atom")) {
        let evidence = |name: &str| format!("/sys/devices/{name}/cpus");
        return vec![
            class("fast", fast, evidence("cpu_core")),
            class("slow", slow, evidence("cpu_atom")),
        ];
    }
    let cpus = devices.join("system/cpu");
    let measured = MEASURES.into_iter().find_map(|measure| {
        let values = values(&cpus, measure);
        (!values.is_empty()).then_some((measure, values))
    });
    let Some((measure, values)) = measured else {
        return Vec::new();
    };
    let evidence = format!("/sys/devices/system/cpu/cpu*/{measure}");
    let (fast, slow) = split(values);
    match slow {
        0 => vec![class("plain", fast, evidence)],
        _ => vec![
            class("fast", fast, evidence.clone()),
            class("slow", slow, evidence),
        ],
    }
}

fn class(model: &str, count: u32, evidence: String) -> Element {
    Element {
        model: model.to_owned(),
        count,
        evidence: vec![evidence],
        ..Element::none_of(ElementKind::CoreClass)
    }
}

/// What `measure` says of each core.
fn values(cpus: &Path, measure: &str) -> Vec<u64> {
    let entries = fs::read_dir(cpus).into_iter().flatten().flatten();
    let cores = entries.filter(|entry| {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("cpu"));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    });
    let value = |core: fs::DirEntry| {
        let text = fs::read_to_string(core.path().join(measure)).ok()?;
        text.trim().parse().ok()
    };
    cores.filter_map(value).collect()
}

/// How many cores are of the fastest class, and how many are not.
fn split(mut values: Vec<u64>) -> (u32, u32) {
    values.sort_unstable_by(|a, b| b.cmp(a));
    let pairs = values.iter().zip(values.iter().skip(1));
    let ends =
        |(one, next): (&u64, &u64)| u128::from(*next) * 100 < u128::from(*one) * u128::from(GAP);
    let fast = pairs.take_while(|pair| !ends(*pair)).count();
    let fast = fast.saturating_add(1).min(values.len());
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    (number(fast), number(values.len().saturating_sub(fast)))
}

/// How many a list has such as `0-3,8`.
fn count(list: &str) -> Option<u32> {
    list.split(',').try_fold(0_u32, |sum, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join("sys/devices").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn found(root: &Path) -> Vec<(String, u32)> {
        let classes = classes(root).into_iter();
        classes.map(|class| (class.model, class.count)).collect()
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
            (10, 3_800_000),
        ] {
            let file = format!("system/cpu/cpu{core}/cpufreq/cpuinfo_max_freq");
            write(root, &file, &format!("{khz}\n"));
        }
        write(root, "system/cpu/cpufreq/policy0/scaling_max_freq", "1\n");
        assert_eq!(found(root), [("fast".into(), 2), ("slow".into(), 2)]);
        for core in [0, 1, 2, 10] {
            write(
                root,
                &format!("system/cpu/cpu{core}/cpu_capacity"),
                "1024\n",
            );
        }
        assert_eq!(found(root), [("plain".into(), 4)]);
        write(root, "cpu_core/cpus", "0-3,8\n");
        assert_eq!(found(root), [("plain".into(), 4)]);
        write(root, "cpu_atom/cpus", "4-7\n");
        assert_eq!(found(root), [("fast".into(), 5), ("slow".into(), 4)]);
    }

    #[test]
    fn cores_within_a_tenth_of_each_other_are_alike() {
        assert_eq!(split(vec![100, 91, 95]), (3, 0));
        assert_eq!(split(vec![400, 1024, 400, 1024, 200]), (2, 3));
        assert_eq!(split(Vec::new()), (0, 0));
        assert_eq!(count("4-1"), None);
        assert_eq!(count(""), None);
    }
}
