//! Settings of a job's own, as the fields of a struct.

use std::str::FromStr;

use crate::error::{Error, Result};
use crate::job::kind;
use crate::settings::Settings;

/// A struct whose fields are settings of a job's own, which the user gives with `-D KEY=VALUE`: with the feature `derive`,
/// `#[derive(Options)]` makes it one. A field's key is its name with dots for underscores, or what `#[setting("…")]` says;
/// one that is an `Option`, or has a `default`, need not be given. [`Job::options`](crate::Job::options) has the keys in
/// the help, and their values looked at before there is a task.
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use gerbil_mapreduce::prelude::*;
///
/// #[derive(Clone, Options)]
/// struct Terms {
///     /// Shorter words are not counted.
///     #[setting(default = 1)]
///     word_least: usize,
///     /// The only word that is counted.
///     #[setting("word.only")]
///     only: Option<String>,
/// }
///
/// #[derive(Default)]
/// struct Words(Option<Terms>);
///
/// impl Mapper for Words {
///     type Input = TextLines;
///     type Key = Text;
///     type Value = u64;
///     fn setup(&mut self, context: &mut Context) -> Result<()> {
///         self.0 = Some(context.options()?);
///         Ok(())
///     }
///     fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
///         let Some(terms) = &self.0 else { return Ok(()) };
///         let line = String::from_utf8_lossy(line);
///         let words = line.split_whitespace().filter(|word| word.len() >= terms.word_least);
///         let mut words = words.filter(|word| terms.only.as_deref().is_none_or(|only| only == *word));
///         words.try_for_each(|word| out.emit(word, &1))
///     }
/// }
///
/// let job = || Job::new("wordcount").options::<Terms>().map(Words::default).combine(|| Sum).reduce(|| Sum);
/// let done = job().test().input("to be or not").set("word.least", "3").run()?;
/// assert_eq!(done.text(), "not\t1\n");
/// let said = job().test().input("to be").set("word.least", "many").run().unwrap_err().to_string();
/// assert_eq!(said, "-D word.least=many: it takes a whole number from 0");
/// # }
/// # Ok::<(), gerbil_mapreduce::Error>(())
/// ```
///
/// A field whose type no text becomes is refused by the compiler:
///
/// ```compile_fail
/// #[derive(gerbil_mapreduce::Options)]
/// struct Terms { words: Vec<String> }
/// ```
///
/// So is a default of another type:
///
/// ```compile_fail
/// #[derive(gerbil_mapreduce::Options)]
/// struct Terms { #[setting(default = 0.5)] least: u64 }
/// ```
pub trait Options: Sized {
    /// What the settings say.
    ///
    /// # Errors
    /// One that is needed is not there, or a value is none of its kind: key and value, in a sentence.
    fn of(settings: &Settings) -> Result<Self>;

    /// What there is to give, for the help.
    #[doc(hidden)]
    fn keys() -> Vec<OptionKey>;
}

/// What the code that `#[derive(Options)]` writes says of a field.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionKey {
    pub(crate) key: &'static str,
    pub(crate) kind: (&'static str, &'static str),
    pub(crate) meaning: &'static str,
    /// As it stands in the program; none: it is needed. Empty: without a value it is nothing.
    pub(crate) default: Option<&'static str>,
}

impl OptionKey {
    #[doc(hidden)]
    #[must_use]
    pub fn of<T>(key: &'static str, meaning: &'static str, default: Option<&'static str>) -> Self {
        Self {
            key,
            kind: kind::<T>(),
            meaning,
            default,
        }
    }

    /// The value that the settings have.
    ///
    /// # Errors
    /// It is none of that kind.
    #[doc(hidden)]
    pub fn given<T: FromStr>(settings: &Settings, key: &str) -> Result<Option<T>> {
        let Some(value) = settings.get(key) else {
            return Ok(None);
        };
        let read = settings.parse(key).map(Some);
        read.map_err(|_odd| Error::new(format!("-D {key}={value}: it takes {}", kind::<T>().1)))
    }

    /// The same of one that must be there.
    ///
    /// # Errors
    /// It is not, or none of that kind.
    #[doc(hidden)]
    pub fn needed<T: FromStr>(settings: &Settings, key: &str, meaning: &str) -> Result<T> {
        let missing = || {
            let (value, kind) = kind::<T>();
            let meaning = if meaning.is_empty() { kind } else { meaning };
            Error::new(format!("-D {key}={value} is needed: {meaning}"))
        };
        Self::given(settings, key)?.ok_or_else(missing)
    }
}

/// What a job has registered of a struct of options.
#[derive(Clone, Debug)]
pub(crate) struct TypedOptions {
    pub(crate) keys: fn() -> Vec<OptionKey>,
    pub(crate) check: fn(&Settings) -> Result<()>,
}

impl TypedOptions {
    pub(crate) fn new<T: Options>() -> Self {
        Self {
            keys: T::keys,
            check: |settings| T::of(settings).map(drop),
        }
    }
}
