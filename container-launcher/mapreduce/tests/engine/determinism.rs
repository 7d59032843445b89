//! The same input and settings give the same bytes, whatever the number of slots, where maps spill, how often runs are
//! merged, and how many attempts are killed: the reducer writes down the order in which values come.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::program::{Bed, command};

/// What is the same each time: splits, and so maps.
#[cfg(test)]
const SPLITS: [&str; 9] = [
    "--local",
    "--job",
    "inorder",
    "--reduces",
    "3",
    "-D",
    "mapreduce.input.fileinputformat.split.maxsize=1300000",
    "-D",
    "gerbil.record.max=200000",
];

/// What differs: slots, bytes to sort in, how map output is compressed.
#[cfg(test)]
const ODDS: [[&str; 3]; 4] = [
    ["1", "100", "none"],
    ["2", "1", "lz4"],
    ["3", "1", "none"],
    ["4", "2", "zstd"],
];

#[cfg(test)]
struct Dice(u64);

#[cfg(test)]
impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// The task processes of a launcher.
#[cfg(test)]
fn tasks(launcher: u32) -> Vec<i32> {
    let mark = format!("GERBIL_LAUNCHER={launcher}\0");
    let is_task = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let has = |mark: &[u8]| environment.windows(mark.len()).any(|part| part == mark);
        has(mark.as_bytes()) && has(b"GERBIL_ROLE=task\0")
    };
    let pids = fs::read_dir("/proc").unwrap().flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(is_task)
        .collect()
}

/// Runs the job, and kills up to `kills` of its task processes meanwhile: its output, how many were killed, and what
/// it said.
#[cfg(test)]
fn run(
    bed: &Bed,
    odds: [&str; 3],
    out: &str,
    kills: usize,
    dice: &mut Dice,
) -> (Vec<Vec<u8>>, usize, String) {
    let [slots, sort, codec] = odds;
    let settings = [
        format!("mapreduce.task.io.sort.mb={sort}"),
        format!("mapreduce.map.output.compress.codec={codec}"),
        "mapreduce.map.output.compress=true".to_owned(),
        "mapreduce.map.maxattempts=50".to_owned(),
        "mapreduce.reduce.maxattempts=50".to_owned(),
    ];
    let settings = settings.iter().flat_map(|setting| ["-D", setting.as_str()]);
    let options: Vec<&str> = SPLITS
        .into_iter()
        .chain(["--slots", slots])
        .chain(settings)
        .collect();
    let mut job = command("formats", &options, &[&bed.at("in"), &bed.at(out)], &[])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut killed = 0;
    let until = Instant::now() + Duration::from_secs(120);
    while job.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "{killed} kills, and no end");
        std::thread::park_timeout(Duration::from_millis(20 + dice.below(200)));
        let tasks = tasks(job.id());
        if killed < kills && !tasks.is_empty() {
            let which = usize::try_from(dice.below(tasks.len() as u64)).unwrap();
            let pid = rustix::process::Pid::from_raw(tasks[which]).unwrap();
            // It may have ended by itself meanwhile.
            killed += usize::from(
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok(),
            );
        }
    }
    let said = std::io::read_to_string(job.stderr.take().unwrap()).unwrap();
    assert!(job.wait().unwrap().success(), "{said}");
    let part = |number| fs::read(bed.path(&format!("{out}/part-r-0000{number}"))).unwrap();
    ((0..3).map(part).collect(), killed, said)
}

#[cfg(test)]
fn counter(said: &str, name: &str) -> i64 {
    let (_, rest) = said.split_once(&format!("{name}=")).unwrap();
    rest.lines().next().unwrap().parse().unwrap()
}

#[test]
fn an_order_sensitive_reducer_writes_the_same_bytes_whatever_happens() {
    let bed = Bed::new();
    for file in 0..4 {
        let line = |n: u32| format!("key{}\t{file}.{n}\n", n.wrapping_mul(2_654_435_761) % 311);
        let lines: String = (0..150_000).map(line).collect();
        bed.write(&format!("in/{file}"), lines);
    }
    let calm = run(&bed, ODDS[0], "calm", 0, &mut Dice(0));
    let maps = counter(&calm.2, "SPILLS");
    assert!(maps >= 8, "{maps} maps are few");
    // Values come in the order of files and lines.
    let text = String::from_utf8(calm.0.concat()).unwrap();
    for values in text.lines().map(|line| line.split_once('\t').unwrap().1) {
        let places = values
            .split(' ')
            .filter(|value| !value.is_empty())
            .map(|value| {
                let (file, line) = value.split_once('.').unwrap();
                (file.parse::<u32>().unwrap(), line.parse::<u32>().unwrap())
            });
        assert!(places.is_sorted());
    }
    let mut killed = 0;
    for (seed, odds) in (1..).zip(ODDS) {
        let kills = if seed == 4 { 0 } else { 5 };
        let out = format!("out-{seed}");
        let (parts, now, said) = run(&bed, odds, &out, kills, &mut Dice(seed));
        killed += now;
        assert!(
            parts == calm.0,
            "seed {seed}, {odds:?}, {now} kills: other bytes"
        );
        let spills = counter(&said, "SPILLS");
        if odds[1] == "1" {
            assert!(spills > 2 * maps, "{spills} spills of {maps} maps are few");
        }
    }
    assert!(killed >= 8, "{killed} kills are few");
}
