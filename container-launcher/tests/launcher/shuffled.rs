//! Tasks that are moved by chance all the time while they compute, begin threads and start programs: after each answer
//! all of each task is where it was last told to be, none is lost, and what they write is as if nothing had been.
//!
//! So many moves as `GERBIL_MOVES` says, or a hundred:
//!
//! ```text
//! cargo build -p container-launcher --examples
//! GERBIL_MOVES=10000 cargo test -p container-launcher --test launcher -- moved_by_chance --nocapture
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use gerbil_task::FromTask;
use job::wire::task_event::Event as TaskTold;
use job::wire::task_order::Order;
use job::wire::{MoveTask, StartTask, TaskEnded, TaskMoved};

use super::moves::cores;
use crate::support::tasks::{Bed, done, of_tasks, order, reduce};
use crate::support::{Appmaster, Launcher, Link};

/// Maps of a job, each of a file.
const MAPS: u32 = 6;
/// Attempts that run at the same time.
const SLOTS: usize = 4;
/// Slots of the launcher: as many more are free.
const ALL_SLOTS: u32 = 8;
/// Moves, where nobody says how many.
const MOVES: usize = 100;

/// What is drawn is the same each time: splitmix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((word ^ (word >> 31)) % u64::try_from(end).unwrap()).unwrap()
    }
}

/// A thread, as the kernel shows it at one time.
struct Thread {
    cores: BTreeSet<u32>,
    state: char,
}

/// The processes that a process has started.
fn started(pid: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    let threads = tasks.into_iter().flatten().flatten();
    let started = threads.map(|thread| fs::read_to_string(thread.path().join("children")));
    let of_each = |pids: String| -> Vec<i32> {
        let pids = pids.split_whitespace();
        pids.map(|pid| pid.parse().unwrap()).collect()
    };
    started.flatten().flat_map(of_each).collect()
}

/// The threads of a process and of all below it; none of those that have ended.
fn threads(leader: i32) -> Vec<Thread> {
    let (mut all, mut left) = (Vec::new(), vec![leader]);
    while let Some(pid) = left.pop() {
        left.extend(started(pid));
        let tasks = fs::read_dir(format!("/proc/{pid}/task"));
        for thread in tasks.into_iter().flatten().flatten() {
            let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
            let word = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
            let (Some(state), Some(list)) = (word("State:"), word("Cpus_allowed_list:")) else {
                continue;
            };
            let state = state.trim().chars().next().unwrap();
            if !matches!(state, 'Z' | 'X') {
                let cores = numbers(list.trim());
                all.push(Thread { cores, state });
            }
        }
    }
    all
}

/// Of a list such as `0-3,8`.
fn numbers(list: &str) -> BTreeSet<u32> {
    let ranges = list
        .split(',')
        .map(|range| range.split_once('-').unwrap_or((range, range)));
    let ends = ranges.map(|(first, last)| first.parse().unwrap()..=last.parse().unwrap());
    ends.flatten().collect()
}

/// Where a task was last told to be.
struct Place {
    pid: i32,
    task: u32,
    slot: u32,
    cores: BTreeSet<u32>,
    is_parked: bool,
}

impl Place {
    /// Each thread is there, and stopped if it is to be, and only then.
    fn holds(&self, when: &str) {
        for thread in threads(self.pid) {
            let Thread { cores, state } = thread;
            assert_eq!(cores, self.cores, "map {}, {when}", self.task);
            let is_stopped = state == 'T';
            assert_eq!(
                is_stopped, self.is_parked,
                "map {} is {state}, {when}",
                self.task
            );
        }
    }
}

/// What was measured.
#[derive(Default)]
struct Moved {
    /// Of each that was done, by the launcher's clock, and from order to answer.
    took: Vec<Duration>,
    answered: Vec<Duration>,
    parked: usize,
    /// Why others were not done, and how often.
    refused: BTreeMap<String, usize>,
}

