//! A job of tasks on some file system, and what a launcher tells of it.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Arc;

use gerbil_task::{
    Connection, FromTask, MapOrder, Piece, ROLE_VARIABLE, ReduceOrder, Source, ToTask, Welcome,
};
use job::wire::launcher_event::Event as Told;
use job::wire::launcher_order;
use job::wire::task_ended::How;
use job::wire::task_event::Event as TaskTold;
use job::wire::task_order::Order;
use job::wire::{
    InputFile, LocatedBlock, LogRead, OutputFolder, Program, StartTask, TaskEnded, TaskEvent,
    TaskOrder, TaskSeen,
};
use output_committer::OutputCommitter;
use policy::commit::{
    AttemptName, JobCommit, JobVerdict, Setup, SetupVerdict, TaskResult, absolute, job_folder,
};
use proto_hadoop::{Block, NameNodeClient};
use storage::{Address, Storage};
use tempfile::TempDir;

use super::{Link, example, within};

pub const JOB: u32 = 1;
/// What the job is called in its output folder.
pub const NAME: &str = "7";
/// The digest of the plan of the program `words`.
pub fn plan() -> String {
    let (socket, own) = UnixStream::pair().unwrap();
    let mut child = Command::new(example("words"))
        .env(ROLE_VARIABLE, "plan")
        .stdin(Stdio::from(OwnedFd::from(own)))
        .spawn()
        .unwrap();
    let hello: FromTask = Connection::new(socket).receive().unwrap();
    child.wait().unwrap();
    match hello {
        FromTask::Hello { plan, .. } => plan,
        other => panic!("{other:?}"),
    }
}

/// A folder with the files that a job reads, each one map's, and its output.
pub struct Bed {
    /// None: the job's files are elsewhere.
    folder: Option<TempDir>,
    address: Address,
    pub storage: Arc<Storage>,
    /// Where the job's files are.
    top: String,
    /// Bytes of the files.
    sizes: Vec<u64>,
    /// Their blocks by their paths, as far as launchers are told of them.
    blocks: BTreeMap<String, Vec<LocatedBlock>>,
    plan: String,
    pub settings: BTreeMap<String, String>,
}

fn located(block: Block) -> LocatedBlock {
    let plain = block.plain.unwrap();
    let nodes = block.nodes.into_iter().zip(plain.ports);
    let nodes = nodes.map(|(node, port)| format!("{}/{}:{port}", node.host, node.address));
    LocatedBlock {
        offset: block.offset,
        length: block.length,
        pool: plain.pool,
        id: plain.id,
        generation: plain.generation,
        nodes: nodes.collect(),
    }
}

impl Bed {
    /// On a folder of this machine.
    pub async fn new(texts: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().to_str().unwrap().to_owned();
        let mut bed = Self::on(Address::Shared, &top, texts).await;
        bed.folder = Some(folder);
        bed
    }

    /// In a folder of a file system.
    pub async fn on(address: Address, top: &str, texts: &[&str]) -> Self {
        let storage = Arc::new(Storage::open(&address).unwrap());
        storage.make_folder(top).await.unwrap();
        let mut bed = Self {
            folder: None,
            address,
            storage,
            top: top.to_owned(),
            sizes: Vec::new(),
            blocks: BTreeMap::new(),
            plan: plan(),
            settings: BTreeMap::new(),
        };
        for text in texts {
            bed.add(text).await;
        }
        bed
    }

    /// One file more, that of the next map.
    pub async fn add(&mut self, text: &str) {
        let path = self.path(&format!("in-{}", self.sizes.len()));
        let text = text.as_bytes().to_vec();
        self.sizes.push(text.len() as u64);
        self.storage.write(&path, text).await.unwrap();
    }

    /// From now on launchers are told where the blocks of the files that there are lie, on HDFS.
    pub async fn locate(&mut self) {
        let Address::Hdfs { connect, user, .. } = &self.address else {
            panic!("{:?}", self.address);
        };
        let name_node = connect.trim_start_matches("hdfs://").to_owned();
        let client = NameNodeClient::new(vec![name_node], user);
        for file in client.blocks(&self.top, 100).await.unwrap().unwrap() {
            let blocks = file.blocks.into_iter().map(located).collect();
            self.blocks.insert(file.path, blocks);
        }
    }

    /// Those of a file, as far as they are told.
    pub fn blocks(&self, path: &str) -> Vec<LocatedBlock> {
        self.blocks.get(path).cloned().unwrap_or_default()
    }

