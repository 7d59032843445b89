//! Where `--explain` writes.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use job::explain::Explained;
use nix::errno::Errno;
use nix::fcntl::OFlag;

use crate::descriptor;
use crate::error::FollowError;
use terminal::signals::Signals;
use terminal::{say, write_stderr};

/// Between two looks whether a pipe is read by now.
const UNREAD: Duration = Duration::from_millis(50);

/// Standard error or a file, in words or as JSON lines.
#[derive(Debug)]
pub struct Sink {
    json: bool,
    /// Absent: standard error.
    file: Option<(PathBuf, File)>,
}

impl Sink {
    /// Creates `file`, or empties it; one that is named as a descriptor is added to. Waits, as a shell does, until somebody reads a pipe, or a signal
    /// ends it (`Break`).
    pub async fn open(
        json: bool,
        file: Option<&Path>,
        signals: &mut Signals,
    ) -> Result<ControlFlow<u8, Self>, FollowError> {
        let Some(path) = file else {
            return Ok(ControlFlow::Continue(Self { json, file: None }));
        };
        loop {
            match create(path) {
                Ok(file) => {
                    let file = Some((path.to_owned(), file));
                    return Ok(ControlFlow::Continue(Self { json, file }));
                }
                Err(error) if unread(path, &error) => {}
                Err(error) => {
                    return Err(FollowError::NotWritable {
                        option: "--explain=",
                        path: path.to_owned(),
                        source: error,
                    });
                }
            }
            tokio::select! {
                () = tokio::time::sleep(UNREAD) => {}
                signal = signals.ending() => return Ok(ControlFlow::Break(signal)),
            }
        }
    }

    /// Writes one event, as the ApplicationMaster sent it.
    pub fn write(&mut self, event: &str) {
        let lines = match self.json {
            true => vec![event.to_owned()],
            false => match serde_json::from_str::<Explained>(event) {
                Ok(event) => super::words(&event),
                // Better unreadable than unseen.
                Err(_unknown) => vec![event.to_owned()],
            },
        };
        let Some((path, file)) = &mut self.file else {
            match self.json {
                true => raw(&lines),
                false => lines.iter().for_each(say),
            }
            return;
        };
        let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        if let Err(error) = file.write_all(text.as_bytes()) {
            let why = match error.kind() {
                ErrorKind::WouldBlock => "its reader does not keep up".to_owned(),
                _ => error.to_string(),
            };
            say(format!(
                "--explain={}: {why}; what follows is explained here",
                path.display()
            ));
            *self = Self {
                json: self.json,
                file: None,
            };
        }
    }
}

/// Never waits: a pipe that nobody reads is `ENXIO` here, and a full one `EAGAIN` when it is written.
fn create(path: &Path) -> io::Result<File> {
    // A pipe and a terminal are opened once more: the descriptor itself may wait.
    if let Some(file) = descriptor::named(path)?
        && let kind = file.metadata()?.file_type()
        && (kind.is_file() || kind.is_socket())
    {
        return Ok(file);
    }
    File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)
}

fn unread(path: &Path, error: &io::Error) -> bool {
    let is_pipe = || {
        path.metadata()
            .is_ok_and(|there| there.file_type().is_fifo())
    };
    error.raw_os_error() == Some(Errno::ENXIO as i32) && is_pipe()
}

/// Lines without our mark, for a program that reads them.
fn raw(lines: &[String]) {
    let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    write_stderr(text);
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_pipe_is_waited_for_and_never_blocks() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        let mut signals = Signals::listen().unwrap();
        let unread = Sink::open(true, Some(&pipe), &mut signals);
        assert!(timeout(UNREAD * 3, unread).await.is_err());

        let reader = File::options().read(true).write(true).open(&pipe).unwrap();
        let opened = Sink::open(true, Some(&pipe), &mut signals).await.unwrap();
        let ControlFlow::Continue(mut sink) = opened else {
            panic!("no signal was sent");
        };
        // More than a pipe holds, and nobody takes it out.
        for _ in 0..1000 {
            sink.write(&"e".repeat(1000));
        }
        assert!(sink.file.is_none());
        drop(reader);
    }

    #[tokio::test]
    async fn what_a_descriptor_leads_to_is_added_to() {
        use std::os::fd::AsRawFd as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut out = File::create(&path).unwrap();
        out.write_all(b"before\n").unwrap();
        let mut signals = Signals::listen().unwrap();
        let named = format!("/dev/fd/{}", out.as_raw_fd());
        let opened = Sink::open(true, Some(named.as_ref()), &mut signals).await;
        let ControlFlow::Continue(mut sink) = opened.unwrap() else {
            panic!("no signal was sent");
        };
        sink.write("event");
        out.write_all(b"behind\n").unwrap();
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "before\nevent\nbehind\n"
        );
    }

    #[tokio::test]
    async fn a_folder_that_is_not_there_is_said() {
        let mut signals = Signals::listen().unwrap();
        let path = Path::new("/nowhere/explained");
        let failure = Sink::open(true, Some(path), &mut signals)
            .await
            .unwrap_err();
        let sentence = "--explain=/nowhere/explained: cannot write there: ";
        assert!(failure.to_string().starts_with(sentence), "{failure}");
    }
}
