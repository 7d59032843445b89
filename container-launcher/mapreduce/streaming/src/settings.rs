//! Settings of Hadoop Streaming, by its names, and what they are without a value.

use std::time::Duration;

use gerbil_mapreduce::{Error, Result, Settings};
use gerbil_task::settings::{SKIP, SKIP_GROUPS};

use crate::cut::Cut;
use crate::form::Form;
use crate::key_fields::parts;
use crate::order::KeyOrder;
use crate::pump::Terms;

/// What a mapper is handed, out of the input; the driver sets it.
pub(crate) const FORMAT: &str = "stream.map.input.format";
/// Whether the key of a record of the input is left out.
pub(crate) const IGNORE_KEY: &str = "stream.map.input.ignoreKey";
/// What is written between key and value for a mapper.
pub(crate) const MAP_INPUT_SEPARATOR: &str = "stream.map.input.field.separator";
/// The same for a reducer.
pub(crate) const REDUCE_INPUT_SEPARATOR: &str = "stream.reduce.input.field.separator";
/// What separates the fields of a key.
pub(crate) const KEY_SEPARATOR: &str = "stream.key.field.separator";
/// Whether reduces get keys by parts of them; the driver sets these.
pub(crate) const PARTITION_BY_FIELDS: &str = "stream.partition.by.fields";
/// Which parts, as `-k` names them.
pub(crate) const PARTITIONER: &str = "stream.partition.options";
/// The same as a number of fields.
pub(crate) const PARTITIONER_FIELDS: &str = "stream.partition.fields";
/// What keys are compared by, likewise; none: their bytes.
pub(crate) const COMPARATOR: &str = "stream.comparator.options";
/// How many lines of its output let a command leave its input unread.
pub(crate) const UNREAD: &str = "stream.minRecWrittenToEnableSkip_";
/// Whether a task that writes nothing leaves no part file; the driver sets it.
pub(crate) const LAZY: &str = "stream.output.lazy";
/// Where no key is asked for, as much of the shuffle's memory as a record may take.
const ARENA: &str = "mapreduce.task.io.sort.mb";
/// How long a task may be silent, ms.
const TIMEOUT: &str = "mapreduce.task.timeout";
/// A record has a quarter of the arena.
const QUARTERS_OF_MIB: usize = 1 << 18;

/// How long others may hold the output of a command open that has ended.
const LEFT_OPEN: Duration = Duration::from_secs(20);

/// A text, or its default.
pub(crate) fn text<'a>(settings: &'a Settings, name: &str, default: &'a str) -> &'a str {
    settings.get(name).unwrap_or(default)
}

/// How the lines that a stage prints are cut.
pub(crate) fn cut(settings: &Settings, stage: &str) -> Result<Cut> {
    let separator = format!("stream.{stage}.output.field.separator");
    let fields = format!("stream.num.{stage}.output.key.fields");
    let fields = settings.parse_if::<usize>(&fields)?.unwrap_or(1);
    Ok(Cut::new(text(settings, &separator, "\t"), fields))
}

/// How keys are ordered; none: by their bytes.
pub(crate) fn order(settings: &Settings) -> Result<Option<KeyOrder>> {
    let Some(options) = settings.get(COMPARATOR) else {
        return Ok(None);
    };
    Ok(Some(KeyOrder {
        parts: parts(options).map_err(Error::new)?,
        separator: text(settings, KEY_SEPARATOR, "\t").as_bytes().to_vec(),
    }))
}

/// Whether records on which a mapper's command fails may be left out: each is one to the engine then.
pub(crate) fn maps_skip(settings: &Settings) -> Result<bool> {
    Ok(settings.parse_if::<u64>(SKIP)?.unwrap_or_default() > 0)
}

/// Whether groups on which a reducer's command fails may be.
pub(crate) fn reduces_skip(settings: &Settings) -> Result<bool> {
    Ok(settings.parse_if::<u64>(SKIP_GROUPS)?.unwrap_or_default() > 0)
}

/// Bytes of the shuffle's memory.
pub(crate) fn arena(settings: &Settings) -> Result<usize> {
    Ok(settings.parse::<usize>(ARENA)?.saturating_mul(1 << 20))
}

/// How commands are treated.
pub(crate) fn terms(settings: &Settings, form: Form) -> Result<Terms> {
    let arena: usize = settings.parse(ARENA)?;
    let timeout: u64 = settings.parse(TIMEOUT)?;
    let fails = settings.parse_if("stream.non.zero.exit.is.failure")?;
    // A little sooner than the launcher, which knows less of what happened.
    let silence = (timeout > 0).then(|| Duration::from_millis(timeout - timeout / 10));
    Ok(Terms {
        prefix: text(settings, "stream.stderr.reporter.prefix", "reporter:").to_owned(),
        fails_by_code: fails.unwrap_or(true),
        form,
        record_max: arena.saturating_mul(QUARTERS_OF_MIB),
        silence,
        left_open: silence.map_or(LEFT_OPEN, |silence| LEFT_OPEN.min(silence)),
        unread_after: settings.parse_if(UNREAD)?,
    })
}

/// What the input is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    KeyValueText,
    NLine,
    SequenceFileAsText,
    SequenceFile,
    Xml,
}

impl Format {
    /// By Hadoop's name of its class, short or full.
    pub(crate) fn of_class(name: &str) -> Option<Self> {
        let short = [
            "org.apache.hadoop.mapred.lib.",
            "org.apache.hadoop.mapred.",
            "org.apache.hadoop.mapreduce.lib.input.",
            "org.apache.hadoop.streaming.",
        ]
        .iter()
        .find_map(|package| name.strip_prefix(package));
        Some(match short.unwrap_or(name) {
            "TextInputFormat" => Self::Text,
            "KeyValueTextInputFormat" => Self::KeyValueText,
            "NLineInputFormat" => Self::NLine,
            "SequenceFileAsTextInputFormat" => Self::SequenceFileAsText,
            "SequenceFileInputFormat" => Self::SequenceFile,
            "StreamInputFormat" => Self::Xml,
            _ => return None,
        })
    }

    /// As the setting has it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::KeyValueText => "keyvalue",
            Self::NLine => "nline",
            Self::SequenceFileAsText => "sequencefile",
            Self::SequenceFile => "sequence",
            Self::Xml => "xml",
        }
    }

    pub(crate) fn of(settings: &Settings) -> Result<Self> {
        let name = text(settings, FORMAT, "text");
        let all = [
            Self::Text,
            Self::KeyValueText,
            Self::NLine,
            Self::SequenceFileAsText,
            Self::SequenceFile,
            Self::Xml,
        ];
        all.into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| Error::new(format!("{FORMAT}={name} makes no sense")))
    }

    /// Whether a mapper is handed no keys: of lines, unless the job says otherwise.
    pub(crate) fn ignores_keys(self, form: Form, settings: &Settings) -> Result<bool> {
        Ok(form == Form::Text && settings.parse_if(IGNORE_KEY)?.unwrap_or(self == Self::Text))
    }
}
