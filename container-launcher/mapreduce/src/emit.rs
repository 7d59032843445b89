//! Where mappers and reducers put what they make.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use gerbil_task::{Page, Phase};

use crate::context::Context;
use crate::datum::{EncodeAs, Value};
use crate::error::{Error, Result};
use crate::map::Mapper;
use crate::output::sync::settings_of_file;
use crate::output::{RecordWriter, WriterOf};
use crate::sort::Collector;
use crate::sort::combine::Combined;
use crate::task::phases::{self, Sampled, Timed};
use crate::task::sample::KeySample;

/// What a mapper emits to.
pub type Emit<'a, M> = Output<'a, <M as Mapper>::Key, <M as Mapper>::Value>;

/// What a mapper or reducer emits to; it is the task's [`Context`], too.
pub struct Output<'a, K, V> {
    context: &'a mut Context,
    sink: &'a mut Sink,
    key: Vec<u8>,
    value: Vec<u8>,
    of: PhantomData<fn(K, V)>,
}

/// Where records go.
pub(crate) enum Sink {
    /// On to the reduces.
    Collect(Box<Collector>),
    /// To the job's output.
    Write(Writers),
    /// Back to the run whose groups are combined.
    Combined(Box<Combined>),
    /// Nowhere: only some keys are kept.
    Keys(KeySample),
    /// On to another one, which is timed meanwhile; none is there only while it is put in.
    Timed(Option<Box<Self>>, Sampled),
}

impl Sink {
    /// Opens what waits for a first record.
    #[inline]
    fn ready(&mut self, context: &mut Context) -> Result<()> {
        match self {
            Self::Write(writers) if writers.is_lazy => writers.open_lazily(context),
            Self::Timed(Some(inner), _) => inner.ready(context),
            Self::Write(_)
            | Self::Collect(_)
            | Self::Combined(_)
            | Self::Keys(_)
            | Self::Timed(None, _) => Ok(()),
        }
    }

    #[inline]
    fn take(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        match self {
            Self::Collect(collector) => collector.emit(key, value),
            Self::Write(writers) => {
                writers.records += 1;
                let page = &writers.page;
                match &mut writers.main {
                    Some(main) => main.write(key, value).inspect_err(|_| unwritten(page)),
                    None => Err(closed()),
                }
            }
            Self::Combined(combined) => combined.take(key, value),
            Self::Keys(keys) => keys.take(key),
            Self::Timed(inner, emits) => timed(inner.as_deref_mut(), emits, key, value),
        }
    }

    /// Some of what it takes is timed from now on, and counts for so many times as much.
    #[cold]
    pub(crate) fn time(&mut self, times: u32) {
        let inner = std::mem::replace(self, Self::Timed(None, Sampled::once_in(times)));
        if let Self::Timed(place, _) = self {
            *place = Some(Box::new(inner));
        }
    }

    /// Nothing is timed any more.
    #[cold]
    pub(crate) fn time_no_more(&mut self) {
        if let Self::Timed(inner, _) = self
            && let Some(inner) = inner.take()
        {
            *self = *inner;
        }
    }

    /// What combiners have emitted.
    pub(crate) fn combined(&mut self) -> Result<&mut Combined> {
        match self {
            Self::Combined(combined) => Ok(combined),
            Self::Collect(_) | Self::Write(_) | Self::Keys(_) | Self::Timed(..) => {
                Err(not_combined())
            }
        }
    }

    /// The same, for good.
    pub(crate) fn into_combined(self) -> Result<Combined> {
        match self {
            Self::Combined(combined) => Ok(*combined),
            Self::Collect(_) | Self::Write(_) | Self::Keys(_) | Self::Timed(..) => {
                Err(not_combined())
            }
        }
    }
}

/// Puts a record into the sink, and notes what some of them take.
#[cold]
#[inline(never)]
fn timed(sink: Option<&mut Sink>, emits: &mut Sampled, key: &[u8], value: &[u8]) -> Result<()> {
    let sink = sink.ok_or_else(closed)?;
    if !emits.is_due() {
        return sink.take(key, value);
    }
    let from = phases::worked();
    let done = sink.take(key, value);
    let timed = match sink {
        Sink::Write(_) => Timed::Write,
        Sink::Collect(_) | Sink::Combined(_) | Sink::Keys(_) | Sink::Timed(..) => Timed::Collect,
    };
    emits.took(timed, &from);
    done
}

fn closed() -> Error {
    Error::new("the task's output is closed")
}

fn not_combined() -> Error {
    Error::new("these records come from no combiner")
}

/// What cannot be written is no fault of the record at hand, and none is left out for it.
#[cold]
fn unwritten(page: &Page) {
    page.phase(Phase::Output);
}

/// The output files of a task: its own, and named ones.
pub(crate) struct Writers {
    make: WriterOf,
    page: Page,
    files: BTreeMap<String, Box<dyn RecordWriter>>,
    main: Option<Box<dyn RecordWriter>>,
    /// The task's own file is opened for its first record.
    is_lazy: bool,
    pub(crate) records: u64,
}

impl Writers {
    /// Opens the task's own file, so that every task has one, unless that waits for a record.
    pub(crate) fn new(make: WriterOf, context: &mut Context) -> Result<Self> {
        let mut writers = Self {
            make,
            page: context.page.clone(),
            files: BTreeMap::new(),
            main: None,
            is_lazy: false,
            records: 0,
        };
        match (writers.make.lazy)(&context.settings)? {
            true => writers.is_lazy = true,
            false => writers.main = Some(writers.open("part", context)?),
        }
        Ok(writers)
    }

