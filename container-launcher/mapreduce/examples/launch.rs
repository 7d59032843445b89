//! A small launcher: runs the task processes of any program that speaks the protocol, one at a time.
//!
//! `cargo run --example launch -- PROGRAM REDUCES IN... OUT`
//!
//! It knows nothing of the engine, only what `protocol/README.md` tells: each file is a split, each output
//! appears in the folder OUT when its task has ended well. The first job of the program's plan is run.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use gerbil_task::{
    Connection, FromTask, LAUNCHER_VARIABLE, MapOrder, Page, Partition, Piece, Plan, ROLE_VARIABLE,
    ReduceOrder, Source, ToTask, VERSION, Welcome,
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How long a task process may be silent.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process of the program, in one of its roles.
struct Task {
    child: Child,
    connection: Connection,
    /// Where files of its present attempt are made.
    attempt: PathBuf,
}

impl Task {
    /// Starts the program and hears its hello.
    fn start(program: &Path, role: &str, attempt: PathBuf) -> Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let child = Command::new(program)
            .env(ROLE_VARIABLE, role)
            .env(LAUNCHER_VARIABLE, std::process::id().to_string())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn()?;
        let connection = Connection::new(ours);
        connection.set_deadline(Some(PATIENCE))?;
        let mut task = Self {
            child,
            connection,
            attempt,
        };
        match task.connection.receive()? {
            FromTask::Hello { version, .. } if version == VERSION => Ok(task),
            FromTask::Hello { version, .. } => {
                let sentence = format!(
                    "the program speaks version {version} of the protocol, this launcher {VERSION}"
                );
                let refused = ToTask::Refused {
                    sentence: sentence.clone(),
                };
                // Whoever only said its plan has ended already.
                drop(task.connection.send(&refused));
                Err(sentence.into())
            }
            other => Err(format!("no hello but {other:?}").into()),
        }
    }

    /// Gives one order and serves the task to its end; what it says then, and the map's output.
    fn run(
        &mut self,
        order: &ToTask,
        outputs: &[(OwnedFd, Vec<Partition>)],
    ) -> Result<(FromTask, Option<OwnedFd>)> {
        self.connection.send(order)?;
        loop {
            let opened = match (self.connection.receive()?, order) {
                (FromTask::OpenInput { piece }, ToTask::Map(order)) => {
                    File::open(&order.pieces[piece as usize].name)?
                }
                (FromTask::OpenSource { source }, ToTask::Reduce(order)) => {
                    let map = order.sources[source as usize].map;
                    outputs[map as usize].0.try_clone()?.into()
                }
                (FromTask::OpenOutput { name }, _) if !name.contains('/') => {
                    std::fs::create_dir_all(&self.attempt)?;
                    File::create_new(self.attempt.join(name))?
                }
                (FromTask::Status { text }, _) => {
                    writeln!(std::io::stderr(), "{text}")?;
                    continue;
                }
                (FromTask::Failed { sentence }, _) => return Err(sentence.into()),
                (done @ FromTask::MapDone { .. }, ToTask::Map(order)) => {
                    let output = if order.partitions > 0 {
                        Some(self.connection.descriptor()?)
                    } else {
                        None
                    };
                    return Ok((done, output));
                }
                (done @ FromTask::ReduceDone { .. }, ToTask::Reduce(_)) => return Ok((done, None)),
                (other, _) => return Err(format!("{other:?} makes no sense here").into()),
            };
            self.connection
                .send_with(&ToTask::Opened, &[opened.as_fd()])?;
        }
    }

    /// The attempt has ended well: its files get their places.
    fn commit(&self, out: &Path) -> Result<()> {
        if self.attempt.exists() {
            for file in std::fs::read_dir(&self.attempt)? {
                let file = file?;
                std::fs::rename(file.path(), out.join(file.file_name()))?;
            }
            std::fs::remove_dir(&self.attempt)?;
        }
        Ok(())
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // It has left by itself, or something went wrong.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn plan(program: &Path) -> Result<Plan> {
    let mut task = Task::start(program, "plan", PathBuf::new())?;
    match task.connection.receive()? {
        FromTask::Plan { plan } => Ok(plan),
        other => Err(format!("no plan but {other:?}").into()),
    }
}

fn launch(program: &Path, reduces: u32, inputs: &[String], out: &Path) -> Result<()> {
    let plan = plan(program)?;
    let job = plan.jobs.first().ok_or("the program registers no job")?;
    std::fs::create_dir(out)?;
    let mut task = Task::start(program, "task", out.join("_temporary"))?;
    let (_page, page) = Page::create()?;
    let welcome = Welcome {
        version: VERSION,
        job: job.name.clone(),
        settings: job.settings.clone(),
        ..Welcome::default()
    };
    let scratch = File::open(std::env::temp_dir())?;
    task.connection
        .send_with(&ToTask::Welcome(welcome), &[page.as_fd(), scratch.as_fd()])?;

    let mut counted = BTreeMap::new();
    let mut count = |counters: BTreeMap<String, BTreeMap<String, u64>>| {
        for (counter, value) in counters.into_values().flatten() {
            *counted.entry(counter).or_insert(0_u64) += value;
        }
    };
    let mut outputs = Vec::new();
    for (number, input) in (0_u32..).zip(inputs) {
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
    writeln!(std::io::stderr(), "{}: {counted:?}", job.name)?;
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.as_slice() {
        [program, reduces, inputs @ .., out] if !inputs.is_empty() => match reduces.parse() {
            Ok(reduces) => launch(Path::new(program), reduces, inputs, Path::new(out)),
            Err(error) => Err(format!("{reduces}: {error}").into()),
        },
        _ => Err("launch PROGRAM REDUCES IN... OUT".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(std::io::stderr(), "launch: {error}"));
            ExitCode::FAILURE
        }
    }
}
