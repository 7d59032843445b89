//! Settings of a run: those of the cluster's files, and those that the user gives.

use std::collections::BTreeMap;
use std::str::FromStr;

use gerbil_task::JOB_COUNTERS_MAX;
use gerbil_task::renamed::{current, former, remark};
use gerbil_task::setting_values::check_values;
use gerbil_task::settings::{
    ARENA, CODEC, CODEC_MAP, COUNTERS, KNOWN, MAP_MEMORY, PRIORITY, REDUCE_MEMORY, Standing,
    check_accelerators, standing,
};

pub use gerbil_task::settings::QUEUE;

use crate::cluster::Cluster;
use crate::error::MapReduceError;

/// What administrators size for JVMs, not for slots: it counts where somebody gives it for a job, not in a file.
const OF_JVMS: [&str; 3] = [ARENA, MAP_MEMORY, REDUCE_MEMORY];

/// Settings by name.
pub type Settings = BTreeMap<String, String>;

/// The settings of a run, below and above those of its jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunSettings {
    /// Those of Hadoop's files.
    pub defaults: Settings,
    /// The user's.
    pub given: Settings,
    /// Which of them do nothing, a sentence each.
    pub notes: Vec<String>,
}

impl RunSettings {
    /// Of a cluster, and of `NAME=VALUE` words, of which the last of a name holds.
    ///
    /// # Errors
    /// A word is no setting, or is one that nobody would read.
    pub fn new(cluster: &Cluster, words: &[String]) -> Result<Self, MapReduceError> {
        let mut settings = Self::default();
        for word in words {
            let (name, value) = pair(word)?;
            settings.notes.extend(remark(&name));
            settings.given.insert(current(&name).to_owned(), value);
        }
        settings.notes.extend(check(&settings.given)?);
        settings.notes.extend(more_counters(cluster));
        let given = |name: &str| settings.given.get(name).map(String::as_str);
        // A driver, or each task, would say so later, as the program's own failure.
        check_values(given).map_err(MapReduceError::Setting)?;
        for known in KNOWN {
            let name = known.name;
            // A file that is older than the name has the one before.
            let mut names = std::iter::once(name).chain(former(name));
            let set = names.find(|name| cluster.configuration.is_set(name));
            let Some(set) = set.filter(|_| !OF_JVMS.contains(&name)) else {
                continue;
            };
            let value = cluster.hadoop(set).unwrap_or_default();
            let value = match name {
                CODEC => output_codec(&value),
                // What a cluster prefers fails no program that is built without it.
                CODEC_MAP => map_codec(&value).filter(|codec| codec != "zstd"),
                _ => Some(value.trim().to_owned()),
            };
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                settings.defaults.insert(name.to_owned(), value);
            }
        }
        if let Some(value) = settings.given.get_mut(CODEC)
            && let Some(known) = output_codec(value)
        {
            *value = known;
        }
        if let Some(value) = settings.given.get(CODEC_MAP).cloned() {
            match map_codec(&value) {
                Some(known) => drop(settings.given.insert(CODEC_MAP.to_owned(), known)),
                None => {
                    settings.given.remove(CODEC_MAP);
                    let value = value.trim();
                    let note =
                        format!("{CODEC_MAP}={value}: map output is compressed with lz4 here");
                    settings.notes.push(note);
                }
            }
        }
        Ok(settings)
    }

    /// All that hold for a job with these settings of its own.
    #[must_use]
    pub fn over(&self, own: &Settings) -> Settings {
        let mut all = self.defaults.clone();
        all.extend(own.clone());
        all.extend(self.given.clone());
        all
    }
}

/// What is said where Hadoop's files allow a job more counters than it may have here.
fn more_counters(cluster: &Cluster) -> Option<String> {
    let mut names = std::iter::once(COUNTERS).chain(former(COUNTERS));
    let allowed = names.find_map(|name| cluster.configuration.integer(name).ok().flatten())?;
    let is_more = usize::try_from(allowed).is_ok_and(|allowed| allowed > JOB_COUNTERS_MAX);
    is_more.then(|| {
        format!(
            "{COUNTERS} is {allowed} in Hadoop's settings; here a job may have {JOB_COUNTERS_MAX}"
        )
    })
}

