//! What moves between the cluster's file system and the nodes.

use std::str::FromStr as _;
use std::time::Duration;

use clap::Args;
use nix::sys::signal::Signal;

use super::values::span;

/// The options on data.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Data")]
pub(crate) struct DataArguments {
    /// A file or folder of hdfs:// (or of a file: folder that all nodes have) to bring into the
    /// folder of every container before the processes start, under its own name or another; may be
    /// given again. It cannot be written to there, and YARN keeps it for the next job
    #[arg(long, value_name = "URL[=NAME]", value_parser = stage_in)]
    pub stage_in: Vec<Incoming>,

    /// A file or folder of the containers that becomes URL when every process has returned 0, whole
    /// or not at all; may be given again. A relative path is one of this machine, as with --get. What the folders of several nodes have comes together;
    /// %h in the address stands for a node's host, %p for its number
    #[arg(long, value_name = "NAME=URL", value_parser = stage_out)]
    pub stage_out: Vec<Outgoing>,

    /// A file or folder of the containers that comes to this machine when every process has returned
    /// 0, under its own name in the current folder or as PATH (%h and %p as above); may be given again.
    /// All come or none; a file is replaced, a folder is not
    #[arg(long, value_name = "NAME[=PATH]", value_parser = get)]
    pub get: Vec<Outgoing>,

    /// Save the job whenever so long has passed: the processes are asked by a signal to write their
    /// files into $GERBIL_CHECKPOINT_DIR, which is copied to the staging folder
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub checkpoint_interval: Option<Duration>,

    /// That signal [default: SIGUSR1]
    #[arg(long, value_name = "SIGNAL", value_parser = signal)]
    pub checkpoint_signal: Option<Signal>,

    /// The folder in the containers in which each process has its $GERBIL_CHECKPOINT_DIR; without
    /// --checkpoint-interval the job is saved when --checkpoint asks for it [default: checkpoint]
    #[arg(long, value_name = "NAME", value_parser = folder)]
    pub checkpoint_dir: Option<String>,

    /// Begin from the newest checkpoint of that application, or from the one in that folder
    #[arg(long, value_name = "APPLICATION_ID|URL")]
    pub restore: Option<String>,

    /// Have that application saved now, and wait until it is; its --staging is to be given, if it had one
    #[arg(
        long,
        value_name = "APPLICATION_ID",
        conflicts_with_all = ["command", "mpi", "list", "processes", "dry_run", "kill"]
    )]
    pub checkpoint: Option<String>,
}

impl DataArguments {
    /// Names in the containers' folders that do not go with the job.
    pub(crate) fn kept(&self) -> Vec<String> {
        let results = self.stage_out.iter().chain(&self.get);
        let results = results.map(|outgoing| outgoing.name.clone());
        let saved = self.checkpoint_dir.clone();
        let saved = saved.unwrap_or_else(|| "checkpoint".to_owned());
        results.chain([saved]).collect()
    }
}

/// Something that becomes a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    /// Name in the containers' working directories, in parts.
    pub name: String,
    /// A path, with scheme and host or without; of this machine, if it is relative.
    pub url: String,
}

fn get(text: &str) -> Result<Outgoing, String> {
    let (name, path) = match text.split_once('=') {
        Some((_, "")) => return Err(format!("{text} wants a path behind =")),
        Some((name, path)) => (folder(name)?, path.to_owned()),
        None => {
            let name = folder(text)?;
            let own = name.rsplit('/').next().unwrap_or_default().to_owned();
            (name, own)
        }
    };
    Ok(Outgoing { name, url: path })
}

fn stage_out(text: &str) -> Result<Outgoing, String> {
    let (name, url) = text
        .split_once('=')
        .ok_or_else(|| format!("{text} wants an address behind ="))?;
    Ok(Outgoing {
        name: folder(name)?,
        url: url.to_owned(),
    })
}

fn folder(name: &str) -> Result<String, String> {
    inside(name).ok_or_else(|| format!("{name:?} is no name inside the container's folder"))
}

/// `SIGUSR1`, `USR1` or its number; not one that no process can answer.
fn signal(text: &str) -> Result<Signal, String> {
    let by_number = text
        .parse()
        .ok()
        .and_then(|number: i32| Signal::try_from(number).ok());
    let by_name = || {
        let upper = text.to_ascii_uppercase();
        let name = upper.strip_prefix("SIG").unwrap_or(&upper);
        Signal::from_str(&format!("SIG{name}")).ok()
    };
    match by_number.or_else(by_name) {
        Some(deaf @ (Signal::SIGKILL | Signal::SIGSTOP)) => {
            Err(format!("{deaf} cannot be answered by a process"))
        }
        Some(signal) => Ok(signal),
        None => Err(format!("{text} is no signal; write for example SIGUSR1")),
    }
}

/// Something to be brought to every container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Incoming {
    /// A path, with scheme and host or without.
    pub url: String,
    /// Name in the container's working directory, in parts.
    pub name: String,
}

fn stage_in(text: &str) -> Result<Incoming, String> {
    let (url, name) = match text.rsplit_once('=') {
        Some((url, name)) => (url, name),
        None => {
            let trimmed = text.trim_end_matches('/');
            (text, trimmed.rsplit('/').next().unwrap_or_default())
        }
    };
    Ok(Incoming {
        url: url.to_owned(),
        name: folder(name)?,
    })
}

/// A path that stays in its folder, without empty parts.
pub(super) fn inside(path: &str) -> Option<String> {
    let path = path.trim_end_matches('/');
    let parts: Vec<&str> = path.split('/').filter(|part| *part != ".").collect();
    let leaves = |part: &&str| part.is_empty() || *part == "..";
    (!parts.is_empty() && !parts.iter().any(leaves)).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_out_has_a_name_and_an_address() {
        let read = |text: &str| {
            let Outgoing { name, url } = stage_out(text).ok()?;
            Some((name, url))
        };
        let pair = |name: &str, url: &str| Some((name.to_owned(), url.to_owned()));
        assert_eq!(read("./out/=/d=3/x"), pair("out", "/d=3/x"));
        for bad in ["out", "/out=/x", "../x=/x", "=/x"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_signal_has_a_name_or_a_number() {
        for text in ["SIGUSR2", "usr2", "12"] {
            assert_eq!(signal(text), Ok(Signal::SIGUSR2), "{text}");
        }
        for text in ["KILL", "19", "0", "SIGNONE"] {
            assert!(signal(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_comes_in_has_its_own_name_or_another() {
        let read = |text: &str| {
            let Incoming { url, name } = stage_in(text).ok()?;
            Some((url, name))
        };
        let pair = |url: &str, name: &str| Some((url.to_owned(), name.to_owned()));
        assert_eq!(read("hdfs:///d/x.txt"), pair("hdfs:///d/x.txt", "x.txt"));
        assert_eq!(read("/d/x/"), pair("/d/x/", "x"));
        assert_eq!(read("hdfs://h:1/d=in/x"), pair("hdfs://h:1/d", "in/x"));
        assert_eq!(read("/d/day=3=day"), pair("/d/day=3", "day"));
        for bad in ["/", "/d=/x", "/d=../x", "/d=", "/d=."] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
