//! A command line of Hadoop Streaming, understood: what tasks are told, what the engine is told, and what is brought along.

use std::ffi::OsString;
use std::path::Path;

use gerbil_task::nearest::hint;
use gerbil_task::renamed::current;
use gerbil_task::settings::{Standing, standing};

use crate::key_fields::parts;
use crate::options::{Fate, OPTIONS, OWN, Takes};
use crate::plan::{Brought, Stage, StreamPlan};
use crate::settings::{
    COMPARATOR, FORMAT, Format, KEY_SEPARATOR, PARTITION_BY_FIELDS, PARTITIONER, PARTITIONER_FIELDS,
};
use crate::words::files;

/// The number of reduces.
const REDUCES: &str = "mapreduce.job.reduces";

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The help, and nothing else.
    pub help: bool,
    /// It runs on this machine alone.
    pub is_local: bool,
    /// Files that the nodes need.
    pub files: Vec<Brought>,
    /// Archives, likewise.
    pub archives: Vec<Brought>,
    /// What the user should know, a sentence each.
    pub notes: Vec<String>,
    pub(crate) plan: StreamPlan,
    /// For the engine.
    pub(crate) options: Vec<String>,
    pub(crate) inputs: Vec<String>,
    pub(crate) output: String,
}

/// Understands `words`; `is_file` tells whether there is a file of that name here.
///
/// # Errors
/// Why there is no such job, one sentence.
pub fn asked(words: &[OsString], is_file: &dyn Fn(&str) -> bool) -> Result<Asked, String> {
    let mut asked = Asked::default();
    let mut given = Given::default();
    let words = words.iter().map(|word| {
        let text = word.to_str();
        text.ok_or_else(|| format!("{} is no UTF-8", word.to_string_lossy()))
    });
    let words = words.collect::<Result<Vec<&str>, String>>()?;
    let mut rest = words.as_slice();
    while let Some((word, behind)) = rest.split_first() {
        rest = behind;
        let Some(name) = word.strip_prefix('-').filter(|name| !name.is_empty()) else {
            return Err(format!(
                "{word} belongs to no option: values with blanks stand in quotes, and --help lists the options"
            ));
        };
        let name = name.strip_prefix('-').unwrap_or(name);
        if let Some((own, takes)) = OWN.iter().find(|(own, _)| *own == name) {
            asked.is_local |= *own == "local";
            asked.options.push(format!("--{own}"));
            asked.options.extend(values(word, *takes, &mut rest)?);
            continue;
        }
        // As in `-Dname=value`.
        if let Some(setting) = name
            .strip_prefix('D')
            .filter(|setting| setting.contains('='))
        {
            given.set(setting, &mut asked)?;
            continue;
        }
        let Some(option) = OPTIONS.iter().find(|option| option.name == name) else {
            let hint =
                hint(name, OPTIONS.iter().map(|option| option.name)).replace("(is ", "(is -");
            return Err(format!(
                "{word} is no option of Hadoop Streaming{hint}; --help lists them"
            ));
        };
        match option.fate {
            Fate::Refused(why) => return Err(format!("{word}: {why}")),
            Fate::Idle(why) => asked.notes.push(format!("{word}: {why}")),
            Fate::Taken => {}
        }
        let values = values(word, option.takes, &mut rest)?;
        given.take(name, &values, &mut asked)?;
    }
    if asked.help {
        return Ok(asked);
    }
    given.complete(&mut asked, is_file)?;
    Ok(asked)
}

/// The words of an option.
fn values(option: &str, takes: Takes, rest: &mut &[&str]) -> Result<Vec<String>, String> {
    let most = match takes {
        Takes::Nothing => return Ok(Vec::new()),
        Takes::One => 1,
        Takes::Several => usize::MAX,
    };
    let mut values = Vec::new();
    while let Some((word, behind)) = rest.split_first() {
        // What begins with a hyphen is the next option, but for one value alone.
        if values.len() == most || (word.starts_with('-') && (most > 1 || is_option(word))) {
            break;
        }
        values.push((*word).to_owned());
        *rest = behind;
    }
    match values.is_empty() {
        true => Err(format!("{option} needs a value")),
        false => Ok(values),
    }
}