    fn open(&self, name: &str, context: &mut Context) -> Result<Box<dyn RecordWriter>> {
        let suffix = (self.make.suffix)(&context.settings)?;
        let file = (self.make.file)(name, context.stage, context.number) + &suffix;
        let opened = context.ground.output(&file);
        let opened = opened.inspect_err(|_| unwritten(&self.page))?;
        (self.make.make)(opened, &settings_of_file(&context.settings, &file))
    }

    fn named(&mut self, name: &str, context: &mut Context) -> Result<&mut Box<dyn RecordWriter>> {
        if name == "part"
            || name.is_empty()
            || !name.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            return Err(Error::new(format!(
                "{name:?} is no name of an output: letters and digits, and not part"
            )));
        }
        if !self.files.contains_key(name) {
            let opened = self.open(name, context)?;
            self.files.insert(name.to_owned(), opened);
        }
        self.files
            .get_mut(name)
            .ok_or_else(|| Error::new("an output is missing"))
    }

    #[cold]
    fn open_lazily(&mut self, context: &mut Context) -> Result<()> {
        self.main = Some(self.open("part", context)?);
        self.is_lazy = false;
        Ok(())
    }

    pub(crate) fn finish(&mut self) -> Result<()> {
        self.is_lazy = false;
        for writer in std::mem::take(&mut self.files)
            .into_values()
            .chain(self.main.take())
        {
            writer.finish()?;
        }
        Ok(())
    }
}

impl<'a, K: Value, V: Value> Output<'a, K, V> {
    pub(crate) fn new(context: &'a mut Context, sink: &'a mut Sink) -> Self {
        Self {
            context,
            sink,
            key: Vec::new(),
            value: Vec::new(),
            of: PhantomData,
        }
    }

    /// As of the [`Sink`].
    pub(crate) fn time(&mut self, times: u32) {
        self.sink.time(times);
    }

    /// As of the [`Sink`].
    pub(crate) fn time_no_more(&mut self) {
        self.sink.time_no_more();
    }

    /// Emits a record.
    ///
    /// # Errors
    /// It is too long, its type cannot write it, or a disk is full.
    #[inline]
    pub fn emit<A: EncodeAs<K> + ?Sized, B: EncodeAs<V> + ?Sized>(
        &mut self,
        key: &A,
        value: &B,
    ) -> Result<()> {
        // One record of the input may make any number of these, and take any time for them.
        self.context.page.alive();
        self.sink.ready(self.context)?;
        self.sink
            .take(key.bytes(&mut self.key)?, value.bytes(&mut self.value)?)
    }

    /// Emits a record to the output `name`, whose files are `NAME-r-00000` and so on, in the same format. A task that emits
    /// nothing there makes no such file; its own, `part-r-00000`, it makes always, unless the format
    /// [is lazy](crate::OutputFormat::is_lazy).
    ///
    /// # Errors
    /// The name is none, a map has reduces behind it, its type cannot write the record, or a disk is full.
    pub fn emit_to<A: EncodeAs<K> + ?Sized, B: EncodeAs<V> + ?Sized>(
        &mut self,
        name: &str,
        key: &A,
        value: &B,
    ) -> Result<()> {
        self.context.page.alive();
        let (key, value) = (key.bytes(&mut self.key)?, value.bytes(&mut self.value)?);
        let mut sink = &mut *self.sink;
        if let Sink::Timed(Some(inner), _) = sink {
            sink = inner;
        }
        match sink {
            Sink::Keys(_) => Ok(()),
            Sink::Timed(..) => Err(closed()),
            Sink::Collect(_) | Sink::Combined(_) => Err(Error::new(
                "named outputs are written by reduces, or by maps of a job without any",
            )),
            Sink::Write(writers) => {
                writers.records += 1;
                let written = writers.named(name, self.context)?.write(key, value);
                written.inspect_err(|_| unwritten(&writers.page))
            }
        }
    }

    /// Emits a record as it came, without looking into it.
    #[inline]
    pub(crate) fn pass(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.context.page.alive();
        self.sink.ready(self.context)?;
        self.sink.take(key, value)
    }
}

impl<K, V> Deref for Output<'_, K, V> {
    type Target = Context;

    fn deref(&self) -> &Context {
        self.context
    }
}

impl<K, V> DerefMut for Output<'_, K, V> {
    fn deref_mut(&mut self) -> &mut Context {
        self.context
    }
}

impl<K, V> std::fmt::Debug for Output<'_, K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "output of {:?}", self.context)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// As a writer on a disk that is full.
    struct Full;

    impl RecordWriter for Full {
        fn write(&mut self, _: &[u8], _: &[u8]) -> Result<()> {
            Err(Error::new("no space left on device"))
        }

        fn finish(self: Box<Self>) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_not_blamed_on_the_record_at_hand() {
        let (page, _descriptor) = Page::create().unwrap();
        page.phase(Phase::Map);
        let make = WriterOf {
            make: Arc::new(|_, _| Ok(Box::new(Full))),
            suffix: Arc::new(|_| Ok(String::new())),
            file: |name, _, _| name.to_owned(),
            lazy: |_| Ok(false),
            name: "full",
        };
        let mut sink = Sink::Write(Writers {
            make,
            page: page.clone(),
            files: BTreeMap::new(),
            main: Some(Box::new(Full)),
            is_lazy: false,
            records: 0,
        });
        assert!(sink.take(b"k", b"v").is_err());
        assert_eq!(page.read().phase, Phase::Output);
    }
}
