//! A job in a test: in this process, in memory, with everything else as it is.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;

use gerbil_task::{
    Listed, MapOrder, OutputOf, Page, Partition, Piece, ReduceOrder, Source, add, check_counters,
};
use rustix::fs::{MemfdFlags, memfd_create};
use serde::Serialize;

use crate::context::{Context, Counters, Ground, brought_setting};
use crate::counting::Counting;
use crate::error::{Error, Result};
use crate::input::splits::{OpenNamed, splits as cut};
use crate::input::{Cutting, Open, Opened};
use crate::job::{Spec, inputs, option_setting};
use crate::output::sync::SEED;
use crate::partition::set_ranges;
use crate::settings::{COUNTERS, INPUT_MAPS, SPLIT_MAX, SPLIT_PACK, Settings};
use crate::sort::collect::Spare;
use crate::sort::scratch::{Scratch, Spill};
use crate::task::map::MapRun;
use crate::task::reduce::ReduceRun;

/// A job to be run on input that a test gives: one map a file, or as a format without files has it.
///
/// ```
/// use gerbil_mapreduce::prelude::*;
///
/// struct Words;
/// impl Mapper for Words {
///     type Input = TextLines;
///     type Key = Text;
///     type Value = u64;
///     fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
///         line.split(|b| b.is_ascii_whitespace()).filter(|w| !w.is_empty()).try_for_each(|w| out.emit(w, &1))
///     }
/// }
///
/// let job = Job::new("wordcount").map(|| Words).combine(|| Sum).reduce(|| Sum);
/// let done = job.test().input("to be or not").input("to be").run()?;
/// assert_eq!(done.text(), "be\t2\nnot\t1\nor\t1\nto\t2\n");
/// # Ok::<(), Error>(())
/// ```
pub struct Test {
    spec: Spec,
    files: Vec<TestFile>,
    brings: Vec<(String, Vec<u8>)>,
    inputs: Vec<String>,
    /// Most bytes of a split; none: a file is one.
    split_every: Option<u64>,
    reduces: u32,
    settings: Settings,
    params: serde_json::Value,
}

struct TestFile {
    name: String,
    content: Vec<u8>,
    /// The input that it is of, if that is not the first one.
    of: Option<String>,
}

impl std::fmt::Debug for Test {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a test of {:?}", self.spec.planned)
    }
}

type FilesByName = Rc<RefCell<BTreeMap<String, File>>>;

/// Files in memory.
struct FilesInMemory {
    inputs: Vec<File>,
    sources: Vec<Arc<Spill>>,
    of: OutputOf,
    outputs: FilesByName,
    status: Rc<RefCell<Vec<String>>>,
}

impl Ground for FilesInMemory {
    fn input(&mut self, piece: u32) -> Open {
        let file = self.inputs.get(piece as usize).map(File::try_clone);
        Rc::new(move |_| match &file {
            Some(Ok(file)) => Ok(Opened::File(file.try_clone()?)),
            Some(Err(error)) => Err(Error::new(error.to_string())),
            None => Err(Error::new("a piece that is none")),
        })
    }

    fn source(&mut self, source: u32) -> Result<File> {
        Ok(self
            .sources
            .get(source as usize)
            .ok_or_else(|| Error::new("a source that is none"))?
            .file()
            .try_clone()?)
    }

    fn output(&mut self, name: &str) -> Result<File> {
        // As launchers do.
        self.of.check(name).map_err(Error::new)?;
        let file = memory()?;
        self.outputs
            .borrow_mut()
            .insert(name.to_owned(), file.try_clone()?);
        Ok(file)
    }

    fn status(&mut self, text: &str) -> Result<()> {
        self.status.borrow_mut().push(text.to_owned());
        Ok(())
    }
}

fn memory() -> Result<File> {
    Ok(memfd_create("gerbil-test", MemfdFlags::CLOEXEC)?.into())
}

impl Test {
    pub(crate) fn new(spec: Spec) -> Self {
        let mut settings = Settings::new(spec.planned.settings.clone());
        for option in &spec.options {
            if let Some(default) = option.default {
                settings.set(&option_setting(option.name), default);
            }
        }
        let reduces = u32::from(spec.reduce.is_some());
        Self {
            spec,
            files: Vec::new(),
            brings: Vec::new(),
            inputs: Vec::new(),
            split_every: None,
            reduces,
            settings,
            params: serde_json::Value::Null,
        }
    }

    /// Adds an input file, called `input-0` and so on.
    #[must_use]
    pub fn input(self, content: impl AsRef<[u8]>) -> Self {
        let name = format!("input-{}", self.files.len());
        self.file(&name, content)
    }

    /// Adds an input file of some name.
    #[must_use]
    pub fn file(mut self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.files.push(TestFile {
            name: name.to_owned(),
            content: content.as_ref().to_vec(),
            of: None,
        });
        self
    }

