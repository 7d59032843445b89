//! A NameNode, and a folder of this machine, beside the model that the committer is proved with.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, Given};
use output_committer::OutputCommitter;
use policy::Millis;
use policy::commit::{
    AttemptName, CallAnswer, JobCommit, JobVerdict, Op, Setup, SetupVerdict, TaskResult,
    attempt_file,
};
use policy::gang::Chance;
use sim::NameNode;
use storage::{Address, Storage};

use crate::address;

pub const CASES: &[(&str, Case)] = &[
    (
        "name node: HDFS answers as the committer's model does",
        hdfs,
    ),
    (
        "name node: a folder answers as the committer's model does",
        folder,
    ),
    (
        "name node: output that one AM left in the middle is finished by the next",
        commit,
    ),
];

/// Calls in a row, in a folder that is made anew.
const CALLS: u32 = 60;
/// Rows of calls, each of a seed of its own.
const ROWS: u64 = 25;
/// Names at each of two levels, below the two at the top.
const NAMES: [&str; 3] = ["a", "b", "c"];
const TOPS: [&str; 2] = ["out", "work"];

fn hdfs(given: &Given) -> Result<()> {
    compare(&address(given), "/name-node")
}

fn folder(given: &Given) -> Result<()> {
    let folder = given.folder.join("name-node");
    let folder = folder.to_str().context("a folder whose name is no text")?;
    compare(&Address::Shared, folder)
}

fn compare(address: &Address, top: &str) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let storage = Storage::open(address)?;
        let mut answers: BTreeMap<String, u32> = BTreeMap::new();
        for seed in 0..ROWS {
            let top = format!("{top}/{seed}");
            storage.make_folder(&top).await?;
            let output = OutputCommitter::new(Storage::open(address)?, &format!("{top}/out"));
            let mut model = NameNode::with(&[]);
            let mut chance = Chance::new(seed);
            for call in 0..CALLS {
                let op = any_op(&mut chance, &model);
                let expected = model.carry_out(&op);
                let real = output.carry_out(&op).await;
                let real = real.with_context(|| format!("seed {seed}, call {call}: {op:?}"))?;
                ensure!(
                    real == expected,
                    "seed {seed}, call {call}: {op:?} came to {real:?}, in the model to {expected:?}"
                );
                *answers.entry(kind(&op, &real)).or_default() += 1;
                let there = paths(&storage, &top).await?;
                let modelled: Vec<&String> = model.paths.keys().collect();
                ensure!(
                    there.iter().eq(modelled.iter().copied()),
                    "seed {seed}, call {call}, after {op:?}: there is {there:?}, in the model \
                     {modelled:?}"
                );
            }
        }
        storage.remove(top).await?;
        // Each call was seen to succeed, and to fail in every way that it can.
        for seen in [
            "MakeFolder Done", "MakeFolder NotThere", "MakeFolder Exists",
            "MakeFolders Done", "MakeFolders NotThere", "MakeFolders Exists", "Create Done",
            "Create NotThere", "Create Exists", "Rename Done", "Rename NotThere", "Rename Exists",
            "Look Done", "Look NotThere", "Read Content", "Read NotThere", "List Names", "List NotThere",
            "DeleteAll Done", "DeleteAll NotThere",
            "DeleteEmpty Done", "DeleteEmpty NotThere", "DeleteEmpty Exists",
        ] {
            ensure!(answers.contains_key(seen), "never came: {seen}; {answers:?}");
        }
        Ok(())
    })
}

/// The call and what it came to, without names.
fn kind(op: &Op, answer: &CallAnswer) -> String {
    let word = |shown: String| {
        let end = shown.find(['(', ' ', '{']).unwrap_or(shown.len());
        shown[..end].to_owned()
    };
    format!(
        "{} {}",
        word(format!("{op:?}")),
        word(format!("{answer:?}"))
    )
}

fn draw(chance: &mut Chance, below: usize) -> usize {
    let most = u64::try_from(below.saturating_sub(1)).unwrap_or(0);
    usize::try_from(chance.between(Millis(0), Millis(most)).0).unwrap_or(0)
}

