//! Settings of a job, under Hadoop's names where Hadoop has them.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::error::{Error, Result};

/// One setting: its name, its default, what it means.
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) default: &'static str,
    pub(crate) meaning: &'static str,
}

/// All settings there are; another one of Hadoop's or gerbil's is refused, with its name.
pub(crate) const KNOWN: &[Known] = &[
    Known {
        name: REDUCES,
        default: "",
        meaning: "number of reduces; without it one a GiB of input, 0: none",
    },
    Known {
        name: ARENA,
        default: "192",
        meaning: "MiB in which a map collects and sorts",
    },
    Known {
        name: COMPRESS_MAP,
        default: "",
        meaning: "whether map output is compressed where that makes it shorter; without it yes, but not with --local \
                  while a quarter of the free memory holds the input",
    },
    Known {
        name: CODEC_MAP,
        default: "lz4",
        meaning: "with what: none, lz4, zstd",
    },
    Known {
        name: COMPRESS,
        default: "false",
        meaning: "whether output is compressed",
    },
    Known {
        name: CODEC,
        default: "gzip",
        meaning: "with what: gzip, bzip2, zstd, deflate",
    },
    Known {
        name: SPLIT_MAX,
        default: "134217728",
        meaning: "most bytes of a split",
    },
    Known {
        name: SPLIT_PACK,
        default: "67108864",
        meaning: "small files share a split up to so many bytes",
    },
    Known {
        name: RECURSIVE,
        default: "false",
        meaning: "whether folders inside of input folders are read",
    },
    Known {
        name: LINES,
        default: "1",
        meaning: "lines of a split of NLines",
    },
    Known {
        name: MAPS,
        default: "2",
        meaning: "number of maps where input is no file",
    },
    Known {
        name: RECORD_LENGTH,
        default: "",
        meaning: "bytes of a record of FixedLength",
    },
    Known {
        name: LINE_MAX,
        default: "",
        meaning: "longest line, bytes; without it gerbil.record.max",
    },
    Known {
        name: DELIMITER,
        default: "",
        meaning: "what ends a record of text, instead of an end of line",
    },
    Known {
        name: KV_SEPARATOR,
        default: "\t",
        meaning: "what separates key and value of KeyValueText",
    },
    Known {
        name: SEPARATOR,
        default: "\t",
        meaning: "what text output puts between key and value",
    },
    Known {
        name: TIMEOUT,
        default: "600000",
        meaning: "ms without progress after which a task is ended; 0: never",
    },
    Known {
        name: MAP_ATTEMPTS,
        default: "1",
        meaning: "times that a map is tried (on a cluster: 4)",
    },
    Known {
        name: REDUCE_ATTEMPTS,
        default: "1",
        meaning: "times that a reduce is tried (on a cluster: 4)",
    },
    Known {
        name: RECORD_MAX,
        default: "",
        meaning: "longest record, bytes; without it a quarter of the arena",
    },
    Known {
        name: MEMORY,
        default: "0",
        meaning: "MiB that a task process may have in memory; 0: no limit",
    },
    Known {
        name: SKIP,
        default: "0",
        meaning: "records that a map may leave out because the job's code crashed on them",
    },
    Known {
        name: REPEAT,
        default: "false",
        meaning: "whether each map is done twice, which must give the same records: for finding code that does not",
    },
];

pub(crate) const REDUCES: &str = "mapreduce.job.reduces";
pub(crate) const ARENA: &str = "mapreduce.task.io.sort.mb";
pub(crate) const COMPRESS_MAP: &str = "mapreduce.map.output.compress";
pub(crate) const CODEC_MAP: &str = "mapreduce.map.output.compress.codec";
pub(crate) const COMPRESS: &str = "mapreduce.output.fileoutputformat.compress";
pub(crate) const CODEC: &str = "mapreduce.output.fileoutputformat.compress.codec";
pub(crate) const SPLIT_MAX: &str = "mapreduce.input.fileinputformat.split.maxsize";
pub(crate) const SPLIT_PACK: &str = "gerbil.split.pack";
pub(crate) const RECURSIVE: &str = "mapreduce.input.fileinputformat.input.dir.recursive";
pub(crate) const LINES: &str = "mapreduce.input.lineinputformat.linespermap";
pub(crate) const MAPS: &str = "mapreduce.job.maps";
pub(crate) const RECORD_LENGTH: &str = "fixedlengthinputformat.record.length";
pub(crate) const LINE_MAX: &str = "mapreduce.input.linerecordreader.line.maxlength";
pub(crate) const DELIMITER: &str = "textinputformat.record.delimiter";
pub(crate) const KV_SEPARATOR: &str =
    "mapreduce.input.keyvaluelinerecordreader.key.value.separator";