/// `NAME=VALUE`.
fn pair(word: &str) -> Result<(String, String), MapReduceError> {
    match word.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.to_owned()))
        }
        Some(_) | None => Err(MapReduceError::Setting(format!(
            "-D {word}: a setting is NAME=VALUE"
        ))),
    }
}

/// What should be known of settings, a sentence each.
///
/// # Errors
/// One of them is none.
pub fn check(settings: &Settings) -> Result<Vec<String>, MapReduceError> {
    let mut notes = Vec::new();
    for name in settings.keys() {
        match standing(name) {
            Standing::Known | Standing::Own => {}
            Standing::Idle(why) => notes.push(format!("{name} does nothing here: {why}")),
            Standing::Unknown(hint) => {
                return Err(MapReduceError::Setting(format!(
                    "the setting {name} means nothing here{hint}; the --help of the program lists those that do"
                )));
            }
        }
    }
    check_accelerators(|name| settings.get(name).map(String::as_str))
        .map_err(MapReduceError::Setting)?;
    Ok(notes)
}

/// The number that a setting is, if it is given.
///
/// # Errors
/// It is none of that kind.
pub fn number<T: FromStr>(settings: &Settings, name: &str) -> Result<Option<T>, MapReduceError> {
    let Some(value) = settings.get(name).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    // Hadoop takes TRUE for true.
    match value.trim().to_ascii_lowercase().parse() {
        Ok(number) => Ok(Some(number)),
        Err(_unreadable) => Err(MapReduceError::Setting(format!(
            "{name}={value} makes no sense"
        ))),
    }
}

/// Where the job stands among others.
///
/// # Errors
/// It is neither a number nor one of Hadoop's words.
pub fn priority(settings: &Settings) -> Result<Option<i32>, MapReduceError> {
    let value = settings
        .get(PRIORITY)
        .map(|value| value.trim().to_ascii_uppercase());
    // As Hadoop's JobPriority says them.
    Ok(match value.as_deref() {
        None | Some("" | "DEFAULT") => None,
        Some("VERY_HIGH") => Some(5),
        Some("HIGH") => Some(4),
        Some("NORMAL") => Some(3),
        Some("LOW") => Some(2),
        Some("VERY_LOW") => Some(1),
        Some(_) => number(settings, PRIORITY)?,
    })
}

/// Before the names of Hadoop's codecs.
const CODECS: &str = "org.apache.hadoop.io.compress.";

/// Our name of one of Hadoop's classes; of another name that itself, of another class nothing.
fn output_codec(value: &str) -> Option<String> {
    let value = value.trim();
    let Some(class) = value.strip_prefix(CODECS) else {
        return Some(value.to_owned());
    };
    let short = match class {
        "GzipCodec" => "gzip",
        "BZip2Codec" => "bzip2",
        "ZStandardCodec" => "zstd",
        "DefaultCodec" | "DeflateCodec" => "deflate",
        "Lz4Codec" => "lz4",
        "SnappyCodec" => "snappy",
        _ => return None,
    };
    Some(short.to_owned())
}

