//! The report of a job: the ApplicationMaster's part, the client's, and the file it goes to.

use std::convert::identity;
use std::fs::{File, Metadata};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read as _, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use job::exit::Exit;
use job::report::Report;
use serde::de::DeserializeOwned;
use tempfile::{Builder, NamedTempFile};
use tokio::task::spawn_blocking;

use crate::descriptor;
use crate::error::FollowError;
use crate::timing::Stamps;
use terminal::signals::Signals;
use terminal::{flushed, say, write_whole};

/// A report that is read again, at most, bytes: a million ranks without their samples.
const BYTES_MAX: u64 = 512 * 1024 * 1024;

/// What only the client knows.
#[derive(Clone, Debug, Default)]
pub struct ClientFacts {
    /// YARN's id; empty when nothing was submitted.
    pub application: String,
    /// The first program, as the user named it.
    pub program: PathBuf,
    /// Of the job.
    pub processes: u32,
    /// When what was done.
    pub stamps: Stamps,
    /// What the command returns.
    pub exit_code: u8,
    /// What is said of the end; empty for a success.
    pub sentence: String,
}

impl ClientFacts {
    /// Both parts. `said` is the ApplicationMaster's as JSON, empty when it was not heard.
    pub fn with(&self, said: &str) -> Report {
        let mut report = match said.is_empty() {
            true => Report::default(),
            false => serde_json::from_str(said).unwrap_or_else(|error| {
                say(format!(
                    "the ApplicationMaster's part of the report is unreadable: {error}"
                ));
                Report::default()
            }),
        };
        report.application.clone_from(&self.application);
        report.program = self.program.display().to_string();
        if report.processes == 0 {
            report.processes = self.processes;
        }
        report.exit_code = i32::from(self.exit_code);
        report.sentence.clone_from(&self.sentence);
        report.phases.started_us = self.stamps.started_us;
        report.phases.submitted_us = self.stamps.submitted_us;
        report.phases.finished_us = self.stamps.finished_us;
        report.uploaded_bytes = self.stamps.uploaded_bytes;
        report
    }
}

/// Where a report comes to lie, held since before the job.
#[derive(Debug)]
pub struct Destination {
    /// As the user wrote it.
    path: PathBuf,
    place: ReportFile,
}

impl Destination {
    /// Before the job starts: makes sure that a report can come to lie at `path`. A pipe is opened
    /// here, once, and stays open until the report is in it: its reader takes a second opening for
    /// the end. As in a shell that waits until somebody reads, or a signal ends it (`Break`).
    pub async fn open(
        path: &Path,
        signals: &mut Signals,
    ) -> Result<ControlFlow<u8, Self>, FollowError> {
        let path = path.to_owned();
        let tried = path.clone();
        let tried = spawn_blocking(move || ReportFile::open(&tried));
        let opened = tokio::select! {
            opened = tried => opened.map_err(io::Error::other).and_then(identity),
            signal = signals.ending() => return Ok(ControlFlow::Break(signal)),
        };
        match opened {
            Ok(place) => Ok(ControlFlow::Continue(Self { path, place })),
            Err(source) => Err(FollowError::NotWritable {
                option: "--report ",
                path,
                source,
            }),
        }
    }

    /// Lets `fill` write the report there and returns the exit code of the command: `code`, unless
    /// that was a success and the report could not be written. A signal ends the wait for the reader
    /// of a pipe.
    pub async fn write(
        self,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
        code: u8,
        signals: &mut Signals,
    ) -> u8 {
        let Self { path, place } = self;
        let put = async {
            if matches!(place, ReportFile::Descriptor(_)) {
                // Often where sentences go, too: it stands behind them.
                flushed().await;
            }
            spawn_blocking(move || place.put(fill)).await
        };
        let (error, spoilt) = tokio::select! {
            put = put => match put.map_err(io::Error::other).and_then(identity) {
                Ok(()) => return code,
                Err(error) => (error.to_string(), Exit::Staging.code()),
            },
            signal = signals.ending() => (
                "interrupted before all of it was written".to_owned(),
                128u8.saturating_add(signal),
            ),
        };
        say(format!("--report {}: {error}", path.display()));
        match code {
            0 => spoilt,
            code => code,
        }
    }
}

