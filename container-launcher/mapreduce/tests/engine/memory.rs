//! What a job has in memory and on the disk, beside what it says that it may have.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::Stdio;
use std::time::Duration;

use crate::program::{Bed, command, program};

/// Pages of a process that are in memory, and files without a name and without a disk that it has open, bytes.
#[cfg(test)]
fn memory_of(pid: u32, files: &mut BTreeMap<u64, u64>) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    for file in fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten() {
        let is_memory = fs::read_link(file.path())
            .is_ok_and(|to| to.starts_with("/memfd:gerbil-spill (deleted)"));
        if let Ok(about) = fs::metadata(file.path())
            && is_memory
        {
            files.insert(about.ino(), about.blocks() * 512);
        }
    }
    Some(pages * rustix::param::page_size() as u64)
}

/// A process and all that descend from it.
#[cfg(test)]
fn tree(root: u32) -> BTreeSet<u32> {
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let all = fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let parents: BTreeMap<u32, u32> = pids.filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut tree = BTreeSet::from([root]);
    loop {
        let before = tree.len();
        tree.extend(
            parents
                .iter()
                .filter(|(_, parent)| tree.contains(parent))
                .map(|(pid, _)| *pid)
                .collect::<Vec<_>>(),
        );
        if tree.len() == before {
            return tree;
        }
    }
}

/// Records of 100 bytes with keys in no order, and nothing that compresses.
#[cfg(test)]
fn records(bytes: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut records = Vec::with_capacity(bytes + 8);
    while records.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        records.extend_from_slice(&state.to_le_bytes());
    }
    records.truncate(bytes / 100 * 100);
    records
}

#[cfg(test)]
fn number_after(text: &str, words: &str) -> u64 {
    let (_, rest) = text
        .split_once(words)
        .unwrap_or_else(|| panic!("no {words:?} in {text}"));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// Four times as much is sorted as the job may have in memory, of maps that leave a little each and of maps that spill
/// several times.
#[test]
fn a_sort_keeps_within_the_memory_that_it_prints() {
    const MIB: u64 = 1 << 20;
    let bed = Bed::new();
    let input = records(240 << 20);
    bed.write("in", &input);
    for (split, arena) in [("8000000", "2"), ("60000000", "4")] {
        let (splits, sort) = (
            format!("mapreduce.input.fileinputformat.split.maxsize={split}"),
            format!("mapreduce.task.io.sort.mb={arena}"),
        );
        let report = bed.at("report");
        let options = [
            "--local",
            "--job",
            "terasort",
            "--slots",
            "2",
            "--reduces",
            "2",
            "--report",
            &report,
            "-D",
            &splits,
            "-D",
            &sort,
        ];
        let out = format!("out-{split}");
        let mut job = command("tera", &options, &[&bed.at("in"), &bed.at(&out)], &[])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut most = 0;
        while job.try_wait().unwrap().is_none() {
            let mut files = BTreeMap::new();
            let processes = tree(job.id())
                .into_iter()
                .filter_map(|pid| memory_of(pid, &mut files));
            let pages: u64 = processes.sum();
            most = most.max(pages + files.values().sum::<u64>());
            std::thread::park_timeout(Duration::from_millis(10));
        }
        let said = std::io::read_to_string(job.stderr.take().unwrap()).unwrap();
        assert!(job.wait().unwrap().success(), "{said}");
        let budget = number_after(&said, "memory up to ") * MIB;
        assert!(input.len() as u64 > 3 * budget, "{said}");
        assert!(
            most <= budget + budget / 20,
            "{} MiB were in memory: {said}",
            most / MIB
        );
        assert!(
            most > budget / 3,
            "{} MiB are much less than what is said: {said}",
            most / MIB
        );
        let report = bed.read("report");
        assert_eq!(number_after(&report, "\"memory_budget_bytes\": "), budget);
        // All that maps left, and at most what is spilled before it is merged and merged again.
        let disk = number_after(&report, "\"scratch_peak_bytes\": ");
        let all = input.len() as u64;
        assert!(
            disk > all * 4 / 5 && disk < all * 32 / 10,
            "{disk} bytes on the disk: {said}"
        );
        let parts = bed.parts(&out);
        assert_eq!(parts.len(), input.len());
        assert!(
            parts
                .chunks(100)
                .is_sorted_by(|one, other| one[..10] <= other[..10])
        );
        fs::remove_dir_all(bed.path(&out)).unwrap();
    }
}

/// Sorts records of 100 bytes, one map at a time in an arena of 1 MiB, `split` bytes a map; what the report says.
#[cfg(test)]
fn sorted(bed: &Bed, split: &str) -> String {
    let (split_max, report) = (
        format!("mapreduce.input.fileinputformat.split.maxsize={split}"),
        bed.at("report"),
    );
    let options = [
        "--local",
        "--quiet",
        "--job",
        "terasort",
        "--slots",
        "1",
        "--reduces",
        "1",
        "--report",
        &report,
        "-D",
        &split_max,
        "-D",
        "mapreduce.task.io.sort.mb=1",
        "-D",
        "mapreduce.map.output.compress=false",
    ];
    let out = format!("out-{split}");
    let (code, said) = program("tera", &options, &[&bed.at("in"), &bed.at(&out)], &[]);
    assert_eq!(code, 0, "{said}");
    bed.read("report")
}

#[test]
fn the_most_that_lies_on_the_disk_is_known_to_a_byte() {
    let bed = Bed::new();
    bed.write("in", records(2_400_000));
    let numbers = |report: &str| {
        [
            "scratch_peak_bytes",
            "MAP_OUTPUT_MATERIALIZED_BYTES",
            "SPILLS",
        ]
        .map(|name| number_after(report, &format!("\"{name}\": ")))
    };
    // Of four outputs that are as long as each other one has room in memory.
    let [peak, outputs, spills] = numbers(&sorted(&bed, "600000"));
    assert_eq!((peak, spills), (outputs / 4 * 3, 4));
    // One map: what it has spilled is there until it is merged. A spill ends with a block that is not full.
    let [peak, outputs, spills] = numbers(&sorted(&bed, "2400000"));
    assert_eq!(spills, 4);
    assert!(
        (2 * outputs..=2 * outputs + 20 * spills).contains(&peak),
        "{peak} bytes, where {outputs} were spilled and merged"
    );
}

#[test]
fn the_budget_says_what_it_is_made_of() {
    let bed = Bed::new();
    bed.write("in", "a\n");
    let (code, said) = program(
        "wordcount",
        &["--local"],
        &[&bed.at("in"), &bed.at("out")],
        &[],
    );
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains(
            "\nwordcount: memory up to 432 MiB: 1 task of 224 (192 to sort, 16 of output, 16 the program), 192 of map \
             outputs, 16 this process and its driver\n"
        ),
        "{said}"
    );
}
