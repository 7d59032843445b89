//! What the options make together: a plan for tasks and words for the engine, or why there is no such job.

use std::path::Path;

use gerbil_task::renamed::current;
use gerbil_task::settings::COMBINE;

use super::{Asked, Given};
use crate::archive::Packed;
use crate::here::Here;
use crate::plan::{Brought, Stage};
use crate::settings::{COMPARATOR, FORMAT, Format};
use crate::words::{files, words};

/// The number of reduces.
const REDUCES: &str = "mapreduce.job.reduces";

/// What is given twice is brought once.
fn each_once(files: &mut Vec<Brought>) {
    let mut kept: Vec<Brought> = Vec::new();
    for file in files.drain(..) {
        if !kept.contains(&file) {
            kept.push(file);
        }
    }
    *files = kept;
}

/// Refuses links that would lie outside of the command's folder, or be two files.
fn has_names_of_its_own(all: &[&Brought]) -> Result<(), String> {
    for (at, file) in all.iter().enumerate() {
        let (path, link) = (&file.path, &file.link);
        if link.is_empty() || link == "." || link == ".." || link.contains('/') {
            return Err(format!(
                "{path}#{link}: {link:?} is no name for a file in the command's working folder: give a name without /"
            ));
        }
        let before = all.get(..at).unwrap_or_default();
        if let Some(other) = before.iter().find(|other| other.link == *link) {
            return Err(format!(
                "{} and {path} are both {link} in the command's working folder: give one another name, {path}#NAME",
                other.path
            ));
        }
    }
    Ok(())
}

impl Given {
    pub(super) fn complete(mut self, asked: &mut Asked, here: &dyn Here) -> Result<(), String> {
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
            if !here.is_there(&file.path) {
                return Err(format!(
                    "{}: there is no such file on this machine: -files and -archives bring what is here",
                    file.path
                ));
            }
        }
        for list in [&mut asked.files, &mut asked.archives] {
            each_once(list);
        }
        let on_nodes = |archive: &&Brought| Packed::of(&archive.path) == Some(Packed::Tar);
        if let Some(odd) =
            (asked.archives.iter()).find(|archive| !asked.is_local && !on_nodes(archive))
        {
            return Err(format!(
                "-archives {}: nodes unpack .tar, .tar.gz and .tgz: pack it so, or bring it as it is with -files",
                odd.path
            ));
        }
        let all: Vec<&Brought> = asked.files.iter().chain(&asked.archives).collect();
        has_names_of_its_own(&all)?;
        if self.compares_fields
            && let Some(options) = &self.comparator
        {
            let order = format!("{COMPARATOR}={options}");
            asked.options.extend(["-D".to_owned(), order]);
        }
        let format = match (self.format, self.has_reader) {
            (None, true) => Some(Format::Xml),
            (Some(Format::Xml), false) => {
                return Err(
                    "-inputformat StreamInputFormat: -inputreader StreamXmlRecordReader,begin=MARK,end=MARK is needed"
                        .to_owned(),
                );
            }
            (Some(format), true) if format != Format::Xml => {
                return Err(
                    "-inputreader cuts records by itself: leave out -inputformat, under which Hadoop would not look at it"
                        .to_owned(),
                );
            }
            (format, _) => format,
        };
        let mut reduces = self.reduces;
        asked.plan.map = match self.mapper.take() {
            Some(command) => stage("mapper", command, asked, here)?,
            None => Stage::Identity,
        };
        asked.plan.reduce = match self.reducer.as_deref() {
            Some("NONE") => {
                reduces = Some(0);
                Stage::Identity
            }
            Some(command) => stage("reducer", command.to_owned(), asked, here)?,
            None => Stage::Identity,
        };
        // Hadoop has what aggregates combine by itself, whatever is asked for.
        asked.plan.combine = match (&asked.plan.reduce, self.combiner.as_deref()) {
            (Stage::Aggregate, _) => Some(Stage::Aggregate),
            (Stage::Identity | Stage::Command(_), None | Some("NONE")) => None,
            (Stage::Identity | Stage::Command(_), Some(command)) => {
                let stage = stage("combiner", command.to_owned(), asked, here)?;
                Some(stage).filter(|stage| *stage != Stage::Identity)
            }
        };
        if asked.plan.combine.is_some() {
            asked
                .options
                .extend(["-D".to_owned(), format!("{COMBINE}=true")]);
        }
        if asked.plan.map == Stage::Identity
            && format.unwrap_or(Format::Text) != Format::KeyValueText
        {
            return Err(
                "a mapper that hands records on as they are has keys with -inputformat KeyValueTextInputFormat alone: give it, \
                 or -mapper cat"
                    .to_owned(),
            );
        }
        self.forms(asked)?;
        asked.plan.links = (asked.files.iter().chain(&asked.archives))
            .map(|file| file.link.clone())
            .collect();
        if let Some(format) = format {
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

/// What a stage does that is `given` so.
fn stage(option: &str, given: String, asked: &Asked, here: &dyn Here) -> Result<Stage, String> {
    let identity = match option {
        "mapper" => "IdentityMapper",
        _ => "IdentityReducer",
    };
    if given == identity || given == format!("org.apache.hadoop.mapred.lib.{identity}") {
        return Ok(Stage::Identity);
    }
    if option != "mapper" && given.eq_ignore_ascii_case("aggregate") {
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
        // What PATH finds is what runs on the nodes, whatever lies in this folder.
        let is_program = file == program && here.is_in_path(&file);
        if !file.starts_with('/') && !is_program && !links.contains(&first) && here.is_file(&file) {
            return Err(format!(
                "-{option}: {file} is a file here, not on the nodes: -files {file}"
            ));
        }
    }
    match words(&command).is_empty() {
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
