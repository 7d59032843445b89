//! A NameNode, and a folder of this machine, beside the model that the committer is proved with.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use it::bed::{Case, Given};
use policy::Millis;
use policy::commit::{Answer, Op};
use policy::gang::Chance;
use sim::NameNode;
use storage::{Address, CreateOptions, Readers, Storage, StorageError};

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
];

/// Calls in a row, in a folder that is made anew.
const CALLS: u32 = 60;
/// Rows of calls, each of a seed of its own.
const ROWS: u64 = 25;
/// Names at each of three levels.
const NAMES: [&str; 3] = ["a", "b", "c"];

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
            storage.make_folder(&format!("{top}/out")).await?;
            let mut model = NameNode::with(&[]);
            let mut chance = Chance::new(seed);
            for call in 0..CALLS {
                let op = any_op(&mut chance, &model);
                let expected = model.carry_out(&op);
                let real = carry_out(&storage, &top, &op).await;
                let real = real.with_context(|| format!("seed {seed}, call {call}: {op:?}"))?;
                ensure!(
                    real == expected,
                    "seed {seed}, call {call}: {op:?} came to {real:?}, in the model to {expected:?}"
                );
                *answers.entry(kind(&op, &real)).or_default() += 1;
                let there = paths(&storage, &top).await?;
                let modelled: Vec<&String> = model.paths.keys().filter(|p| *p != "out").collect();
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
            "MakeFolder Done", "MakeFolder NotThere", "MakeFolder Exists", "Create Done",
            "Create NotThere", "Create Exists", "Rename Done", "Rename NotThere", "Rename Exists",
            "List Names", "List NotThere", "DeleteAll Done", "DeleteAll NotThere",
            "DeleteEmpty Done", "DeleteEmpty NotThere", "DeleteEmpty Exists",
        ] {
            ensure!(answers.contains_key(seen), "never came: {seen}; {answers:?}");
        }
        Ok(())
    })
}

/// The call and what it came to, without names.
fn kind(op: &Op, answer: &Answer) -> String {
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
    let depth = 1 + draw(chance, 3);
    let names = (0..depth).map(|_| NAMES[draw(chance, NAMES.len())]);
    names.collect::<Vec<_>>().join("/")
}

/// Any call that a committer could make.
fn any_op(chance: &mut Chance, model: &NameNode) -> Op {
    loop {
        let (path, other) = (any_path(chance), any_path(chance));
        let op = match draw(chance, 12) {
            0..3 => Op::MakeFolder(path),
            3..6 => Op::Create(path, "one".into()),
            6..9 if !other.starts_with(&format!("{path}/")) => Op::Rename(path, other),
            9 => Op::List(path),
            10 => Op::DeleteAll(path),
            // Of a file it is never asked.
            11 if model.file(&path).is_none() => Op::DeleteEmpty(path),
            _ => continue,
        };
        return op;
    }
}

async fn carry_out(storage: &Storage, top: &str, op: &Op) -> Result<Answer> {
    let at = |path: &str| format!("{top}/out/{path}");
    let done = match op {
        Op::MakeFolder(path) => storage.make_one_folder(&at(path)).await,
        Op::Create(path, content) => create(storage, &at(path), content).await,
        Op::Rename(from, to) => storage.rename(&at(from), &at(to)).await,
        Op::List(path) => match storage.list(&at(path), 1000).await {
            // A NameNode lists a file as itself.
            Ok(all) if all.iter().any(|entry| entry.path == at(path)) => {
                return Ok(Answer::NotThere);
            }
            Ok(all) => {
                let names = all.iter().map(|entry| entry.name().to_owned());
                return Ok(Answer::Names(names.collect()));
            }
            Err(error) => Err(error),
        },
        Op::DeleteAll(path) => match storage.stat(&at(path)).await {
            Ok(None) | Err(StorageError::Absent { .. }) => return Ok(Answer::NotThere),
            Ok(Some(_)) => storage.remove(&at(path)).await,
            Err(error) => Err(error),
        },
        Op::DeleteEmpty(path) => match storage.remove_empty(&at(path)).await {
            Ok(false) => return Ok(Answer::NotThere),
            Ok(true) => Ok(()),
            Err(error) => Err(error),
        },
        Op::Read(_) => bail!("no file is read here"),
    };
    match done {
        Ok(()) => Ok(Answer::Done),
        Err(StorageError::Exists { .. }) => Ok(Answer::Exists),
        Err(StorageError::Absent { .. }) => Ok(Answer::NotThere),
        Err(error) => Err(error.into()),
    }
}

async fn create(storage: &Storage, path: &str, content: &str) -> Result<(), StorageError> {
    let options = CreateOptions {
        readers: Readers::Nodes,
        ..CreateOptions::default()
    };
    let mut file = storage.create(path, options).await?;
    file.write(content.as_bytes().to_vec().into()).await?;
    file.close().await?;
    Ok(())
}

/// Everything below the folder `out`, with its name, ordered.
async fn paths(storage: &Storage, top: &str) -> Result<Vec<String>> {
    let mut folders = vec![format!("{top}/out")];
    let mut all = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in storage.list(&folder, 1000).await? {
            let name = entry.path.strip_prefix(&format!("{top}/"));
            all.push(name.context("a path that is elsewhere")?.to_owned());
            if entry.is_folder {
                folders.push(entry.path);
            }
        }
    }
    all.sort();
    Ok(all)
}
