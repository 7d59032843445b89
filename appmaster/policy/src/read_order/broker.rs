//! Which engine of a node may read: one at a time, by a token for each chunk.
//!
//! Source: SPMario, §III: its scheduler, which orders the I/O of all tasks of a GPU. An engine is a process with up to
//! [`ENGINE_TASKS`] tasks and one thread that reads for them.
//!
//! ```text
//!  engine                               broker
//!  ready(task)  a buffer is free ─────▶ a task of the ReadDriver has a buffer more
//!               ◀──── BrokerGrant ───── the token: read the task's next chunk
//!  read(task)   it is in the buffer ──▶ the token is back
//!  done(task)   it is computed ───────▶ what it cost
//! ```
//!
//! While an engine reads, the chunk after it is chosen already. It is granted ahead where the same engine reads it, whose
//! thread goes on without asking; another engine gets it when the token is back. An engine that is gone gives everything
//! back. One that has a token for longer than the timeout is [overdue](ReadBroker::overdue): the caller ends it.
//!
//! Orders whose tasks read [side by side](super::ReadOrder::side_by_side) have as many tokens as they have tasks that can
//! read.
//!
//! Invariants: engines, tasks and buffers are bounded; what an engine says changes tasks of its own alone; of a task that
//! has no token nobody takes a token back.

use std::collections::{BTreeMap, VecDeque};

use super::{ChunkCost, ReadDriver, ReadOrder, ReadTask, ReadTaskIx};
use crate::schedule::Nanos;

/// Most engines at a time.
pub const BROKER_ENGINES: usize = 64;
/// Most tasks of an engine.
pub const ENGINE_TASKS: usize = 8;
/// Most host buffers of a task.
pub const TASK_BUFFERS: u32 = 8;

/// An engine, as the caller numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EngineIx(pub u64);

/// With whom an engine shares its turns.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum EngineContainer {
    /// With all engines of its GPU that have no other one.
    #[default]
    Shared,
    /// With none.
    Own,
    /// With those that give the same name.
    Named(String),
}

/// Whose an engine is, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnginePlace {
    /// Its job.
    pub job: String,
    /// Its GPU.
    pub gpu: String,
    /// With whom it shares its turns.
    pub container: EngineContainer,
}

/// A task has a free buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskReady {
    /// Its number in its engine.
    pub task: u32,
    /// Bytes of a chunk; of its first message alone.
    pub chunk: u64,
    /// Bytes that it reads from now on; of its first message alone.
    pub bytes: u64,
    /// Of its job, 1 to 10; of its first message alone.
    pub priority: u8,
}

/// A token: the engine reads the next chunk of its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokerGrant {
    /// Whom to tell.
    pub engine: EngineIx,
    /// Of which task of its.
    pub task: u32,
}

/// What an engine must not say. It is to be parted with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokerError {
    /// There are enough.
    #[error("{BROKER_ENGINES} engines read from this disk already, which is the most at a time")]
    Engines,
    /// It has enough tasks.
    #[error("task {task}: an engine has at most {ENGINE_TASKS} tasks")]
    Tasks {
        /// The one too many.
        task: u32,
    },
    /// It has enough buffers.
    #[error("task {task}: a task has at most {TASK_BUFFERS} free buffers")]
    Buffers {
        /// Whose.
        task: u32,
    },
    /// Nobody knows it.
    #[error("task {task} is not known: `ready` is said first")]
    Task {
        /// Its number.
        task: u32,
    },
    /// It has read what it was not granted.
    #[error("task {task} has read a chunk without a token")]
    Token {
        /// Its number.
        task: u32,
    },
    /// The engine is not there.
    #[error("this engine is not known")]
    Engine,
}

#[derive(Debug)]
struct Engine {
    job: u32,
    gpu: u32,
    container: u32,
    names: EnginePlace,
    /// By the engine's numbers.
    tasks: BTreeMap<u32, ReadTaskIx>,
}