pub(crate) const SEPARATOR: &str = "mapreduce.output.textoutputformat.separator";
pub(crate) const TIMEOUT: &str = "mapreduce.task.timeout";
pub(crate) const MAP_ATTEMPTS: &str = "mapreduce.map.maxattempts";
pub(crate) const REDUCE_ATTEMPTS: &str = "mapreduce.reduce.maxattempts";
pub(crate) const RECORD_MAX: &str = "gerbil.record.max";
pub(crate) const MEMORY: &str = "gerbil.task.memory.mb";
pub(crate) const SKIP: &str = "mapreduce.map.skip.maxrecords";
pub(crate) const REPEAT: &str = "gerbil.map.repeat";

/// Settings, each with the value that was given, or its default.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    given: BTreeMap<String, String>,
}

impl Settings {
    pub(crate) const fn new(given: BTreeMap<String, String>) -> Self {
        Self { given }
    }

    pub(crate) const fn given(&self) -> &BTreeMap<String, String> {
        &self.given
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.given.insert(name.to_owned(), value.to_owned());
    }

    /// Refuses settings that nobody would read.
    pub(crate) fn check(&self) -> Result<()> {
        for name in self.given.keys() {
            let ours = ["mapreduce.", "gerbil.", "mapred.", "yarn.", "io."]
                .iter()
                .any(|ours| name.starts_with(ours));
            if ours && !KNOWN.iter().any(|known| known.name == name) {
                let hint = crate::nearest::hint(name, KNOWN.iter().map(|known| known.name));
                return Err(Error::new(format!(
                    "the setting {name} means nothing here{hint}; --help lists those that do"
                )));
            }
        }
        Ok(())
    }

    /// The value of a setting, or its default; `None` where there is neither.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let default = || {
            KNOWN
                .iter()
                .find(|known| known.name == name)
                .map(|known| known.default)
        };
        self.given
            .get(name)
            .map(String::as_str)
            .or_else(default)
            .filter(|value| !value.is_empty())
    }

    /// The value of a setting as a number, a truth, or whatever it is.
    ///
    /// # Errors
    /// There is none, or it is none of that kind.
    pub fn parse<T: FromStr>(&self, name: &str) -> Result<T> {
        let value = self
            .get(name)
            .ok_or_else(|| Error::new(format!("the setting {name} is needed")))?;
        value
            .parse()
            .ok()
            .ok_or_else(|| Error::new(format!("{name}={value} makes no sense")))
    }

    /// As [`parse`](Self::parse), but `None` where there is no value.
    ///
    /// # Errors
    /// The value is none of that kind.
    pub fn parse_if<T: FromStr>(&self, name: &str) -> Result<Option<T>> {
        self.get(name).map(|_| self.parse(name)).transpose()
    }

    /// The value of an option that a job registered, which may be empty.
    pub(crate) fn option<T: FromStr>(&self, name: &str) -> Result<T> {
        let value = self
            .given
            .get(&crate::job::option_setting(name))
            .ok_or_else(|| Error::new(format!("no job registers an option --{name}")))?;
        value.parse().ok().ok_or_else(|| {
            Error::new(format!(
                "--{name} {value} is no {}",
                std::any::type_name::<T>()
            ))
        })
    }

    pub(crate) fn arena(&self) -> Result<usize> {
        let mib: usize = self.parse(ARENA)?;
        if !(1..=2047).contains(&mib) {
            return Err(Error::new(format!("{ARENA}={mib}: from 1 to 2047 MiB")));
        }
        Ok(mib << 20)
    }

    pub(crate) fn record_max(&self) -> Result<usize> {
        let longest = self.arena()? / 4;
        let given = self.parse_if::<usize>(RECORD_MAX)?.unwrap_or(longest);
        if given > longest {
            let words = format!(
                "{RECORD_MAX}={given}: a record may take a quarter of the arena at most, {longest} bytes"
            );
            return Err(Error::new(words + " (mapreduce.task.io.sort.mb)"));
        }
        Ok(given)
    }
}
