//! Settings: those that Hadoop called otherwise before, and those that say what keys are dealt and compared by.

use gerbil_task::renamed::current;
use gerbil_task::setting_values::{check_number, check_truth, check_values};
use gerbil_task::settings::{Standing, standing};

use super::{Asked, Given};
use crate::key_fields::parts;
use crate::settings::{
    IGNORE_KEY, KEY_SEPARATOR, PARTITION_BY_FIELDS, PARTITIONER, PARTITIONER_FIELDS, UNREAD,
};

/// What a setting says of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OfKeys {
    PartitionerClass,
    Partitioner,
    Fields,
    ComparatorClass,
    Comparator,
    Separator,
}

/// Such a setting, as Hadoop calls it today and called it before.
struct KeySetting {
    new: &'static str,
    old: &'static str,
    own: OfKeys,
}

impl KeySetting {
    fn is_called(&self, name: &str) -> bool {
        self.new == name || self.old == name
    }
}

const OF_KEYS: [KeySetting; 6] = [
    KeySetting {
        new: "mapreduce.job.partitioner.class",
        old: "mapred.partitioner.class",
        own: OfKeys::PartitionerClass,
    },
    KeySetting {
        new: "mapreduce.partition.keypartitioner.options",
        old: "mapred.text.key.partitioner.options",
        own: OfKeys::Partitioner,
    },
    KeySetting {
        new: "num.key.fields.for.partition",
        old: "num.key.fields.for.partition",
        own: OfKeys::Fields,
    },
    KeySetting {
        new: "mapreduce.job.output.key.comparator.class",
        old: "mapred.output.key.comparator.class",
        own: OfKeys::ComparatorClass,
    },
    KeySetting {
        new: "mapreduce.partition.keycomparator.options",
        old: "mapred.text.key.comparator.options",
        own: OfKeys::Comparator,
    },
    KeySetting {
        new: "mapreduce.map.output.key.field.separator",
        old: "map.output.key.field.separator",
        own: OfKeys::Separator,
    },
];

/// Streaming's own settings that are whole numbers, and that are truths.
const OWN_NUMBERS: [&str; 3] = [
    "stream.num.map.output.key.fields",
    "stream.num.reduce.output.key.fields",
    UNREAD,
];
const OWN_TRUTHS: [&str; 2] = ["stream.non.zero.exit.is.failure", IGNORE_KEY];

impl Given {
    pub(super) fn set(&mut self, setting: &str, asked: &mut Asked) -> Result<(), String> {
        let Some((name, value)) = setting.split_once('=') else {
            return Err(format!("-D {setting}: a setting is NAME=VALUE"));
        };
        let name = name.trim();
        let known = OF_KEYS.iter().find(|known| known.is_called(name));
        if let Some(known) = known {
            if name == known.old && name != known.new {
                let new = known.new;
                let note = format!("{name} is called {new} today, and is taken as that");
                asked.notes.push(note);
            }
            return self.of_keys(name, known.own, value);
        }
        if self.forms.set(name, value)? {
            return Ok(());
        }
        // Of a Hadoop with job trackers: nobody would read them there today.
        if let (Standing::Unknown(_), true) = (standing(name), name.starts_with("mapred.")) {
            let note = format!("{name} does nothing here, and is left out");
            asked.notes.push(note);
            return Ok(());
        }
        let wrong = |why: String| format!("-D {why}");
        if OWN_NUMBERS.contains(&name) {
            check_number(name, value).map_err(wrong)?;
        }
        if OWN_TRUTHS.contains(&name) {
            check_truth(name, value).map_err(wrong)?;
        }
        check_values(|asked| (current(name) == asked).then_some(value)).map_err(wrong)?;
        self.settings.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    /// A setting that says what keys are dealt and compared by.
    fn of_keys(&mut self, name: &str, own: OfKeys, value: &str) -> Result<(), String> {
        let wrong = |why: String| format!("-D {name}={value}: {why}");
        let own = match own {
            OfKeys::PartitionerClass => return self.partitioner(&format!("D {name}"), value),
            OfKeys::ComparatorClass => {
                self.compares_fields = value.rsplit('.').next() == Some("KeyFieldBasedComparator");
                let why = "gerbil runs no Java, and knows KeyFieldBasedComparator alone";
                return match self.compares_fields {
                    true => Ok(()),
                    false => Err(wrong(why.to_owned())),
                };
            }
            OfKeys::Comparator => {
                parts(value).map_err(wrong)?;
                self.comparator = Some(value.to_owned());
                return Ok(());
            }
            OfKeys::Partitioner => {
                parts(value).map_err(wrong)?;
                PARTITIONER
            }
            OfKeys::Fields => {
                let fields = value.trim().parse::<usize>();
                fields.map_err(|_no_number| wrong("a number of fields".to_owned()))?;
                PARTITIONER_FIELDS
            }
            OfKeys::Separator => KEY_SEPARATOR,
        };
        self.settings.push((own.to_owned(), value.to_owned()));
        Ok(())
    }

    pub(super) fn partitioner(&mut self, option: &str, class: &str) -> Result<(), String> {
        match class.rsplit('.').next() {
            Some("HashPartitioner") => {}
            Some("KeyFieldBasedPartitioner") => {
                let by_fields = (PARTITION_BY_FIELDS.to_owned(), "true".to_owned());
                self.settings.push(by_fields);
            }
            _ => {
                return Err(format!(
                    "-{option} {class}: gerbil runs no Java, and knows HashPartitioner and KeyFieldBasedPartitioner alone"
                ));
            }
        }
        Ok(())
    }
}