#[derive(Clone, Copy, Debug)]
struct Token {
    to: BrokerGrant,
    task: ReadTaskIx,
    /// Whether the engine was told.
    is_told: bool,
    /// Since when it is the one that reads.
    since: Option<Nanos>,
}

/// The machine.
#[derive(Debug)]
pub struct ReadBroker {
    driver: ReadDriver,
    timeout: Nanos,
    engines: BTreeMap<EngineIx, Engine>,
    /// The first one's engine reads; of orders that read side by side all do.
    tokens: VecDeque<Token>,
}

impl ReadBroker {
    /// Without engines; one that has a token for longer than `timeout` is overdue.
    #[must_use]
    pub fn new(order: Box<dyn ReadOrder>, timeout: Nanos) -> Self {
        Self {
            driver: ReadDriver::new(order),
            timeout,
            engines: BTreeMap::new(),
            tokens: VecDeque::new(),
        }
    }

    /// An engine more, under a number that none has.
    ///
    /// # Errors
    ///
    /// There are enough.
    pub fn join(&mut self, engine: EngineIx, place: EnginePlace) -> Result<(), BrokerError> {
        if self.engines.len() >= BROKER_ENGINES {
            return Err(BrokerError::Engines);
        }
        let job = self.number(
            |other| (other.names.job == place.job).then_some(other.job),
            |e| e.job,
        );
        let gpu = self.number(
            |other| (other.names.gpu == place.gpu).then_some(other.gpu),
            |e| e.gpu,
        );
        let shares = |other: &Engine| {
            let names = &other.names;
            let shares = names.container == place.container
                && match place.container {
                    EngineContainer::Own => false,
                    EngineContainer::Shared => names.gpu == place.gpu,
                    EngineContainer::Named(_) => true,
                };
            shares.then_some(other.container)
        };
        let container = self.number(shares, |e| e.container);
        let known = Engine {
            job,
            gpu,
            container,
            names: place,
            tasks: BTreeMap::new(),
        };
        self.engines.insert(engine, known);
        Ok(())
    }

    /// The number of an engine that `shares` it, or the lowest that none has.
    fn number(&self, shares: impl Fn(&Engine) -> Option<u32>, of: impl Fn(&Engine) -> u32) -> u32 {
        let shared = self.engines.values().find_map(shares);
        let is_free = |number: &u32| self.engines.values().all(|engine| of(engine) != *number);
        shared.or_else(|| (0..).find(is_free)).unwrap_or(u32::MAX)
    }

    /// A host buffer of a task is free. The first time the task is new.
    ///
    /// # Errors
    ///
    /// The engine has too many tasks, or the task too many buffers.
    pub fn ready(&mut self, engine: EngineIx, ready: &TaskReady) -> Result<(), BrokerError> {
        let task = ready.task;
        let known = self.engines.get_mut(&engine).ok_or(BrokerError::Engine)?;
        if let Some(number) = known.tasks.get(&task) {
            let free = self.driver.state().task(*number).map(|task| task.free);
            if free.is_some_and(|free| free >= TASK_BUFFERS) {
                return Err(BrokerError::Buffers { task });
            }
            self.driver.freed(*number);
            return Ok(());
        }
        if known.tasks.len() >= ENGINE_TASKS {
            return Err(BrokerError::Tasks { task });
        }
        let number = self.driver.add(ReadTask {
            job: known.job,
            gpu: known.gpu,
            container: known.container,
            priority: ready.priority,
            ..ReadTask::new(ready.chunk, ready.bytes, 1)
        });
        known.tasks.insert(task, number);
        Ok(())
    }

    /// The chunk that the engine was granted is in its buffer: the token is back.
    ///
    /// # Errors
    ///
    /// The task has no token.
    pub fn read(&mut self, now: Nanos, engine: EngineIx, task: u32) -> Result<(), BrokerError> {
        // One that was told ahead may be read before the broker has looked again.
        let to = BrokerGrant { engine, task };
        let is_its = |token: &Token| token.is_told && token.to == to;
        let at = self.tokens.iter().position(is_its);
        let token = at.and_then(|at| self.tokens.remove(at));
        let token = token.ok_or(BrokerError::Token { task })?;
        self.driver.read(now, token.task);
        Ok(())
    }