/// A launcher of one job at a time, whose tasks are moved.
struct Shuffle {
    launcher: Launcher,
    link: Link,
    own: Vec<u32>,
    chance: Chance,
    running: BTreeMap<u32, Place>,
    ended: Vec<TaskEnded>,
    moved: Moved,
    next: u32,
}

impl Shuffle {
    /// The next of the launcher's processes to lead a task; `None`: the task has ended before it was seen.
    async fn began(&mut self, process: u32) -> Option<i32> {
        loop {
            let known: BTreeSet<i32> = self.running.values().map(|place| place.pid).collect();
            let is_new = |pid: &i32| {
                let named = fs::read_to_string(format!("/proc/{pid}/comm"));
                !known.contains(pid) && named.is_ok_and(|name| name.trim() == "words")
            };
            let new = started(self.launcher.pid()).into_iter().find(is_new);
            if new.is_some() || !self.running.contains_key(&process) {
                return new;
            }
            tokio::select! {
                told = of_tasks(&mut self.link) => self.hear(told),
                () = tokio::time::sleep(Duration::from_millis(1)) => {}
            }
        }
    }

    async fn start(&mut self, bed: &Bed, task: u32) {
        let taken = |slot: &u32| self.running.values().any(|place| place.slot == *slot);
        let slot = (0..ALL_SLOTS).find(|slot| !taken(slot)).unwrap();
        let core = self.own[self.chance.below(self.own.len())];
        let process = self.next;
        self.next += 1;
        let start = StartTask {
            cpus: vec![core],
            ..bed.start(process, slot, &bed.map(task, 0, 1))
        };
        let place = Place {
            pid: 0,
            task,
            slot,
            cores: BTreeSet::from([core]),
            is_parked: false,
        };
        self.running.insert(process, place);
        order(&self.link, Order::Start(start)).await;
        if let Some(pid) = self.began(process).await
            && let Some(place) = self.running.get_mut(&process)
        {
            place.pid = pid;
            place.holds("at its start");
        }
    }

    /// Moves one of those that run by chance; it may have ended meanwhile.
    async fn move_one(&mut self) {
        let which = self.chance.below(self.running.len());
        let process = *self.running.keys().nth(which).unwrap();
        let taken = |slot: &u32| self.running.values().any(|place| place.slot == *slot);
        let free: Vec<u32> = (0..ALL_SLOTS).filter(|slot| !taken(slot)).collect();
        let slot = free[self.chance.below(free.len())];
        // One in eight is stopped; else to one core, or to all.
        let parked = self.chance.below(8) == 0;
        let cpus = match self.chance.below(self.own.len() + 1) {
            _ if parked => Vec::new(),
            one => self
                .own
                .get(one)
                .map_or_else(|| self.own.clone(), |core| vec![*core]),
        };
        let to = MoveTask {
            process,
            slot,
            cpus: cpus.clone(),
            parked,
        };
        let began = Instant::now();
        order(&self.link, Order::Move(to)).await;
        let moved = self.answer().await;
        let answered = began.elapsed();
        assert_eq!(moved.process, process);
        if moved.ok {
            self.moved.took.push(Duration::from_micros(moved.took_us));
            self.moved.answered.push(answered);
            self.moved.parked += usize::from(parked);
            if let Some(place) = self.running.get_mut(&process) {
                place.slot = slot;
                place.is_parked = parked;
                if !parked {
                    place.cores = cpus.into_iter().collect();
                }
            }
        } else {
            // What has ended is told so after the answer, or before.
            *self.moved.refused.entry(moved.why).or_default() += 1;
        }
        let when = format!("after {} moves", self.moved.took.len());
        self.running.values().for_each(|place| place.holds(&when));
    }

    /// The answer to a move; tasks may end before.
    async fn answer(&mut self) -> TaskMoved {
        loop {
            match of_tasks(&mut self.link).await {
                TaskTold::Moved(moved) => return moved,
                told => self.hear(told),
            }
        }
    }

    fn hear(&mut self, told: TaskTold) {
        if let TaskTold::Ended(ended) = told {
            done(&ended);
            let place = self.running.remove(&ended.process);
            assert!(place.is_some(), "process {} has ended twice", ended.process);
            self.ended.push(ended);
        }
    }