/// One to three names deep.
fn any_path(chance: &mut Chance) -> String {
    let depth = draw(chance, 3);
    let mut names = vec![TOPS[draw(chance, TOPS.len())]];
    names.extend((0..depth).map(|_| NAMES[draw(chance, NAMES.len())]));
    names.join("/")
}

/// Any call that a committer could make.
fn any_op(chance: &mut Chance, model: &NameNode) -> Op {
    loop {
        let (path, other) = (any_path(chance), any_path(chance));
        let op = match draw(chance, 15) {
            0..3 => Op::MakeFolder(path),
            14 => Op::MakeFolders(path),
            3..6 => Op::Create(path, "one".into()),
            6..9 if !other.starts_with(&format!("{path}/")) => Op::Rename(path, other),
            9 => Op::List(path),
            10 => Op::DeleteAll(path),
            // Of a file it is never asked.
            11 => Op::Look(path),
            12 => Op::Read(path),
            13 if model.file(&path).is_none() => Op::DeleteEmpty(path),
            _ => continue,
        };
        return op;
    }
}

/// Everything below `top`, called as the model calls it, ordered.
async fn paths(storage: &Storage, top: &str) -> Result<Vec<String>> {
    let mut folders = vec![top.to_owned()];
    let mut all = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in storage.list(&folder, 1000).await? {
            let name = entry.path.strip_prefix(&format!("{top}/"));
            let name = name.context("a path that is elsewhere")?;
            all.push(name.replacen("_out.temporary", "work", 1));
            if entry.is_folder {
                folders.push(entry.path);
            }
        }
    }
    all.sort();
    Ok(all)
}

/// Of two tasks, the second of which was repeated.
fn results() -> [TaskResult; 2] {
    [0, 1].map(|task| TaskResult {
        attempt: AttemptName {
            is_map: false,
            task,
            number: task,
        },
        names: None,
    })
}

/// Files of two tasks, committed by one that stops after each of its calls, and by the next.
fn commit(given: &Given) -> Result<()> {
    let address = address(given);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let storage = Storage::open(&address)?;
        let mut calls = 0;
        for stop in 0.. {
            let top = format!("/commit/{stop}");
            storage.make_folder("/commit").await?;
            let output = OutputCommitter::new(Storage::open(&address)?, &top);
            let owner = output.set_up(Setup::new("n"), async |_| true).await?;
            ensure!(owner == SetupVerdict::Owner, "{owner:?}");
            for (result, text) in results().iter().zip(["t0", "t1"]) {
                let name = format!("part{}", result.attempt.tag());
                let path = attempt_file("n", result.attempt, &name);
                let file = Op::Create(path, text.to_owned());
                output.carry_out(&file).await?;
            }
            let mut first = JobCommit::commit("n", 1, &results());
            for _ in 0..stop {
                if let Some(op) = first.next() {
                    first.answered(output.carry_out(&op).await?);
                }
            }
            let next = OutputCommitter::new(Storage::open(&address)?, &top);
            let verdict = next
                .finish_job(JobCommit::commit("n", 2, &results()))
                .await?;
            ensure!(
                verdict == JobVerdict::Committed,
                "after {stop} calls: {verdict:?}"
            );
            let there: Vec<String> = storage
                .list(&top, 100)
                .await?
                .iter()
                .map(|entry| entry.name().to_owned())
                .collect();
            ensure!(
                there == ["_SUCCESS", "part-r-00000", "part-r-00001"],
                "after {stop} calls: {there:?}"
            );
            let text = storage.read(&format!("{top}/part-r-00001"), 10).await?;
            ensure!(text == b"t1", "after {stop} calls: {text:?}");
            calls = stop;
            if first.verdict().is_some() {
                break;
            }
        }
        ensure!(calls > 8, "only {calls} calls");
        storage.remove("/commit").await?;
        Ok(())
    })
}