fn is_option(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    OPTIONS.iter().any(|option| option.name == name)
}

/// Options whose meaning depends on others.
#[derive(Default)]
struct Given {
    mapper: Option<String>,
    reducer: Option<String>,
    reduces: Option<u32>,
    format: Option<Format>,
    settings: Vec<(String, String)>,
    /// `KeyFieldBasedComparator` is wanted, and by what it compares.
    compares_fields: bool,
    comparator: Option<String>,
}

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

impl Given {
    fn set(&mut self, setting: &str, asked: &mut Asked) -> Result<(), String> {
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
        // Of a Hadoop with job trackers: nobody would read them there today.
        if let (Standing::Unknown(_), true) = (standing(name), name.starts_with("mapred.")) {
            let note = format!("{name} does nothing here, and is left out");
            asked.notes.push(note);
            return Ok(());
        }
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

    fn partitioner(&mut self, option: &str, class: &str) -> Result<(), String> {
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

    fn take(&mut self, name: &str, values: &[String], asked: &mut Asked) -> Result<(), String> {
        let first = values.first().cloned().unwrap_or_default();
        match name {
            "input" => asked.inputs.extend(values.iter().cloned()),
            "output" => asked.output = first,
            "mapper" => self.mapper = Some(first),
            "reducer" => self.reducer = Some(first),
            "numReduceTasks" => {
                let reduces = first.trim().parse();
                self.reduces = Some(
                    reduces
                        .map_err(|_no_number| format!("-{name} {first}: a whole number from 0"))?,
                );
            }
            "file" => asked.files.extend(values.iter().map(|file| brought(file))),
            "files" => asked.files.extend(listed(&first).map(brought)),
            "archives" => asked.archives.extend(listed(&first).map(brought)),
            "cmdenv" => {
                let Some((name, value)) = first.split_once('=') else {
                    return Err(format!("-cmdenv {first}: a variable is NAME=VALUE"));
                };
                asked
                    .plan
                    .environment
                    .push((name.to_owned(), value.to_owned()));
            }
            "inputformat" => {
                let format = Format::of_class(&first);
                self.format = Some(format.ok_or_else(|| {
                    format!(
                        "-inputformat {first}: gerbil runs no Java, and reads TextInputFormat, KeyValueTextInputFormat and \
                         NLineInputFormat"
                    )
                })?);
            }
            "outputformat" => one_of("outputformat", &first, "TextOutputFormat")?,
            "partitioner" => self.partitioner(name, &first)?,
            "io" if first == "text" => {}
            "io" => {
                return Err(format!(
                    "-io {first}: commands read and print lines of text: leave the option out"
                ));
            }
            "D" | "jobconf" => self.set(&first, asked)?,
            "info" | "help" => asked.help = true,
            _ => {}
        }
        Ok(())
    }

    fn complete(self, asked: &mut Asked, is_file: &dyn Fn(&str) -> bool) -> Result<(), String> {
        if asked.inputs.is_empty() {
            return Err("-input PATH is needed; --help tells more".to_owned());
        }
        if asked.output.is_empty() {
            return Err("-output PATH is needed; --help tells more".to_owned());
        }
        // Addresses of this machine are plain names here.
        for file in asked.files.iter_mut().chain(&mut asked.archives) {
            if let Some((scheme, _)) = file.path.split_once("://")
                && scheme != "file"
            {
                return Err(format!(
                    "{}: files of a job are brought from this machine: hdfs dfs -get it here first, then -files",
                    file.path
                ));
            }
            if let Some(path) = file.path.strip_prefix("file:") {
                file.path = format!("/{}", path.trim_start_matches('/'));
            }
        }
        if self.compares_fields
            && let Some(options) = &self.comparator
        {
            let order = format!("{COMPARATOR}={options}");
            asked.options.extend(["-D".to_owned(), order]);
        }
        let mut reduces = self.reduces;
        asked.plan.map = match self.mapper {
            Some(command) => stage("mapper", command, asked, is_file)?,
            None => Stage::Identity,
        };
        asked.plan.reduce = match self.reducer.as_deref() {
            Some("NONE") => {
                reduces = Some(0);
                Stage::Identity
            }
            Some(command) => stage("reducer", command.to_owned(), asked, is_file)?,
            None => Stage::Identity,
        };
        if asked.plan.map == Stage::Identity
            && self.format.unwrap_or(Format::Text) != Format::KeyValueText
        {
            return Err(
                "a mapper that hands records on as they are has keys with -inputformat KeyValueTextInputFormat; lines of \
                 text have none: give it, or -mapper cat"
                    .to_owned(),
            );
        }
        asked.plan.links = (asked.files.iter().chain(&asked.archives))
            .map(|file| file.link.clone())
            .collect();
        if let Some(format) = self.format {
            asked
                .options
                .extend(["-D".to_owned(), format!("{FORMAT}={}", format.name())]);
        }
        for (name, value) in &self.settings {
            let is_overruled = reduces.is_some() && current(name) == REDUCES;
            if !is_overruled {
                asked
                    .options
                    .extend(["-D".to_owned(), format!("{name}={value}")]);
            }
        }
        if let Some(reduces) = reduces {
            asked
                .options
                .extend(["-D".to_owned(), format!("{REDUCES}={reduces}")]);
        }
        Ok(())
    }
}

/// A class of Hadoop that is taken by its name.
fn one_of(option: &str, given: &str, known: &str) -> Result<(), String> {
    let short = given.rsplit('.').next().unwrap_or(given);
    match short == known {
        true => Ok(()),
        false => Err(format!(
            "-{option} {given}: gerbil runs no Java, and knows {known} alone"
        )),
    }
}

/// The parts of a list.
fn listed(list: &str) -> impl Iterator<Item = &str> {
    list.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
}

/// A file as it is given, with `#NAME` behind it or not.
fn brought(file: &str) -> Brought {
    let (path, link) = match file.split_once('#') {
        Some((path, link)) => (path, link),
        None => (
            file,
            file.trim_end_matches('/')
                .rsplit('/')
                .next()
                .unwrap_or(file),
        ),
    };
    Brought {
        path: path.to_owned(),
        link: link.to_owned(),
    }
}

/// What a stage does that is `given` so.
fn stage(
    option: &str,
    given: String,
    asked: &Asked,
    is_file: &dyn Fn(&str) -> bool,
) -> Result<Stage, String> {
    let identity = match option {
        "mapper" => "IdentityMapper",
        _ => "IdentityReducer",
    };
    if given == identity || given == format!("org.apache.hadoop.mapred.lib.{identity}") {
        return Ok(Stage::Identity);
    }
    if option == "reducer" && given.eq_ignore_ascii_case("aggregate") {
        return Ok(Stage::Aggregate);
    }
    if is_class(&given) {
        return Err(format!(
            "-{option} {given} is a Java class, and gerbil runs no Java: give a command, or {identity}"
        ));
    }
    let mut command = given;
    // The program is called by its name in the working folder, where it comes along by its path.
    let program = command.split(' ').next().unwrap_or_default().to_owned();
    let same = |file: &&Brought| Path::new(&file.path) == Path::new(&program);
    if let Some(file) = asked.files.iter().find(same)
        && file.link != program
    {
        command = format!(
            "{}{}",
            file.link,
            command.get(program.len()..).unwrap_or_default()
        );
    }
    let all = asked.files.iter().chain(&asked.archives);
    let links: Vec<&str> = all.map(|file| file.link.as_str()).collect();
    for file in files(&command) {
        let plain = file.strip_prefix("./").unwrap_or(&file);
        let first = plain.split('/').next().unwrap_or(plain);
        if !file.starts_with('/') && !links.contains(&first) && is_file(&file) {
            return Err(format!(
                "-{option}: {file} is a file here, not on the nodes: -files {file}"
            ));
        }
    }
    match crate::words::words(&command).is_empty() {
        true => Err(format!("-{option}: the command is empty")),
        false => Ok(Stage::Command(command)),
    }
}

/// Whether this is the full name of a class: a package of Java's, and a name that begins with a capital.
fn is_class(name: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    let is_name = |part: &&str| {
        part.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_$".contains(&byte))
            && !part.is_empty()
    };
    let begins = |part: &str, capital: bool| {
        part.starts_with(|letter: char| {
            letter.is_ascii_uppercase() == capital && letter.is_ascii_alphabetic()
        })
    };
    let Some((class, packages)) = parts.split_last() else {
        return false;
    };
    packages.len() >= 2
        && parts.iter().all(is_name)
        && begins(class, true)
        && packages.iter().all(|package| begins(package, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Result<Asked, String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        asked(&words, &|name| {
            ["mapper.py", "./mapper.py", "bin/m.sh", "count.awk"].contains(&name)
        })
    }

    fn line(line: &str) -> Result<Asked, String> {
        of(&line.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn an_old_command_line_is_understood() {
        let found = of(&[
            "-D",
            "mapred.reduce.tasks=7",
            "-Dstream.num.map.output.key.fields=2",
            "-files",
            "mapper.py,lib/r.py#reducer.py",
            "-input",
            "a",
            "b,c",
            "-output",
            "out",
            "-input",
            "d",
            "-mapper",
            "python3 mapper.py -v",
            "-reducer",
            "reducer.py",
            "-numReduceTasks",
            "4",
            "-file",
            "x/data.txt",
            "-cmdenv",
            "A=b=c",
            "-inputformat",
            "org.apache.hadoop.mapred.lib.NLineInputFormat",
            "-archives",
            "dict.zip#dict",
            "--local",
        ])
        .unwrap();
        assert_eq!(found.inputs, ["a", "b,c", "d"]);
        assert_eq!(found.output, "out");
        assert_eq!(
            found.plan.map,
            Stage::Command("python3 mapper.py -v".into())
        );
        assert_eq!(found.plan.reduce, Stage::Command("reducer.py".into()));
        assert_eq!(
            found.plan.links,
            ["mapper.py", "reducer.py", "data.txt", "dict"]
        );
        assert_eq!(found.plan.environment, [("A".into(), "b=c".into())]);
        assert!(found.is_local);
        assert_eq!(
            found.options,
            [
                "--local",
                "-D",
                "stream.map.input.format=nline",
                "-D",
                "stream.num.map.output.key.fields=2",
                "-D",
                "mapreduce.job.reduces=4"
            ]
        );
    }

    #[test]
    fn a_program_that_comes_along_is_called_by_its_name() {
        let found = of(&[
            "-input",
            "a",
            "-output",
            "b",
            "-mapper",
            "bin/m.sh x y",
            "-file",
            "bin/m.sh",
            "-reducer",
            "NONE",
        ]);
        let found = found.unwrap();
        assert_eq!(found.plan.map, Stage::Command("m.sh x y".into()));
        assert_eq!(found.options, ["-D", "mapreduce.job.reduces=0"]);
    }

    #[test]
    fn what_cannot_be_is_said_in_a_sentence() {
        for (words, said) in [
            ("-output b -mapper cat", "-input PATH is needed"),
            ("-input a -mapper cat", "-output PATH is needed"),
            (
                "-input a -output b -mapper mapper.py",
                "-mapper: mapper.py is a file here, not on the nodes: -files mapper.py",
            ),
            (
                "-input a -output b -mapper ./mapper.py",
                "-mapper: ./mapper.py is a file here, not on the nodes: -files ./mapper.py",
            ),
            (
                "-input a -output b -mapper cat -reducer bin/m.sh",
                "-reducer: bin/m.sh is a file here, not on the nodes: -files bin/m.sh",
            ),
            (
                "-input a -output b -mapper org.acme.Mapper -reducer cat",
                "-mapper org.acme.Mapper is a Java class",
            ),
            (
                "-input a -output b -mapper cat -numReduceTasks many",
                "-numReduceTasks many: a whole number from 0",
            ),
            (
                "-input a -output b -maper cat",
                "-maper is no option of Hadoop Streaming (is -mapper meant?)",
            ),
            ("-input a -output b cat", "cat belongs to no option"),
            ("-input a -output", "-output needs a value"),
            (
                "-input a -output b -mapdebug x",
                "-mapdebug: no script is run",
            ),
            (
                "-input a -output b -mapper cat -io typedbytes",
                "-io typedbytes: commands read and print lines",
            ),
            (
                "-input a -output b -mapper cat -cmdenv A",
                "-cmdenv A: a variable is NAME=VALUE",
            ),
            (
                "-input a -output b -mapper cat -D x",
                "-D x: a setting is NAME=VALUE",
            ),
            (
                "-input a -output b -mapper cat -files hdfs://n/x",
                "hdfs://n/x: files of a job are brought from this machine",
            ),
            (
                "-input a -output b",
                "a mapper that hands records on as they are",
            ),
            (
                "-input a -output b -mapper cat -partitioner my.Partitioner",
                "-partitioner my.Partitioner: gerbil runs no Java",
            ),
            (
                "-input a -output b -mapper cat -D mapreduce.partition.keycomparator.options=-k2,x",
                "-D mapreduce.partition.keycomparator.options=-k2,x: -k2,x: \"x\" is no F[.C][nr]",
            ),
            (
                "-input a -output b -mapper cat -D mapreduce.job.output.key.comparator.class=a.B",
                "knows KeyFieldBasedComparator alone",
            ),
            (
                "-input a -output b -mapper cat -inputformat my.Format",
                "-inputformat my.Format: gerbil runs no Java",
            ),
        ] {
            let words = line(words).map(|found| panic!("{words}: {found:?}"));
            let found = words.unwrap_err();
            assert!(found.contains(said), "{found}");
        }
        let script =
            of(&["-input", "a", "-output", "b", "-mapper", "awk -f count.awk"]).unwrap_err();
        assert!(script.contains("count.awk is a file here"), "{script}");
    }

    #[test]
    fn settings_of_keys_are_taken_under_either_name() {
        let found = of(&[
            "-D", "mapred.output.key.comparator.class=org.apache.hadoop.mapred.lib.KeyFieldBasedComparator", "-D",
            "mapreduce.partition.keycomparator.options=-k2,2nr", "-D", "map.output.key.field.separator=.", "-D",
            "mapred.text.key.partitioner.options=-k1,2", "-D", "mapred.child.java.opts=-Xmx1g", "-partitioner",
            "org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner", "-input", "a", "-output", "b", "-mapper", "cat",
            "-reducer", "aggregate",
        ])
        .unwrap();
        assert_eq!(
            found.options,
            [
                "-D",
                "stream.comparator.options=-k2,2nr",
                "-D",
                "stream.key.field.separator=.",
                "-D",
                "stream.partition.options=-k1,2",
                "-D",
                "stream.partition.by.fields=true"
            ]
        );
        assert_eq!(found.plan.reduce, Stage::Aggregate);
        assert_eq!(found.notes.len(), 4, "{:?}", found.notes);
        // Without the class nobody reads them.
        let found =
            line("-input a -output b -mapper cat -D mapreduce.partition.keycomparator.options=-nr")
                .unwrap();
        assert_eq!(found.options, [""; 0]);
    }

    #[test]
    fn identities_need_keys() {
        let found = line("-input a -output b -inputformat KeyValueTextInputFormat").unwrap();
        assert_eq!(
            (found.plan.map, found.plan.reduce),
            (Stage::Identity, Stage::Identity)
        );
        let named = "-input a -output b -inputformat org.apache.hadoop.mapred.KeyValueTextInputFormat \
                     -mapper org.apache.hadoop.mapred.lib.IdentityMapper -reducer org.apache.hadoop.mapred.lib.IdentityReducer";
        assert_eq!(line(named).unwrap().plan.map, Stage::Identity);
    }
}
