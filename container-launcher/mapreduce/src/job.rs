//! Jobs, put together from mappers, combiners, reducers and formats.
//!
//! Constructors such as `|| Words` are given, not mappers: each task makes its own. They capture nothing,
//! which is checked when the program is compiled: what a `main` reads on one machine is something else on
//! another, so tasks get their settings and params with the job, and from nowhere else.

pub(crate) mod inputs;
mod mapped;
mod ready;

use std::collections::BTreeMap;
use std::sync::Arc;

use gerbil_task::{Piece, PlannedJob};

use inputs::MoreInput;
pub use mapped::Mapped;
pub use ready::Ready;

use crate::context::Counters;
use crate::error::{Error, Result};
use crate::input::Cutting;
use crate::input::splits::OpenNamed;
use crate::map::Mapper;
use crate::options::{Options, TypedOptions};
use crate::output::WriterOf;
use crate::settings::Settings;
use crate::sort::collect::RecordPlace;
use crate::task::map::{MapDone, MapRun};
use crate::task::reduce::ReduceRun;

/// An option that a job adds to the command line.
#[derive(Clone, Debug)]
pub(crate) struct JobOption {
    pub(crate) name: &'static str,
    pub(crate) default: Option<&'static str>,
    pub(crate) meaning: &'static str,
    /// What stands for its value in the help, and in words.
    pub(crate) kind: (&'static str, &'static str),
    pub(crate) check: fn(&str) -> bool,
    /// Its value is a file, which the job brings to its tasks.
    pub(crate) is_brought: bool,
}

/// What values of a type look like.
pub(crate) fn kind<T>() -> (&'static str, &'static str) {
    let name = std::any::type_name::<T>();
    match name {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => ("N", "a whole number from 0"),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => ("N", "a whole number"),
        "f32" | "f64" => ("X", "a number"),
        "bool" => ("true|false", "true or false"),
        "alloc::string::String" => ("TEXT", "a text"),
        "std::path::PathBuf" => ("PATH", "a path"),
        _ => ("VALUE", name),
    }
}

/// The setting in which an option's value travels.
pub(crate) fn option_setting(name: &str) -> String {
    format!("option.{name}")
}

