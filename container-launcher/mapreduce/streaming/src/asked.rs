//! A command line of Hadoop Streaming, understood: what tasks are told, what the engine is told, and what is brought along.
//!
//! Here are its options, one after the other; in [`settings`] what `-D` says; in [`complete`] what the whole of them makes.

mod complete;
mod forms;
mod reader;
mod settings;
#[cfg(test)]
mod tests;

use std::ffi::OsString;

use gerbil_task::nearest::hint;
use gerbil_task::splits::REDUCES_MAX;

use crate::here::Here;
use crate::options::{Fate, OPTIONS, OWN, Takes};
use crate::plan::{Brought, StreamPlan};
use crate::settings::{Format, LAZY};

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

/// Understands `words`, of a command line that is typed `here`.
///
/// # Errors
/// Why there is no such job, one sentence.
pub fn asked(words: &[OsString], here: &dyn Here) -> Result<Asked, String> {
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
    given.complete(&mut asked, here)?;
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
    combiner: Option<String>,
    reducer: Option<String>,
    reduces: Option<u32>,
    format: Option<Format>,
    /// `-inputreader` says what records begin and end with.
    has_reader: bool,
    settings: Vec<(String, String)>,
    /// How records are written for commands, and printed.
    forms: forms::Forms,
    /// `KeyFieldBasedComparator` is wanted, and by what it compares.
    compares_fields: bool,
    comparator: Option<String>,
}

impl Given {
    fn take(&mut self, name: &str, values: &[String], asked: &mut Asked) -> Result<(), String> {
        let first = values.first().cloned().unwrap_or_default();
        match name {
            "input" => asked.inputs.extend(values.iter().cloned()),
            "output" => asked.output = first,
            "mapper" => self.mapper = Some(first),
            "combiner" => self.combiner = Some(first),
            "reducer" => self.reducer = Some(first),
            "numReduceTasks" => {
                let reduces = first.trim().parse().ok();
                let reduces = reduces.filter(|reduces| *reduces <= REDUCES_MAX);
                self.reduces = Some(reduces.ok_or_else(|| {
                    format!("-{name} {first}: a whole number from 0 to {REDUCES_MAX}")
                })?);
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
                        "-inputformat {first}: gerbil runs no Java, and reads TextInputFormat, KeyValueTextInputFormat, \
                         NLineInputFormat, SequenceFileInputFormat and SequenceFileAsTextInputFormat"
                    )
                })?);
            }
            "inputreader" => self.reader(&first, asked)?,
            "outputformat" => one_of("outputformat", &first, "TextOutputFormat")?,
            "partitioner" => self.partitioner(name, &first)?,
            "io" => self.forms.all(&first)?,
            "lazyOutput" => self.settings.push((LAZY.to_owned(), "true".to_owned())),
            "D" | "jobconf" => self.set(&first, asked)?,
            "info" | "help" => asked.help = true,
            _ => {}
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
