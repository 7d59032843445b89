//! What a task's user code finds around itself.

use std::fs::File;
use std::sync::Arc;

use gerbil_task::{Page, Piece};
use serde::de::DeserializeOwned;

use crate::counting::Counting;
use crate::error::{Context as _, Result};
use crate::handle::{Beside, Handle};
use crate::input::Open;
use crate::options::Options;
use crate::settings::Settings;

/// Group of the counters that are the framework's.
pub(crate) const TASK_COUNTER: &str = "org.apache.hadoop.mapreduce.TaskCounter";
/// Counters, group by group.
pub(crate) use gerbil_task::Counters;

/// What is beyond Java's `long`, in which counters are summed, is its end.
pub(crate) fn increment(by: impl TryInto<i64>) -> i64 {
    by.try_into().unwrap_or(i64::MAX)
}

/// The setting in which tasks of this machine are told where a file lies that their job brings along. On a cluster there is
/// none: it is in the folder in which they begin.
pub(crate) fn brought_setting(name: &str) -> String {
    format!("gerbil.brought.{name}")
}

/// What opens a task's files: the launcher at the other end of the socket, or a test.
pub(crate) trait Ground {
    /// What opens a piece of the split.
    fn input(&mut self, piece: u32) -> Open;
    /// A source of the reduce, open for reading.
    fn source(&mut self, source: u32) -> Result<File>;
    /// A new file of the attempt's output.
    fn output(&mut self, name: &str) -> Result<File>;
    /// What the user's code says of itself.
    fn status(&mut self, text: &str) -> Result<()>;
}

/// Settings, parameters, counters and place of a task.
pub struct Context {
    pub(crate) settings: Settings,
    pub(crate) params: serde_json::Value,
    pub(crate) counting: Counting,
    pub(crate) page: Page,
    pub(crate) ground: Box<dyn Ground>,
    pub(crate) stage: char,
    pub(crate) number: u32,
    pub(crate) attempt: u32,
    pub(crate) input: String,
    pub(crate) split: Vec<Piece>,
    /// What other threads have said through a [`Handle`], until this one comes by.
    pub(crate) beside: Option<Arc<Beside>>,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "task {}-{:05} attempt {}",
            self.stage, self.number, self.attempt
        )
    }
}

impl Context {
    /// Adds to a counter of the user's, any whole number: what is below 0 takes away, and a counter may be below 0, as in
    /// Hadoop. A task may have 5000 of them, whose names and groups have up to 255 bytes; it fails where it counts under
    /// more.
    pub fn count(&mut self, group: &str, counter: &str, by: impl TryInto<i64>) {
        self.page.alive();
        self.counting.count(group, counter, increment(by));
    }

    pub(crate) fn count_task(&mut self, counter: &str, by: u64) {
        self.counting.add(TASK_COUNTER, counter, by);
    }

    /// Takes over what other threads have counted and said, and tells whether all was counted that the user's code has
    /// counted until now.
    #[inline]
    pub(crate) fn counted(&mut self) -> Result<()> {
        if self.beside.as_ref().is_some_and(|beside| beside.is_news()) {
            self.take_over()?;
        }
        self.counting.check()
    }

    #[cold]
    fn take_over(&mut self) -> Result<()> {
        let Some(beside) = &self.beside else {
            return Ok(());
        };
        let (counted, status) = beside.take();
        self.counting.absorb(counted);
        match status {
            Some(text) => self.status(&text),
            None => Ok(()),
        }
    }

    /// For the task's other threads: a context stays with the thread that is handed records.
    ///
    /// ```
    /// # use gerbil_mapreduce::{Context, Result};
    /// # fn setup(context: &mut Context) -> Result<()> {
    /// let handle = context.handle();
    /// let thread = std::thread::spawn(move || handle.count("results", "read", 1));
    /// # drop(thread);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn handle(&mut self) -> Handle {
        let beside = self.beside.get_or_insert_default();
        Handle::new(Arc::clone(beside), self.page.clone())
    }

    /// Says in one line, of up to 512 bytes, what the task is at; a sign of life, too.
    ///
    /// # Errors
    /// The launcher is gone.
    pub fn status(&mut self, text: &str) -> Result<()> {
        self.page.alive();
        self.ground.status(text)
    }

    /// A sign of life, for work on one record that takes longer than `mapreduce.task.timeout`. What is emitted or
    /// counted is one, too, and so is each value that a reducer takes.
    pub fn progress(&self) {
        self.page.alive();
    }

    /// The job's settings.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The value of a setting that the user gave with `-D NAME=VALUE`, the program's own included, or its default.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name)
    }

    /// The value of an option that the job registered with [`Job::option`](crate::Job::option).
    ///
    /// # Errors
    /// There is no such option, or its value is none of that kind.
    pub fn option<T: std::str::FromStr>(&self, name: &str) -> Result<T> {
        self.settings.option(name)
    }

    /// The job's own settings, as a struct.
    ///
    /// # Errors
    /// One that is needed is not given, or a value is none of its kind.
    pub fn options<T: Options>(&self) -> Result<T> {
        T::of(&self.settings)
    }

    /// A file of the task's own beside its output, `NAME-r-00000` and so on: it appears with the output,
    /// when the task has ended well, whichever attempt that was. It may be a pipe, so it is only written, from
    /// its beginning to its end, and is to be closed when the task ends.
    ///
    /// # Errors
    /// The name is not of letters and digits alone, or is an output's; or the file cannot be made.
    pub fn side_file(&mut self, name: &str) -> Result<File> {
        if name == "part"
            || name.is_empty()
            || !name.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            return Err(crate::Error::new(format!(
                "{name:?} is no name of a side file: letters and digits, and not part"
            )));
        }
        let file = format!("{name}-{}-{:05}", self.stage, self.number);
        self.ground.output(&file)
    }

    /// A file that the job brings along, by its name: that of the option ([`Job::brings`](crate::Job::brings)), of
    /// `--files FILE#NAME`, or of [`Submit::brings`](crate::Submit::brings). Each call opens it anew, at its beginning.
    ///
    /// # Errors
    /// The job brings no such file, or it cannot be read.
    pub fn open(&self, name: &str) -> Result<File> {
        let path = self.settings.given().get(&brought_setting(name));
        File::open(path.map_or(name, String::as_str))
            .context(|| format!("{name}, which the job is to bring along"))
    }

    /// What the driver gave along.
    ///
    /// # Errors
    /// It is no such type.
    pub fn params<T: DeserializeOwned>(&self) -> Result<T> {
        T::deserialize(&self.params).context(|| "the job's params")
    }

    /// The name of the file that is being read; empty in a reduce.
    #[must_use]
    pub fn input(&self) -> &str {
        &self.input
    }

    /// The number of the record at hand in its split, or that of the group at hand in its reduce, and the byte of the file
    /// at which the record begins: what [`Error::on_record`](crate::Error::on_record) takes.
    #[must_use]
    pub fn at(&self) -> (u64, u64) {
        let blame = self.page.read();
        (blame.record, blame.offset)
    }

    /// The pieces of files that a map reads, in their order; none in a reduce.
    #[must_use]
    pub fn split(&self) -> &[Piece] {
        &self.split
    }

    /// Whether this is a map.
    #[must_use]
    pub const fn is_map(&self) -> bool {
        self.stage == 'm'
    }

    /// The number of this map or reduce.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The number of the attempt, from 0.
    #[must_use]
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }
}
