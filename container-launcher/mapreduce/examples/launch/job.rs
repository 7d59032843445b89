//! A job: its maps one after the other, then its reduces.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;

use gerbil_task::{
    FromTask, MapOrder, Page, Piece, ReduceOrder, Source, Submission, ToTask, VERSION, Welcome,
};

use crate::Result;
use crate::task::Task;

/// Counters, group by group.
pub type Counters = BTreeMap<String, BTreeMap<String, u64>>;

/// The setting that says how many reduces there are; one without it.
pub const REDUCES: &str = "mapreduce.job.reduces";

/// Runs a job in one process of `program`, whose plan has this `digest`.
pub fn run(program: &Path, digest: &str, submission: &Submission) -> Result<Counters> {
    let reduces = submission.settings.get(REDUCES);
    let reduces: u32 = reduces.map_or(Ok(1), |reduces| reduces.parse())?;
    let out = Path::new(&submission.output);
    std::fs::create_dir_all(out.parent().unwrap_or(out))?;
    std::fs::create_dir(out)?;
    let (mut task, plan) = Task::start(program, "task", out.join("_temporary"))?;
    if plan != digest {
        return Err("the task registers other jobs than the plan has".into());
    }
    let (_page, page) = Page::create()?;
    let welcome = Welcome {
        version: VERSION,
        job: submission.job.clone(),
        settings: submission.settings.clone(),
        params: submission.params.clone(),
        blame: 0,
    };
    let scratch = File::open(std::env::temp_dir())?;
    task.connection
        .send_with(&ToTask::Welcome(welcome), &[page.as_fd(), scratch.as_fd()])?;

    let mut counted = Counters::new();
    let mut count = |counters: Counters| {
        for (group, counters) in counters {
            let sums = counted.entry(group).or_default();
            for (counter, value) in counters {
                *sums.entry(counter).or_insert(0_u64) += value;
            }
        }
    };
    let mut outputs = Vec::new();
    for (number, input) in (0_u32..).zip(&submission.inputs) {
        let size = std::fs::metadata(input)?.len();
        let piece = Piece {
            name: input.clone(),
            offset: 0,
            length: size,
            size,
        };
        let order = ToTask::Map(MapOrder {
            task: number,
            attempt: 0,
            partitions: reduces,
            pieces: vec![piece],
            skip: Vec::new(),
        });
        let (done, output) = task.run(&order, &outputs)?;
        task.commit(out)?;
        if let FromTask::MapDone {
            counters,
            partitions,
        } = done
        {
            count(counters);
            outputs.extend(output.map(|output| (output, partitions)));
        }
    }
    for number in 0..reduces {
        let sources = (0_u32..)
            .zip(&outputs)
            .map(|(map, (_, partitions))| {
                let part = partitions.get(number as usize).copied().unwrap_or_default();
                Source {
                    map,
                    offset: part.offset,
                    length: part.length,
                    records: part.records,
                }
            })
            .collect();
        let order = ToTask::Reduce(ReduceOrder {
            task: number,
            attempt: 0,
            sources,
        });
        let (done, _) = task.run(&order, &outputs)?;
        task.commit(out)?;
        if let FromTask::ReduceDone { counters } = done {
            count(counters);
        }
    }
    task.connection.send(&ToTask::Leave)?;
    task.child.wait()?;
    Ok(counted)
}
