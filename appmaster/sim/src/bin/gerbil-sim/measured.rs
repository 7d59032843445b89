//! What takes long, timed: `gerbil-sim bench` and `duel`.

use anyhow::{Result, ensure};
use lexopt::{Parser, ValueExt as _};
use policy::gang::Allocator;
use policy::{Demand, allocate};
use sim::duel::allocators::full_or_not;
use sim::duel::tournament;
use sim::{bench, whole};

use crate::SimOptions;

/// Of both: nodes, jobs, tasks of a job, seeds, and all tasks of `bench` together, at the most.
const MOST: u32 = 1_000_000;
const TASKS: u64 = 10_000_000;

/// The value of an option that counts something.
pub(crate) fn count(name: &str, arguments: &mut Parser) -> Result<u32> {
    whole(name, &arguments.value()?.string()?, 1..=MOST)
}

pub(crate) fn duels(seeds: u64) -> Result<()> {
    let fight = |name: &str, place: Allocator, oversubscribe: bool| {
        let sum = tournament(0..seeds, place, |demand: &mut Demand| {
            demand.oversubscribe = oversubscribe;
        })?;
        println!("{name}: {sum:?}");
        anyhow::Ok(())
    };
    fight("sharing", allocate::place, true)?;
    fight("without sharing", allocate::place, false)?;
    fight("waiting for full nodes", full_or_not, true)?;
    Ok(())
}

pub(crate) fn measure(options: &SimOptions) -> Result<()> {
    let SimOptions {
        nodes, jobs, tasks, ..
    } = options;
    let policy = options.policy();
    if options.gangs {
        return of_gangs(policy, *nodes, *jobs);
    }
    let all = u64::from(*jobs).saturating_mul(u64::try_from(*tasks)?);
    ensure!(
        all <= TASKS,
        "{jobs} jobs of {tasks} tasks are {all} tasks: {TASKS} in all are the most"
    );
    let ends = u32::try_from(tasks.saturating_mul(usize::try_from(*jobs)?))?.min(20_000);
    let figures = bench::decisions(policy, *nodes, *jobs, *tasks, ends)?;
    println!(
        "{policy}, {nodes} nodes of 8 slots, {jobs} jobs of {tasks} tasks: {} events and {} decisions, mean {:.2} µs an event, {:.0} events/s; told once more, each timed: worst {:.0} µs",
        figures.events,
        figures.decisions,
        figures.mean.as_secs_f64() * 1e6,
        1.0 / figures.mean.as_secs_f64().max(1e-12),
        figures.worst.as_secs_f64() * 1e6,
    );
    let speed = bench::simulator(policy, *nodes, *jobs, u32::try_from(*tasks)?)?;
    let alone = speed.total.saturating_sub(speed.deciding);
    let events = f64::from(u32::try_from(speed.events)?);
    println!(
        "the same jobs played to their end: {} events in {:.2} s of processor time, {:.0} events/s; {:.2} s of it the simulator's own, {:.0} events/s",
        speed.events,
        speed.total.as_secs_f64(),
        events / speed.total.as_secs_f64().max(1e-12),
        alone.as_secs_f64(),
        events / alone.as_secs_f64().max(1e-12),
    );
    Ok(())
}

/// Gangs that end and come while others wait.
const TURNS: u32 = 2_000;

fn of_gangs(policy: &str, nodes: u32, jobs: u32) -> Result<()> {
    let bench::Waiting { turns, words, wait } = bench::gangs(policy, nodes, jobs, TURNS)?;
    println!(
        "{policy}, {nodes} nodes of 8 slots, {wait} gangs of 1 to 16 wait: {} events and {} decisions, mean {:.1} µs, worst {:.0} µs an event; why each of them waits takes {:.1} ms",
        turns.events,
        turns.decisions,
        turns.mean.as_secs_f64() * 1e6,
        turns.worst.as_secs_f64() * 1e6,
        words.as_secs_f64() * 1e3,
    );
    Ok(())
}