    /// The oldest chunk of the task is computed, and cost this.
    ///
    /// # Errors
    ///
    /// The task is not known.
    pub fn done(
        &mut self,
        now: Nanos,
        engine: EngineIx,
        task: u32,
        cost: &ChunkCost,
    ) -> Result<(), BrokerError> {
        let number = self.task(engine, task)?;
        self.driver.done(now, number, cost);
        Ok(())
    }

    /// The task reads no more.
    ///
    /// # Errors
    ///
    /// The task is not known.
    pub fn ended(&mut self, engine: EngineIx, task: u32) -> Result<(), BrokerError> {
        let number = self.task(engine, task)?;
        if let Some(engine) = self.engines.get_mut(&engine) {
            engine.tasks.remove(&task);
        }
        self.tokens.retain(|token| token.task != number);
        self.driver.remove(number);
        Ok(())
    }

    /// The engine is gone, in whatever way: its token is back, and its tasks read no more.
    pub fn leave(&mut self, engine: EngineIx) {
        self.tokens.retain(|token| token.to.engine != engine);
        let gone = self.engines.remove(&engine);
        for task in gone.into_iter().flat_map(|gone| gone.tasks.into_values()) {
            self.driver.remove(task);
        }
    }

    /// Tokens that engines are to be told of now. To be asked after whatever happened.
    pub fn grants(&mut self, now: Nanos) -> Vec<BrokerGrant> {
        let mut told = Vec::new();
        let side_by_side = self.driver.side_by_side();
        loop {
            let first = self.tokens.front().map(|token| token.to.engine);
            for (place, token) in self.tokens.iter_mut().enumerate() {
                let reads = place == 0 || side_by_side;
                if reads && token.since.is_none() {
                    token.since = Some(now);
                }
                // One read ahead, where no other engine reads before it.
                if !token.is_told && (reads || Some(token.to.engine) == first) {
                    token.is_told = true;
                    told.push(token.to);
                }
            }
            if !side_by_side && self.tokens.len() >= 2 {
                return told;
            }
            let Some(token) = self.choose(now) else {
                return told;
            };
            self.tokens.push_back(token);
        }
    }

    fn choose(&mut self, now: Nanos) -> Option<Token> {
        let (number, _) = self.driver.next(now)?;
        let to = self.engines.iter().find_map(|(engine, known)| {
            let mut tasks = known.tasks.iter();
            let (task, _) = tasks.find(|(_, of)| **of == number)?;
            Some(BrokerGrant {
                engine: *engine,
                task: *task,
            })
        });
        Some(Token {
            to: to?,
            task: number,
            is_told: false,
            since: None,
        })
    }

    /// Engines that have had a token for too long.
    pub fn overdue(&self, now: Nanos) -> impl Iterator<Item = BrokerGrant> {
        let is_late = move |since: Nanos| now.since(since) >= self.timeout;
        let late = self.tokens.iter();
        let late = late.filter(move |token| token.since.is_some_and(is_late));
        late.map(|token| token.to)
    }

    /// When the next is overdue, where it says nothing before.
    #[must_use]
    pub fn due(&self) -> Option<Nanos> {
        let since = self.tokens.iter().filter_map(|token| token.since).min()?;
        Some(since.plus(self.timeout))
    }

    /// What is known of the tasks.
    #[must_use]
    pub const fn driver(&self) -> &ReadDriver {
        &self.driver
    }

    fn task(&self, engine: EngineIx, task: u32) -> Result<ReadTaskIx, BrokerError> {
        let engine = self.engines.get(&engine).ok_or(BrokerError::Engine)?;
        let number = engine.tasks.get(&task).copied();
        number.ok_or(BrokerError::Task { task })
    }
}