    /// Adds a file of the input `name`, which has a mapper of its own ([`Mapped::and`](crate::Mapped::and)); it is called
    /// `input-0` and so on.
    #[must_use]
    pub fn input_of(mut self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.files.push(TestFile {
            name: format!("input-{}", self.files.len()),
            content: content.as_ref().to_vec(),
            of: Some(name.to_owned()),
        });
        self
    }

    /// Adds a file that the job brings along: [`Context::open`](crate::Context::open) finds it under this name.
    #[must_use]
    pub fn brings(mut self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.brings
            .push((name.to_owned(), content.as_ref().to_vec()));
        self
    }

    /// Adds an input that is no file, for formats such as [`Numbers`](crate::Numbers).
    #[must_use]
    pub fn word(mut self, input: &str) -> Self {
        self.inputs.push(input.to_owned());
        self
    }

    /// Cuts files into splits of so many bytes at most, where their format lets them be cut, with a map for each: what
    /// comes out should be the same as without.
    #[must_use]
    pub const fn split_every(mut self, bytes: u64) -> Self {
        self.split_every = Some(bytes);
        self
    }

    /// Sets the number of reduces, 1 without.
    #[must_use]
    pub const fn reduces(mut self, reduces: u32) -> Self {
        self.reduces = reduces;
        self
    }