pub(crate) type MakePlace = Arc<dyn Fn(u32, &Settings) -> Result<RecordPlace>>;
type Map = dyn Fn(MapRun<'_>) -> Result<MapDone>;
type Reduce = dyn Fn(ReduceRun) -> Result<Counters>;
type Splits = dyn Fn(&[String], &Settings) -> Result<Vec<Vec<Piece>>>;
type Sample =
    dyn Fn(&[Vec<Piece>], &Settings, &serde_json::Value, &OpenNamed) -> Result<Vec<Vec<u8>>>;

/// A job as roles and runners see it: types are gone.
pub(crate) struct Spec {
    pub(crate) planned: PlannedJob,
    /// Why no such job can be run, in one sentence.
    pub(crate) contradiction: Option<String>,
    pub(crate) options: Vec<JobOption>,
    pub(crate) typed: Vec<TypedOptions>,
    pub(crate) cutting: Cutting,
    /// Inputs that options name, whose mappers are their own.
    pub(crate) more: Vec<MoreInput>,
    /// Makes the splits of inputs that are no files.
    pub(crate) splits: Option<Box<Splits>>,
    pub(crate) map: Box<Map>,
    pub(crate) reduce: Option<Box<Reduce>>,
    /// What maps write where there are no reduces.
    pub(crate) direct: WriterOf,
    pub(crate) output: WriterOf,
    /// Keys out of the input, where partitions are ranges of keys.
    pub(crate) sample: Option<Box<Sample>>,
    /// A key of the maps, for people.
    pub(crate) shown: fn(&[u8]) -> String,
}

impl Spec {
    /// Refuses settings that are no options of the job's.
    pub(crate) fn check_options(&self, settings: &Settings) -> Result<()> {
        self.typed
            .iter()
            .try_for_each(|typed| (typed.check)(settings))
    }

    /// The job, unless what it is put together from contradicts itself.
    pub(crate) fn sound(&self) -> Result<&Self> {
        match &self.contradiction {
            None => Ok(self),
            Some(words) => {
                Err(Error::new(words.as_str()).context(format!("job {}", self.planned.name)))
            }
        }
    }
}

/// A job without its mapper.
#[derive(Debug)]
pub struct Job {
    name: &'static str,
    pub(crate) settings: BTreeMap<String, String>,
    options: Vec<JobOption>,
    typed: Vec<TypedOptions>,
    pub(crate) needs: Vec<(String, String)>,
    /// Before the name of its functions, where the job says it.
    #[cfg(feature = "fpga")]
    pub(crate) tag: Option<&'static str>,
    /// Why no such job can be run, in one sentence.
    pub(crate) contradiction: Option<String>,
}

impl Job {
    /// A job called `name`.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            settings: BTreeMap::new(),
            options: Vec::new(),
            typed: Vec::new(),
            needs: Vec::new(),
            #[cfg(feature = "fpga")]
            tag: None,
            contradiction: None,
        }
    }

    /// Sets a setting for this job; the command line may say something else.
    #[must_use]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        let name = gerbil_task::renamed::current(name);
        self.settings.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Adds `--NAME VALUE` to the command line; tasks find it with
    /// [`Context::option`](crate::Context::option). Without a default the option must be given.
    #[must_use]
    pub fn option<T: std::str::FromStr>(
        self,
        name: &'static str,
        default: Option<&'static str>,
        meaning: &'static str,
    ) -> Self {
        self.with(JobOption {
            name,
            default,
            meaning,
            kind: kind::<T>(),
            check: |value| value.parse::<T>().is_ok(),
            is_brought: false,
        })
    }

    /// Says which settings of its own the job has, as the fields of a struct ([`Options`]): `--help` lists them, and what is
    /// wrong with them is said before there is a task. Tasks find them with
    /// [`Context::options`](crate::Context::options).
    #[must_use]
    pub fn options<T: Options>(mut self) -> Self {
        self.typed.push(TypedOptions::new::<T>());
        self
    }

    fn with(mut self, option: JobOption) -> Self {
        self.options.push(option);
        self
    }

    /// Adds `--NAME FILE` to the command line, and brings that file to the nodes, once to each: a table to join with, stop
    /// words, a model. Tasks read it with [`Context::open`](crate::Context::open). The file is one of this machine, or one
    /// that names its file system (`hdfs://…`). Without a default the option must be given; where its value is empty,
    /// nothing is brought.
    ///
    /// ```
    /// use std::collections::HashSet;
    ///
    /// use gerbil_mapreduce::prelude::*;
    ///
    /// #[derive(Default)]
    /// struct Words(HashSet<String>);
    ///
    /// impl Mapper for Words {
    ///     type Input = TextLines;
    ///     type Key = Text;
    ///     type Value = u64;
    ///     fn setup(&mut self, context: &mut Context) -> Result<()> {
    ///         let text = std::io::read_to_string(context.open("stop-words")?)?;
    ///         self.0 = text.lines().map(str::to_owned).collect();
    ///         Ok(())
    ///     }
    ///     fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
    ///         let line = String::from_utf8_lossy(line);
    ///         line.split_whitespace().filter(|word| !self.0.contains(*word)).try_for_each(|word| out.emit(word, &1))
    ///     }
    /// }
    ///
    /// let job = Job::new("wordcount").brings("stop-words", None, "words that are not counted, one a line");
    /// let job = job.map(Words::default).combine(|| Sum).reduce(|| Sum);
    /// let done = job.test().input("to be or not to be").brings("stop-words", "to\nor\n").run()?;
    /// assert_eq!(done.text(), "be\t2\nnot\t1\n");
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn brings(
        self,
        name: &'static str,
        default: Option<&'static str>,
        meaning: &'static str,
    ) -> Self {
        self.with(JobOption {
            name,
            default,
            meaning,
            kind: ("FILE", "a file"),
            check: |_| true,
            is_brought: true,
        })
    }

    /// Says what the nodes of a stage (`map`, `combine` or `reduce`) must have, such as `gpu`, whatever its types
    /// say.
    #[must_use]
    pub fn needs(mut self, stage: &'static str, need: &'static str) -> Self {
        self.needs.push((stage.to_owned(), need.to_owned()));
        self
    }

    /// With mappers that `make` makes, which captures nothing: what is known when the program is compiled may be in it.
    ///
    /// ```
    /// # use gerbil_mapreduce::prelude::*;
    /// # struct Above(u64);
    /// # impl Mapper for Above {
    /// #     type Input = TextLines;
    /// #     type Key = u64;
    /// #     type Value = ();
    /// #     fn map(&mut self, _: u64, _: &[u8], out: &mut Emit<'_, Self>) -> Result<()> { out.emit(&self.0, &()) }
    /// # }
    /// let job = Job::new("above").map(|| Above(7)).map_only();
    /// # assert_eq!(job.test().input("x\n").reduces(0).run()?.text(), "7\n");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// What this process alone knows is refused by the compiler; options and params bring it to tasks.
    ///
    /// ```compile_fail
    /// # use gerbil_mapreduce::prelude::*;
    /// # struct Above(u64);
    /// # impl Mapper for Above {
    /// #     type Input = TextLines;
    /// #     type Key = u64;
    /// #     type Value = ();
    /// #     fn map(&mut self, _: u64, _: &[u8], out: &mut Emit<'_, Self>) -> Result<()> { out.emit(&self.0, &()) }
    /// # }
    /// let least = std::env::args().count() as u64;
    /// let job = Job::new("above").map(move || Above(least)).map_only();
    /// ```
    #[must_use]
    pub fn map<M: Mapper, F: Fn() -> M + Copy + 'static>(self, make: F) -> Mapped<M> {
        const {
            assert!(
                size_of::<F>() == 0,
                "the constructor of a mapper captures something"
            )
        };
        Mapped::new(self, Arc::new(make))
    }
}
