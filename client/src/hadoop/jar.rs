//! `gerbil hadoop jar`: a job of Hadoop Streaming by `gerbil mr`, which a process of its own runs, told as Hadoop tells it.

use std::path::Path;
use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};

use ::job::exit::Exit;
use gantt::date;
use mapreduce_client::open::take;
use mapreduce_client::places::FileSystems;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use terminal::signals::Signals;
use terminal::{Orphan, ends_with_us};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use super::told::Told;
use crate::failure::Failure;
use crate::system::system;

/// Options whose files may lie on the cluster's file systems, and what they are called here.
const FILES: [(&str, &str); 5] = [
    ("-files", "-files"),
    ("-file", "-file"),
    ("-cacheFile", "-files"),
    ("-archives", "-archives"),
    ("-cacheArchive", "-archives"),
];

/// Runs it; the exit code.
pub(super) async fn run(
    words: Vec<String>,
    places: &FileSystems,
    signals: &mut Signals,
) -> Result<u8, Failure> {
    let folder =
        TempDir::new().map_err(system("make a folder for the job's files", Exit::Staging))?;
    let words = fetched(words, folder.path(), places).await?;
    let output = words.iter().position(|word| word == "-output");
    let output = output.and_then(|at| words.get(at + 1)).cloned();
    let output = output.and_then(|output| places.find(&output).ok());
    let own = std::env::current_exe().map_err(system("find my own file", Exit::Staging))?;
    let mut command = Command::new(own);
    command
        .arg0("gerbil")
        .args(["mr", "jar"])
        .args(&words)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        // Ctrl-C is for this process, which hands it on: it is not to come twice, which ends a job at once.
        .process_group(0)
        .kill_on_drop(true);
    ends_with_us(command.as_std_mut(), Orphan::Told);
    let mut child = command
        .spawn()
        .map_err(system("start gerbil mr", Exit::Lost))?;
    let told = Told::new(now);
    let mut lines = child
        .stderr
        .take()
        .map(|stderr| BufReader::new(stderr).split(b'\n'));
    while let Some(said) = &mut lines {
        tokio::select! {
            line = said.next_segment() => match line {
                Ok(Some(line)) => print_lines(&told.lines(&String::from_utf8_lossy(&line))),
                Ok(None) | Err(_) => lines = None,
            },
            signal = signals.ending() => hand_on(&child, signal),
        }
    }
    let status = loop {
        tokio::select! {
            status = child.wait() => break status.map_err(system("wait for gerbil mr", Exit::Lost))?,
            signal = signals.ending() => hand_on(&child, signal),
        }
    };
    let output = output.map(|place| place.url()).unwrap_or_default();
    print_lines(&told.end(&output, status.success()));
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.unwrap_or(1))
}

/// It ends the job, and itself.
fn hand_on(child: &tokio::process::Child, signal: u8) {
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
    if let (Some(pid), Ok(signal)) = (pid, Signal::try_from(i32::from(signal))) {
        // It may have ended meanwhile.
        let _sent = kill(Pid::from_raw(pid), signal).is_ok();
    }
}

/// The words, with files that lie on a file system of the cluster brought here first.
async fn fetched(
    words: Vec<String>,
    folder: &Path,
    places: &FileSystems,
) -> Result<Vec<String>, Failure> {
    let mut all = Vec::new();
    let mut count = 0;
    let mut rest = words.into_iter();
    while let Some(word) = rest.next() {
        let Some((_, here)) = FILES.iter().find(|(option, _)| *option == word) else {
            all.push(word);
            continue;
        };
        all.push((*here).to_owned());
        let mut list = Vec::new();
        for file in rest.next().unwrap_or_default().split(',') {
            let Some((path, link)) = far(file) else {
                list.push(file.to_owned());
                continue;
            };
            count += 1;
            let local = folder.join(format!("{count}")).join(link);
            let place = places.find(path)?;
            take(places, &place, &local).await?;
            list.push(format!("{}#{link}", local.display()));
        }
        all.push(list.join(","));
    }
    Ok(all)
}

/// A file that does not lie on this machine, and what commands find it as.
fn far(file: &str) -> Option<(&str, &str)> {
    let (path, link) = file.split_once('#').unwrap_or((file, ""));
    let (scheme, _) = path
        .split_once("://")
        .filter(|(scheme, _)| *scheme != "file")?;
    let name = path.rsplit('/').next().filter(|_| !scheme.is_empty())?;
    Some((path, if link.is_empty() { name } else { link }))
}

fn now() -> String {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let all = date(u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
    all.trim_end_matches(" UTC").to_owned()
}

fn print_lines(lines: &[String]) {
    use std::io::Write as _;
    let mut stderr = std::io::stderr().lock();
    for line in lines {
        drop(writeln!(stderr, "{line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::far;

    #[test]
    fn files_of_the_cluster_are_told_from_those_of_this_machine() {
        for (file, wanted) in [
            ("hdfs:///tmp/a.py#b.py", Some(("hdfs:///tmp/a.py", "b.py"))),
            ("hdfs://n:1/tmp/a.py", Some(("hdfs://n:1/tmp/a.py", "a.py"))),
            ("file:///tmp/a.py", None),
            ("a.py#b", None),
        ] {
            assert_eq!(far(file), wanted, "{file}");
        }
    }
}
