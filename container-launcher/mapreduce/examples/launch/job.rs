//! A job: its maps one after the other, then its reduces.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;

use gerbil_task::settings::{RECURSIVE, REDUCES};
use gerbil_task::splits;
use gerbil_task::{
    FromTask, Listed, MapOrder, Page, ReduceOrder, Source, Submission, ToTask, VERSION, Welcome,
};

use crate::Result;
use crate::task::Task;
use crate::way::Way;

/// Counters, group by group.
pub type Counters = BTreeMap<String, BTreeMap<String, i64>>;

/// Runs a job in one process of `program`, whose plan has this `digest`. Where no splits were made, its files
/// are cut as text, and without a setting it has as many reduces as they are worth.
pub fn run(program: &Path, digest: &str, submission: &Submission, way: Way) -> Result<Counters> {
    if let Some(file) = submission.brings.first() {
        return Err(format!("{}: this launcher brings no files along", file.name).into());
    }
    let settings = &submission.settings;
    let mut maps = submission.splits.clone();
    if maps.is_empty() {
        let recursive = settings.get(RECURSIVE).is_some_and(|value| value == "true");
        maps = splits::text(&files(&submission.inputs, recursive)?, settings)?;
    }
    let reduces: u32 = match settings.get(REDUCES) {
        Some(reduces) => reduces.parse()?,
        None => splits::reduces(maps.iter().flatten().map(|piece| piece.length).sum()),
    };
    let out = Path::new(&submission.output);
    std::fs::create_dir_all(out.parent().unwrap_or(out))?;
    std::fs::create_dir(out)?;
    let (mut task, plan) = Task::start(program, "task", out.join("_temporary"), way)?;
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
                *sums.entry(counter).or_insert(0_i64) += value;
            }
        }
    };
    let mut outputs = Vec::new();
    for (number, pieces) in (0_u32..).zip(maps) {
        let order = ToTask::Map(MapOrder {
            task: number,
            attempt: 0,
            partitions: reduces,
            pieces,
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
            skip: Vec::new(),
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

/// The files of these inputs, each with commas between: files, and folders without what begins with `_` or `.`.
pub fn files(inputs: &[String], recursive: bool) -> Result<Vec<Listed>> {
    let mut files = Vec::new();
    for input in inputs.iter().flat_map(|inputs| inputs.split(',')) {
        take(Path::new(input), recursive, &mut files)?;
    }
    Ok(files)
}

fn take(path: &Path, recursive: bool, files: &mut Vec<Listed>) -> Result<()> {
    let status = std::fs::metadata(path)?;
    if !status.is_dir() {
        files.push(Listed {
            path: path.display().to_string(),
            length: status.len(),
        });
        return Ok(());
    }
    let entries: std::io::Result<Vec<_>> = std::fs::read_dir(path)?.collect();
    let mut entries = entries?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let is_hidden = entry.file_name().to_string_lossy().starts_with(['_', '.']);
        if !is_hidden && (recursive || !entry.path().is_dir()) {
            take(&entry.path(), recursive, files)?;
        }
    }
    Ok(())
}