    /// Sets a setting.
    #[must_use]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.settings.set(name, value);
        self
    }

    /// Sets an option of the job.
    #[must_use]
    pub fn option(self, name: &str, value: &str) -> Self {
        let name = option_setting(name);
        self.set(&name, value)
    }

    /// Gives tasks something along.
    ///
    /// # Errors
    /// It has no JSON.
    pub fn params(mut self, params: &impl Serialize) -> Result<Self> {
        self.params = serde_json::to_value(params)?;
        Ok(self)
    }

    /// The splits of all inputs, and each piece's file.
    fn file_splits(&mut self) -> Result<Vec<(Vec<Piece>, Vec<File>)>> {
        let more = &self.spec.more;
        let is_none = |name: &&String| !more.iter().any(|of| of.planned.name == **name);
        if let Some(name) = self
            .files
            .iter()
            .filter_map(|file| file.of.as_ref())
            .find(is_none)
        {
            return Err(Error::new(format!(
                "the job has no input {name:?} with a mapper of its own"
            )));
        }
        let mut splits = self.splits_of(None, self.spec.cutting)?;
        let mut maps = vec![splits.len()];
        for of in more {
            let cut = self.splits_of(Some(&of.planned.name), of.cutting)?;
            maps.push(cut.len());
            splits.extend(cut);
        }
        if !more.is_empty() {
            self.settings.set(INPUT_MAPS, &inputs::said(&maps));
        }
        Ok(splits)
    }

    /// The same of one input.
    fn splits_of(
        &self,
        input: Option<&String>,
        cutting: Cutting,
    ) -> Result<Vec<(Vec<Piece>, Vec<File>)>> {
        let mut splits = Vec::new();
        for TestFile {
            name: path,
            content,
            of,
        } in &self.files
        {
            if of.as_ref() != input {
                continue;
            }
            (cutting.takes)(path)?;
            let mut file = memory()?;
            file.write_all(content)?;
            let length = content.len() as u64;
            let Some(most) = self.split_every else {
                let piece = Piece {
                    name: path.clone(),
                    offset: 0,
                    length,
                    size: length,
                };
                splits.push((vec![piece], vec![file]));
                continue;
            };
            let mut settings = self.settings.clone();
            settings.set(SPLIT_MAX, &most.to_string());
            settings.set(SPLIT_PACK, "1");
            let path = path.clone();
            let opened = file.try_clone()?;
            let open: OpenNamed = Rc::new(move |_, _| Ok(Opened::File(opened.try_clone()?)));
            let granule = (cutting.granule)(&settings)?;
            for pieces in cut(&[Listed { path, length }], granule, &settings, &open)? {
                let files = pieces.iter().map(|_| file.try_clone());
                let files = files.collect::<std::io::Result<_>>()?;
                splits.push((pieces, files));
            }
        }
        Ok(splits)
    }

    /// What opens the input files by their names, as a driver's client does.
    fn opener(&self) -> Result<OpenNamed> {
        let mut files = BTreeMap::new();
        for TestFile { name, content, .. } in &self.files {
            let mut file = memory()?;
            file.write_all(content)?;
            files.insert(name.clone(), file);
        }
        Ok(Rc::new(move |name, _| {
            let file = files.get(name);
            let file = file.ok_or_else(|| Error::new(format!("{name}: there is no such file")))?;
            Ok(Opened::File(file.try_clone()?))
        }))
    }

    /// Runs the job.
    ///
    /// # Errors
    /// The job failed.
    pub fn run(mut self) -> Result<Tested> {
        self.spec.sound()?;
        self.settings.check()?;
        self.spec.check_options(&self.settings)?;
        let own = self.settings.parse(COUNTERS)?;
        // A test writes the same bytes each time.
        self.settings.set(SEED, "test");
        let mut brought = Vec::new();
        for (name, content) in &self.brings {
            let mut file = memory()?;
            file.write_all(content)?;
            // Whoever opens it there has it from its beginning.
            let path = format!("/proc/self/fd/{}", file.as_raw_fd());
            self.settings.set(&brought_setting(name), &path);
            brought.push(file);
        }
        let outputs = FilesByName::default();
        let status = Rc::default();
        let (page, _descriptor) = Page::create()?;
        let folder: OwnedFd = File::open(std::env::temp_dir())?.into();
        let scratch = Arc::new(Scratch::new(folder, None));
        let mut counters = Counters::new();
        let mut maps = Vec::new();
        match &self.spec.splits {
            Some(splits) => {
                maps.extend(
                    splits(&self.inputs, &self.settings)?
                        .into_iter()
                        .map(|pieces| (pieces, Vec::new())),
                );
            }
            None => maps.extend(self.file_splits()?),
        }
        if let (Some(sample), 2..) = (&self.spec.sample, self.reduces) {
            let splits: Vec<_> = maps.iter().map(|(pieces, _)| pieces.clone()).collect();
            let open = self.opener()?;
            let keys = sample(&splits, &self.settings, &self.params, &open)?;
            set_ranges(&mut self.settings, keys, self.reduces, self.spec.shown);
        }
        let context = |of: OutputOf, inputs: Vec<File>, sources: Vec<Arc<Spill>>| Context {
            settings: self.settings.clone(),
            params: self.params.clone(),
            counting: Counting::default(),
            page: page.clone(),
            ground: Box::new(FilesInMemory {
                inputs,
                sources,
                of,
                outputs: Rc::clone(&outputs),
                status: Rc::clone(&status),
            }),
            stage: if of.is_map { 'm' } else { 'r' },
            number: of.task,
            attempt: 0,
            input: String::new(),
            split: Vec::new(),
            beside: None,
        };
        let mut left: Vec<(Arc<Spill>, Vec<Partition>)> = Vec::new();
        let mut spare = Spare::default();
        for (task, (pieces, files)) in (0_u32..).zip(maps) {
            let order = MapOrder {
                task,
                attempt: 0,
                partitions: self.reduces,
                pieces,
                skip: Vec::new(),
            };
            let context = context((&order).into(), files, Vec::new());
            let scratch = Arc::clone(&scratch);
            let run = MapRun {
                order: &order,
                context,
                scratch,
                spare: &mut spare,
                direct: self.spec.direct.clone(),
            };
            let done = (self.spec.map)(run)?;
            count(&mut counters, done.counters, own)?;
            left.extend(done.output);
        }
        for task in 0..self.reduces {
            let Some(reduce) = &self.spec.reduce else {
                return Err(Error::new("this job has no reducer"));
            };
            let source = |(map, (_, partitions)): (u32, &(_, Vec<Partition>))| {
                let place = partitions.get(task as usize).copied().unwrap_or_default();
                Source {
                    map,
                    offset: place.offset,
                    length: place.length,
                    records: place.records,
                }
            };
            let sources = (0_u32..).zip(&left).map(source).collect();
            let order = ReduceOrder {
                task,
                attempt: 0,
                sources,
                skip: Vec::new(),
            };
            let files = left.iter().map(|(file, _)| Arc::clone(file)).collect();
            let context = context((&order).into(), Vec::new(), files);
            let run = ReduceRun {
                order,
                context,
                scratch: Arc::clone(&scratch),
                output: self.spec.output.clone(),
            };
            count(&mut counters, reduce(run)?, own)?;
        }
        let mut files = BTreeMap::new();
        for (name, file) in outputs.borrow_mut().iter_mut() {
            let mut content = Vec::new();
            file.rewind()?;
            file.read_to_end(&mut content)?;
            files.insert(name.clone(), content);
        }
        let status = status.borrow().clone();
        Ok(Tested {
            files,
            counters,
            status,
        })
    }
}

/// Adds what a task has counted to what its job has.
fn count(sums: &mut Counters, counted: Counters, own: usize) -> Result<()> {
    check_counters(sums, &counted, own).map_err(|error| Error::new(error.to_string()))?;
    add(sums, counted);
    Ok(())
}

/// What a job left in a test.
#[derive(Clone, Debug)]
pub struct Tested {
    files: BTreeMap<String, Vec<u8>>,
    counters: Counters,
    status: Vec<String>,
}

impl Tested {
    /// The files of the output, by their names.
    #[must_use]
    pub const fn files(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.files
    }

    /// All part files in a row, as text.
    #[must_use]
    pub fn text(&self) -> String {
        let parts = self
            .files
            .iter()
            .filter(|(name, _)| name.starts_with("part-"));
        parts
            .map(|(_, content)| String::from_utf8_lossy(content))
            .collect()
    }

    /// The value of a counter; 0 where nothing was counted.
    #[must_use]
    pub fn counter(&self, group: &str, counter: &str) -> i64 {
        self.counters
            .get(group)
            .and_then(|group| group.get(counter))
            .copied()
            .unwrap_or(0)
    }

    /// What tasks said of themselves.
    #[must_use]
    pub fn status(&self) -> &[String] {
        &self.status
    }
}