/// The report at `path`, or as much of it as `R` has; `None` when there is none that can be read. One
/// that was written into a pipe is its reader's.
pub fn read<R: DeserializeOwned>(path: &Path) -> Option<R> {
    path.metadata().ok().filter(Metadata::is_file)?;
    let file = File::open(path).ok()?;
    serde_json::from_reader(BufReader::new(file.take(BYTES_MAX))).ok()
}

/// How something comes to lie at a path.
#[derive(Debug)]
enum ReportFile {
    /// A file, which appears whole: written beside it and then given its name.
    Appears { folder: PathBuf, path: PathBuf },
    /// A pipe or a device: it must stay what it is.
    Device(File),
    /// What a descriptor leads to, which must stay what it is, and has other writers.
    Descriptor(File),
}

impl ReportFile {
    /// May wait for the reader of a pipe.
    fn open(path: &Path) -> io::Result<Self> {
        if let Some(file) = descriptor::named(path)? {
            return Ok(Self::Descriptor(file));
        }
        // Through links, so that the file they lead to is replaced, not they.
        let path = path.canonicalize().unwrap_or_else(|_new| path.to_owned());
        if path.metadata().is_ok_and(|there| !there.is_file()) {
            return File::options().write(true).open(path).map(Self::Device);
        }
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."))
            .to_owned();
        if !folder.is_dir() {
            return Err(io::Error::new(
                ErrorKind::NotFound,
                format!("there is no folder {}", folder.display()),
            ));
        }
        beside(&folder).map(drop)?;
        Ok(Self::Appears { folder, path })
    }

    /// May wait for the reader of a pipe.
    fn put(self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let into = |file: &File| {
            let mut out = BufWriter::new(Whole(file));
            fill(&mut out)?;
            out.write_all(b"\n")?;
            out.flush()
        };
        match self {
            Self::Device(file) | Self::Descriptor(file) => into(&file),
            Self::Appears { folder, path } => {
                let file = beside(&folder)?;
                into(file.as_file())?;
                file.as_file().sync_all()?;
                file.persist(path)?;
                Ok(())
            }
        }
    }
}

/// A file that somebody else may have made non-blocking.
struct Whole<'a>(&'a File);