/// The same of map output, which nobody else reads: a class that it cannot have here is nothing.
fn map_codec(value: &str) -> Option<String> {
    let value = value.trim();
    match value.strip_prefix(CODECS) {
        Some("Lz4Codec") => Some("lz4".to_owned()),
        Some("ZStandardCodec") => Some("zstd".to_owned()),
        // Some other class.
        Some(_) => None,
        None if value.contains('.') => None,
        None => Some(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use gerbil_task::settings::PRIORITY;
    use proto_hadoop::conf::Configuration;

    use super::{RunSettings, Settings, number, priority};
    use crate::Cluster;

    fn given(words: &[&str]) -> Result<RunSettings, String> {
        let property = |name: &str, value: &str| {
            format!("<property><name>{name}</name><value>{value}</value></property>")
        };
        let text = [
            property("mapreduce.framework.name", "yarn"),
            property("mapreduce.job.reduces", "7"),
            property("mapreduce.map.memory.mb", "1536"),
            property("mapreduce.task.timeout", "1000"),
            property(
                "mapreduce.output.fileoutputformat.compress.codec",
                "org.apache.hadoop.io.compress.BZip2Codec",
            ),
            property(
                "mapreduce.map.output.compress.codec",
                "org.apache.hadoop.io.compress.SnappyCodec",
            ),
        ];
        let text = format!("<configuration>{}</configuration>", text.concat());
        let cluster = Cluster {
            configuration: Configuration::from_xml(&text, &|_| None).unwrap(),
            user: "alice".into(),
        };
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        RunSettings::new(&cluster, &words).map_err(|error| error.to_string())
    }

    #[test]
    fn what_makes_no_sense_of_accelerators_is_refused_on_the_command_line() {
        assert_eq!(
            given(&["acc.timeout=abc"]).unwrap_err(),
            "acc.timeout=abc: give a number of seconds, from 0 to 31536000"
        );
        assert!(given(&["acc.timeout=5", "acc.fallback=always"]).is_ok());
    }

    #[test]
    fn what_is_no_number_is_refused_before_anything_is_asked() {
        for (word, said) in [
            (
                "mapreduce.task.timeout=soon",
                "mapreduce.task.timeout=soon: that is to be a whole number, from 0",
            ),
            (
                "mapred.reduce.tasks=100001",
                "mapreduce.job.reduces=100001: 100000 are the most",
            ),
        ] {
            assert_eq!(given(&[word]).unwrap_err(), said);
        }
    }

    #[test]
    fn what_the_user_gives_wins_over_the_program_and_that_over_files() {
        let settings = given(&["mapreduce.task.timeout=5", "my.own=a=b"]).unwrap();
        assert_eq!(settings.notes, [""; 0]);
        let own = Settings::from([("mapreduce.job.reduces".into(), "3".into())]);
        let all = settings.over(&own);
        let all: Vec<String> = all
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let wanted = [
            "mapreduce.job.reduces=3",
            "mapreduce.output.fileoutputformat.compress.codec=bzip2",
            "mapreduce.task.timeout=5",
            "my.own=a=b",
        ];
        assert_eq!(all, wanted);
    }

    #[test]
    fn a_codec_of_hadoops_that_map_output_has_not_is_said_and_passed_over() {
        let (output, map) = (
            "mapreduce.output.fileoutputformat.compress.codec",
            "mapreduce.map.output.compress.codec",
        );
        let of = |class: &str| format!("org.apache.hadoop.io.compress.{class}");
        for (class, of_output, of_map) in [
            ("SnappyCodec", "snappy", None),
            ("GzipCodec", "gzip", None),
            ("DefaultCodec", "deflate", None),
            ("ZStandardCodec", "zstd", Some("zstd")),
            ("Lz4Codec", "lz4", Some("lz4")),
        ] {
            let class = of(class);
            let settings = given(&[&format!("{output}={class}"), &format!("{map}={class}")]);
            let RunSettings { given, notes, .. } = settings.unwrap();
            assert_eq!(given[output], of_output);
            assert_eq!(given.get(map).map(String::as_str), of_map, "{class}");
            let note = format!("{map}={class}: map output is compressed with lz4 here");
            assert_eq!(notes, of_map.map_or_else(|| vec![note], |_| Vec::new()));
        }
        // A name of ours stands, and what is none is for the program to refuse.
        assert_eq!(given(&[&format!("{map}=zstd")]).unwrap().given[map], "zstd");
        // Of old scripts, and of a library of somebody's.
        let old =
            given(&["mapred.map.output.compression.codec=com.hadoop.compression.lzo.LzoCodec"]);
        let old = old.unwrap();
        assert!(!old.given.contains_key(map));
        assert!(
            old.notes
                .iter()
                .any(|note| note.contains("LzoCodec: map output")),
            "{:?}",
            old.notes
        );
    }

    #[test]
    fn what_nobody_would_read_is_refused_or_said() {
        let refused = given(&["mapreduce.job.reducers=3"]).unwrap_err();
        assert!(
            refused.contains("is mapreduce.job.reduces meant?"),
            "{refused}"
        );
        let refused = given(&["reduces"]).unwrap_err();
        assert_eq!(refused, "-D reduces: a setting is NAME=VALUE");
        let settings = given(&["mapreduce.map.java.opts=-Xmx1g"]).unwrap();
        assert_eq!(
            settings.notes,
            ["mapreduce.map.java.opts does nothing here: tasks are no JVMs"]
        );
        let odd = Settings::from([("a".into(), "many".into())]);
        let refused = number::<u32>(&odd, "a").unwrap_err().to_string();
        assert_eq!(refused, "a=many makes no sense");
    }

    #[test]
    fn old_names_of_hadoop_are_taken_and_said() {
        let settings = given(&["mapred.reduce.tasks=3", "mapred.child.own=x"]);
        assert!(
            settings
                .unwrap_err()
                .contains("mapred.child.own means nothing here")
        );
        let settings = given(&[
            "mapred.reduce.tasks=3",
            "io.sort.mb=64",
            "mapreduce.job.counters.limit=9",
        ])
        .unwrap();
        assert_eq!(settings.given["mapreduce.job.reduces"], "3");
        assert_eq!(settings.given["mapreduce.task.io.sort.mb"], "64");
        let said = [
            "mapred.reduce.tasks is called mapreduce.job.reduces today, and is taken as that",
            "io.sort.mb is called mapreduce.task.io.sort.mb today, and is taken as that",
            "mapreduce.job.counters.limit is called mapreduce.job.counters.max today, and is taken as that",
        ];
        assert_eq!(settings.notes, said);
    }

    #[test]
    fn files_may_have_old_names_too() {
        let of = |rows: &[(&str, &str)]| {
            let rows = rows.iter().map(|(name, value)| {
                format!("<property><name>{name}</name><value>{value}</value></property>")
            });
            let text = format!(
                "<configuration>{}</configuration>",
                rows.collect::<String>()
            );
            let cluster = Cluster {
                configuration: Configuration::from_xml(&text, &|_| None).unwrap(),
                user: "alice".into(),
            };
            RunSettings::new(&cluster, &[]).unwrap()
        };
        let settings = of(&[
            ("mapred.reduce.tasks", " 7 "),
            ("mapred.task.timeout", "1000"),
            ("mapreduce.task.timeout", "2000"),
        ]);
        assert_eq!(settings.defaults["mapreduce.job.reduces"], "7");
        assert_eq!(settings.defaults["mapreduce.task.timeout"], "2000");
        assert_eq!(of(&[("mapreduce.job.counters.max", "120")]).notes, [""; 0]);
        let said =
            "mapreduce.job.counters.max is 50000 in Hadoop's settings; here a job may have 10000";
        assert_eq!(
            of(&[("mapreduce.job.counters.limit", "50000")]).notes,
            [said]
        );
    }

    #[test]
    fn truths_and_numbers_are_read_as_hadoop_reads_them() {
        let settings = Settings::from([("a".into(), " TRUE ".into()), ("b".into(), " 7 ".into())]);
        assert_eq!(number::<bool>(&settings, "a").ok(), Some(Some(true)));
        assert_eq!(number::<u32>(&settings, "b").ok(), Some(Some(7)));
    }

    #[test]
    fn priorities_are_hadoops() {
        let of = |value: &str| priority(&Settings::from([(PRIORITY.into(), value.into())])).ok();
        assert_eq!(of("high"), Some(Some(4)));
        assert_eq!(of("12"), Some(Some(12)));
        assert_eq!(of("DEFAULT"), Some(None));
        assert_eq!(of("soon"), None);
    }
}