    pub fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.top)
    }

    fn output(&self) -> OutputCommitter {
        OutputCommitter::new(Arc::clone(&self.storage), &self.path("out"))
    }

    /// The job owns its output folder.
    pub async fn set_up(&self) {
        let owner = self.output().set_up(Setup::new(NAME), async |_| true).await;
        assert_eq!(owner.unwrap(), SetupVerdict::Owner);
    }

    /// Makes what these attempts have written the output.
    pub async fn commit(&self, attempts: &[&str]) -> JobVerdict {
        let results = attempts.iter().map(|name| TaskResult {
            attempt: AttemptName::parse(name).unwrap(),
            names: None,
        });
        let results: Vec<TaskResult> = results.collect();
        let job = JobCommit::commit(NAME, 1, &results);
        self.output().finish_job(job).await.unwrap()
    }

    /// The job's own folder.
    pub fn job_folder(&self) -> String {
        absolute(&self.path("out"), &job_folder(NAME))
    }

    /// Files of attempts below the job's folder: those of first ones, and the others.
    pub async fn attempts(&self) -> Vec<String> {
        let mut all = Vec::new();
        for folder in ["/written", ""] {
            let folder = format!("{}{folder}", self.job_folder());
            let files = self.storage.list(&folder, 100).await.unwrap_or_default();
            let files = files.iter().filter(|entry| !entry.is_folder);
            all.extend(files.map(|entry| entry.name().to_owned()));
        }
        all
    }

    /// Waits until there are no files of attempts but these.
    pub async fn attempts_left(&self, files: &[&str]) {
        within(async {
            while self.attempts().await != files {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        })
        .await;
    }

    /// What is in the output folder.
    pub async fn names(&self) -> Vec<String> {
        let all = self.storage.list(&self.path("out"), 100).await;
        let all = all.unwrap_or_default();
        all.iter().map(|entry| entry.name().to_owned()).collect()
    }

    /// A file of the output.
    pub async fn text(&self, name: &str) -> String {
        let path = self.path(&format!("out/{name}"));
        String::from_utf8(self.storage.read(&path, 64 << 20).await.unwrap()).unwrap()
    }

    pub fn start(&self, process: u32, slot: u32, task: &ToTask) -> StartTask {
        let welcome = Welcome {
            job: "words".to_owned(),
            settings: self.settings.clone(),
            ..Welcome::default()
        };
        let words = Program {
            processes: 1,
            file: "words".to_owned(),
            own_path: example("words").display().to_string(),
            ..Program::default()
        };
        let (inputs, stage, number, attempt) = match task {
            ToTask::Map(map) => {
                let origin = self.storage.url("");
                let path = |piece: &Piece| {
                    let path = piece.name.strip_prefix(&origin).unwrap();
                    InputFile {
                        address: 0,
                        path: path.to_owned(),
                        blocks: self.blocks(path),
                        modified_ms: 0,
                    }
                };
                let inputs = map.pieces.iter().map(path).collect();
                (inputs, 'm', map.task, map.attempt)
            }
            ToTask::Reduce(reduce) => (Vec::new(), 'r', reduce.task, reduce.attempt),
            other => panic!("{other:?}"),
        };
        StartTask {
            process,
            slot,
            program: Some(words),
            plan: self.plan.clone(),
            welcome: serde_json::to_string(&welcome).unwrap(),
            task: serde_json::to_string(task).unwrap(),
            addresses: vec![serde_json::to_string(&self.address).unwrap()],
            inputs,
            output: Some(OutputFolder {
                address: 0,
                path: self.path("out"),
                job: NAME.to_owned(),
                attempt: format!("attempt_{stage}_{number:06}_{attempt}"),
            }),
            ..StartTask::default()
        }
    }

    /// A map of a whole file.
    pub fn map(&self, task: u32, attempt: u32, partitions: u32) -> ToTask {
        self.map_of(task, attempt, partitions, &[(task, 0, u64::MAX)])
    }

    /// A map of parts of files: which, from where, how long at most.
    pub fn map_of(
        &self,
        task: u32,
        attempt: u32,
        partitions: u32,
        parts: &[(u32, u64, u64)],
    ) -> ToTask {
        let piece = |&(file, offset, most): &(u32, u64, u64)| {
            let size = self.sizes[usize::try_from(file).unwrap()];
            Piece {
                name: self.storage.url(&self.path(&format!("in-{file}"))),
                offset,
                length: most.min(size - offset),
                size,
            }
        };
        ToTask::Map(MapOrder {
            task,
            attempt,
            partitions,
            pieces: parts.iter().map(piece).collect(),
            skip: Vec::new(),
        })
    }

    /// Runs one task to its end.
    pub async fn run(&self, link: &mut Link, process: u32, task: &ToTask) -> TaskEnded {
        order(link, Order::Start(self.start(process, 0, task))).await;
        ended(link).await
    }
}

/// The reduce of partition 0, which reads what these maps have left.
pub fn reduce(maps: &[u32]) -> ToTask {
    let sources = maps.iter().map(|&map| Source {
        map,
        // Known to the launcher that has it.
        offset: 0,
        length: 0,
        records: 0,
    });
    ToTask::Reduce(ReduceOrder {
        task: 0,
        attempt: 0,
        sources: sources.collect(),
        skip: Vec::new(),
    })
}

pub async fn order(link: &Link, order: Order) {
    let order = TaskOrder {
        job: JOB,
        order: Some(order),
    };
    link.say(launcher_order::Order::Task(order)).await;
}

pub async fn of_tasks(link: &mut Link) -> TaskTold {
    match link.told().await {
        Told::Task(TaskEvent {
            job: JOB,
            event: Some(event),
        }) => event,
        other => panic!("{other:?}"),
    }
}

pub async fn ended(link: &mut Link) -> TaskEnded {
    loop {
        if let TaskTold::Ended(ended) = of_tasks(link).await {
            return ended;
        }
    }
}

/// The next answer to a question for what a process has printed.
pub async fn log_read(link: &mut Link) -> LogRead {
    loop {
        if let TaskTold::Log(read) = of_tasks(link).await {
            return read;
        }
    }
}

/// The next that is told of a task, which runs.
pub async fn seen(link: &mut Link) -> TaskSeen {
    match of_tasks(link).await {
        TaskTold::Seen(seen) => seen.tasks[0].clone(),
        other => panic!("{other:?}"),
    }
}

pub fn done(ended: &TaskEnded) -> FromTask {
    assert_eq!(ended.trouble, "");
    assert_eq!(ended.how, Some(How::ExitCode(0)));
    assert!(ended.max_rss_kib > 0);
    serde_json::from_str(&ended.said).unwrap()
}