impl Write for Whole<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        write_whole(&mut self.0, data)?;
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file without a name of its own yet.
fn beside(folder: &Path) -> io::Result<NamedTempFile> {
    // What the user's umask leaves of it, as with any other file.
    let permissions = std::fs::Permissions::from_mode(0o666);
    Builder::new()
        .prefix(".gerbil-report-")
        .permissions(permissions)
        .tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use job::report::Phases;

    use super::*;

    fn own(exit_code: u8) -> ClientFacts {
        ClientFacts {
            application: "application_1_0001".into(),
            program: "./cpi".into(),
            processes: 4,
            stamps: Stamps {
                started_us: 1,
                submitted_us: 2,
                finished_us: 9,
                uploaded_bytes: 77,
            },
            exit_code,
            sentence: "rank 1 on n1 exited with code 7".into(),
        }
    }

    #[test]
    fn both_parts_become_one() {
        let theirs = Report {
            processes: 3,
            mode: "all".into(),
            exit_code: 0,
            allocates: 5,
            phases: Phases {
                registered_us: 4,
                ended_us: 8,
                ..Phases::default()
            },
            ..Report::default()
        };
        let report = own(7).with(&serde_json::to_string(&theirs).unwrap());
        assert_eq!(report.processes, 3);
        assert_eq!((report.mode.as_str(), report.allocates), ("all", 5));
        assert_eq!((report.exit_code, report.uploaded_bytes), (7, 77));
        assert_eq!(
            report.phases,
            Phases {
                started_us: 1,
                submitted_us: 2,
                registered_us: 4,
                ended_us: 8,
                finished_us: 9,
                ..Phases::default()
            }
        );
        let alone = own(7).with("");
        assert_eq!((alone.processes, alone.program.as_str()), (4, "./cpi"));
    }

    async fn open(path: &Path, signals: &mut Signals) -> Result<Destination, FollowError> {
        match Destination::open(path, signals).await? {
            ControlFlow::Continue(destination) => Ok(destination),
            ControlFlow::Break(signal) => panic!("signal {signal}"),
        }
    }

    async fn write(destination: Destination, report: Report, code: u8) -> u8 {
        let mut signals = Signals::listen().unwrap();
        let fill = move |out: &mut dyn Write| Ok(serde_json::to_writer(out, &report)?);
        destination.write(fill, code, &mut signals).await
    }

    #[tokio::test]
    async fn a_report_appears_whole_through_links_and_with_the_usual_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("report.json");
        let link = folder.path().join("link.json");
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut signals = Signals::listen().unwrap();
        let destination = open(&link, &mut signals).await.unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"old");
        assert_eq!(write(destination, own(0).with(""), 0).await, 0);
        assert!(link.is_symlink());
        assert_eq!(read::<Report>(&file).unwrap(), own(0).with(""));
        let mode = file.metadata().unwrap().permissions().mode();
        assert_ne!(
            mode & 0o040,
            0,
            "{mode:o}: the usual umask lets the group read"
        );
        // Nothing else is left behind.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[tokio::test]
    async fn a_report_that_cannot_be_written_spoils_a_success_only() {
        let mut signals = Signals::listen().unwrap();
        let nowhere = Path::new("/no/such/folder/r.json");
        let refused = open(nowhere, &mut signals).await.unwrap_err();
        assert!(refused.to_string().contains("no folder /no/such/folder"));
        for (code, said) in [(0, 74), (7, 7)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("r.json");
            let destination = open(&path, &mut signals).await.unwrap();
            folder.close().unwrap();
            assert_eq!(write(destination, own(code).with(""), code).await, said);
        }
        let null = open(Path::new("/dev/null"), &mut signals).await.unwrap();
        assert_eq!(write(null, own(0).with(""), 0).await, 0);
        assert!(read::<Report>(nowhere).is_none());
    }

    /// `2> errors` with `--report /dev/stderr`, by any descriptor.
    #[tokio::test]
    async fn a_report_stands_behind_what_a_descriptor_has_written() {
        use std::os::fd::AsRawFd as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("errors");
        let mut errors = File::create(&path).unwrap();
        errors.write_all(b"said before\n").unwrap();
        let link = folder.path().join("link");
        let named = format!("/proc/self/fd/{}", errors.as_raw_fd());
        std::os::unix::fs::symlink(&named, &link).unwrap();
        let mut signals = Signals::listen().unwrap();
        for named in [Path::new(&named), &link] {
            let destination = open(named, &mut signals).await.unwrap();
            assert_eq!(write(destination, own(0).with(""), 0).await, 0);
        }
        errors.write_all(b"said behind\n").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            (lines.len(), lines[0], lines[3]),
            (4, "said before", "said behind")
        );
        let report: Report = serde_json::from_str(lines[2]).unwrap();
        assert_eq!(report, own(0).with(""));
    }

    #[tokio::test]
    async fn a_pipe_has_one_writer_and_its_reader_one_report() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(read::<Report>(&path).is_none(), "a pipe is not read");
        let mut signals = Signals::listen().unwrap();
        let reader = tokio::process::Command::new("cat")
            .arg(&path)
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let destination = open(&path, &mut signals).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        assert_eq!(write(destination, own(0).with(""), 0).await, 0);
        let text = reader.wait_with_output().await.unwrap().stdout;
        let report: Report = serde_json::from_slice(&text).unwrap();
        assert_eq!(report, own(0).with(""));
    }

    /// `2>&1 | reader`, where the reader has made the pipe non-blocking and is slow.
    #[tokio::test]
    async fn a_descriptor_that_takes_a_little_at_a_time_gets_all_of_it() {
        use nix::fcntl::{FcntlArg, OFlag, fcntl};
        use std::os::fd::AsRawFd as _;
        let (reader, writer) = nix::unistd::pipe().unwrap();
        fcntl(&writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
        let mut writer = File::from(writer);
        // It is full, of what is no part of a report.
        while writer.write(&[b'\n'; 4096]).is_ok() {}
        let named = format!("/proc/self/fd/{}", writer.as_raw_fd());
        let mut signals = Signals::listen().unwrap();
        let destination = open(Path::new(&named), &mut signals).await.unwrap();
        drop(writer);
        let report = Report {
            sentence: "s".repeat(1 << 20),
            ..own(0).with("")
        };
        let reading = spawn_blocking(move || {
            let mut text = String::new();
            File::from(reader).read_to_string(&mut text).unwrap();
            text
        });
        assert_eq!(write(destination, report.clone(), 0).await, 0);
        let got: Report = serde_json::from_str(&reading.await.unwrap()).unwrap();
        assert!(got == report);
    }
}
