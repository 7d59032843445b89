//! `gerbil hadoop`, or this file under the name `hadoop`: as much of Hadoop's own command as programs need that start
//! Hadoop Streaming by it, mrjob above all.

mod copies;
mod entries;
mod files;
mod gets;
mod jar;
mod puts;
mod removals;
mod said;
mod sums;
#[cfg(test)]
mod tests;
mod told;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use ::job::exit::Exit;
use mapreduce_client::Cluster as Hadoops;
use mapreduce_client::places::FileSystems;
use terminal::{Text, print, say};

use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::frame;

use words::Asked;

/// The name under which nothing but this is meant.
pub(crate) const NAME: &str = "hadoop";
/// Whose command line this is as far as it goes; programs look for a number in the first line.
const VERSION: &str = "Hadoop 3.4.2";

/// The whole command; `words` are those behind `hadoop`.
pub(crate) fn main(words: Vec<OsString>) -> ExitCode {
    let words = words.into_iter().map(OsString::into_string);
    let words = match words.collect::<Result<Vec<String>, OsString>>() {
        Ok(words) => words,
        Err(word) => {
            let word = word.to_string_lossy();
            say(format!(
                "{word} is no UTF-8, as names of Hadoop's file systems are: name it otherwise"
            ));
            return ExitCode::from(Exit::Usage.code());
        }
    };
    let asked = match words::asked(&words) {
        Ok(asked) => asked,
        Err(why) => {
            say(why);
            return ExitCode::from(Exit::Usage.code());
        }
    };
    frame::main(async |signals| match asked {
        Asked::Version => {
            let own = format!("gerbil {} stands in for it", env!("CARGO_PKG_VERSION"));
            print(Text::Lines(vec![VERSION.to_owned(), own])).await?;
            Ok(0)
        }
        Asked::Files(task) => files::run(task, &places()?, signals).await,
        Asked::Jar(words) => jar::run(words, &places()?, signals).await,
    })
}

/// The file systems of the cluster that Hadoop's settings describe.
fn places() -> Result<FileSystems, Failure> {
    let cluster = Cluster::find()?;
    Ok(FileSystems::new(Arc::new(Hadoops {
        configuration: cluster.configuration,
        user: cluster.user,
    })))
}