    /// A job of maps and a reduce, moved so often at the most; what it writes.
    async fn job(&mut self, bed: &Bed, moves: usize) -> String {
        bed.set_up().await;
        self.ended.clear();
        let (mut waiting, end) = (0..MAPS, self.moved.took.len() + moves);
        loop {
            while self.running.len() < SLOTS
                && let Some(task) = waiting.next()
            {
                self.start(bed, task).await;
            }
            if self.running.is_empty() {
                break;
            }
            if self.moved.took.len() < end {
                self.move_one().await;
                continue;
            }
            // All that are stopped go on, and to their ends.
            let stopped: Vec<u32> = (self.running.iter())
                .filter_map(|(process, place)| place.is_parked.then_some(*process))
                .collect();
            for process in stopped {
                let slot = self.running[&process].slot;
                let to = MoveTask {
                    process,
                    slot,
                    ..MoveTask::default()
                };
                order(&self.link, Order::Move(to)).await;
                assert!(self.answer().await.ok);
                self.running.get_mut(&process).unwrap().is_parked = false;
            }
            let told = of_tasks(&mut self.link).await;
            self.hear(told);
        }
        let maps = self.ended.len();
        assert_eq!(maps, usize::try_from(MAPS).unwrap());
        for ended in &self.ended {
            assert!(matches!(done(ended), FromTask::MapDone { .. }));
        }
        let all: Vec<u32> = (0..MAPS).collect();
        let reduced = bed.run(&mut self.link, self.next, &reduce(&all)).await;
        self.next += 1;
        assert!(matches!(done(&reduced), FromTask::ReduceDone { .. }));
        bed.commit(&["attempt_r_000000_0"]).await;
        self.link.leave().await;
        assert_eq!(self.launcher.exit().await.code(), Some(0));
        self.launcher.nothing_left().await;
        bed.text("part-r-00000").await
    }
}

/// Of all: half of them are shorter.
fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_that_are_moved_by_chance_are_where_they_were_told_and_write_the_same() {
    let own: Vec<u32> = cores(0).into_iter().collect();
    if own.len() < 2 {
        return println!("one core has no other");
    }
    let wanted = std::env::var("GERBIL_MOVES").map_or(MOVES, |moves| moves.parse().unwrap());
    let mut am = Appmaster::start().await;
    let mut shuffle = Shuffle {
        launcher: am.launcher(&[]),
        link: am.link().await,
        own,
        chance: Chance(1),
        running: BTreeMap::new(),
        ended: Vec::new(),
        moved: Moved::default(),
        next: 0,
    };
    let words = |map: u32| {
        let line = |line: u32| format!("word{} of map{map}\n", line * 7 % 1009);
        let some = (0..2000).map(line).collect::<String>();
        format!("{some}!churn\n").repeat(20)
    };
    let texts: Vec<String> = (0..MAPS).map(words).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let still = shuffle.job(&Bed::new(&texts).await, 0).await;
    assert!(still.contains("word1\t"), "{still}");
    let began = Instant::now();
    let mut jobs = 0_u32;
    while shuffle.moved.took.len() < wanted {
        let left = wanted - shuffle.moved.took.len();
        // A launcher has a job once.
        shuffle.launcher = am.launcher(&[]);
        shuffle.link = am.link().await;
        let moved = shuffle.job(&Bed::new(&texts).await, left).await;
        assert_eq!(moved, still);
        jobs += 1;
    }
    let all = began.elapsed();
    let Moved {
        mut took,
        mut answered,
        parked,
        refused,
    } = shuffle.moved;
    println!(
        "{} moves in {all:?}, {parked} of them to be stopped, of {jobs} jobs of {MAPS} maps; median {:?} and longest {:?} \
         by the launcher's clock, {:?} from order to answer; not done: {refused:?}",
        took.len(),
        median(&mut took),
        took.last().unwrap(),
        median(&mut answered),
    );
}
