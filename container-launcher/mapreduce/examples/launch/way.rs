//! How files reach a process: as they are, or through pipes.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};

use crate::Result;
use crate::task::PATIENCE;

/// How files reach a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The file itself is handed over.
    Files,
    /// A pipe is, which a thread of ours fills or empties.
    Pipes,
}

/// A file of the output that is on its way to its place.
pub struct Written(Option<Receiver<io::Result<u64>>>);

impl Way {
    /// What is handed over for reading `file` from some byte on.
    pub fn input(self, mut file: File, from: u64) -> Result<OwnedFd> {
        if self == Self::Files {
            return Ok(file.into());
        }
        let (read, mut write) = io::pipe()?;
        file.seek(SeekFrom::Start(from))?;
        // Whoever has read enough closes it.
        std::thread::spawn(move || io::copy(&mut file, &mut write));
        Ok(read.into())
    }

    /// What is handed over for writing `file`.
    pub fn output(self, mut file: File) -> Result<(OwnedFd, Written)> {
        if self == Self::Files {
            return Ok((file.into(), Written(None)));
        }
        let (mut read, write) = io::pipe()?;
        let (done, written) = sync_channel(1);
        std::thread::spawn(move || done.send(io::copy(&mut read, &mut file)));
        Ok((write.into(), Written(Some(written))))
    }
}

impl Written {
    /// Waits until all is in the file.
    pub fn wait(self) -> Result<()> {
        let Some(written) = self.0 else {
            return Ok(());
        };
        match written.recv_timeout(PATIENCE) {
            Ok(copied) => Ok(copied.map(drop)?),
            Err(RecvTimeoutError::Timeout) => Err("an output was not closed by its task".into()),
            Err(RecvTimeoutError::Disconnected) => Err("an output was given up".into()),
        }
    }
}
