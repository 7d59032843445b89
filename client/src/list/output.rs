//! The output of many jobs in ours: whole lines, each behind the number of its job.

use std::io::{self, Write};
use std::thread::JoinHandle;

use job::exit::Exit;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::sync::mpsc;

use terminal::write_whole;

use crate::system::{SystemError, system};

/// A longer line is cut, so that no job can fill our memory.
const LINE_MAX: u64 = 64 * 1024;
/// Lines between the jobs and the thread that writes.
const QUEUE: usize = 64;

/// Where a line goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum To {
    Stdout,
    Stderr,
}

/// One line with its mark and its end.
#[derive(Debug)]
pub(super) struct MarkedLine {
    pub to: To,
    pub bytes: Vec<u8>,
}

/// Starts the thread that writes; it ends when nobody has a line any more, or when what we write to
/// takes no more.
pub(super) fn start() -> Result<(mpsc::Sender<MarkedLine>, JoinHandle<io::Result<()>>), SystemError>
{
    let (sender, receiver) = mpsc::channel(QUEUE);
    let writer = std::thread::Builder::new().name("output".into());
    let writer = writer.spawn(move || write(receiver));
    let writer = writer.map_err(system("start a thread", Exit::Lost))?;
    Ok((sender, writer))
}

fn write(mut lines: mpsc::Receiver<MarkedLine>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let mut stderr = io::stderr();
    while let Some(line) = lines.blocking_recv() {
        match line.to {
            To::Stdout => {
                write_whole(&mut stdout, &line.bytes)?;
                stdout.flush()?;
            }
            To::Stderr => write_whole(&mut stderr, &line.bytes)?,
        }
    }
    Ok(())
}

/// Copies what comes `from` one job, until its end. When nobody takes the lines any more the pipe is
/// closed, and the job ends as a program does whose output nobody reads.
pub(super) async fn copy(
    from: Option<impl AsyncRead + Unpin>,
    number: usize,
    to: To,
    lines: &mpsc::Sender<MarkedLine>,
) {
    let Some(from) = from else { return };
    let mut from = BufReader::new(from);
    let mark = format!("[job {number}] ");
    loop {
        let mut bytes = mark.clone().into_bytes();
        let mut part = (&mut from).take(LINE_MAX);
        match part.read_until(b'\n', &mut bytes).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        if lines.send(MarkedLine { to, bytes }).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_without_end_is_cut() {
        let (sender, mut receiver) = mpsc::channel(8);
        let long = vec![b'x'; 100_000];
        copy(Some(&long[..]), 12, To::Stdout, &sender).await;
        drop(sender);
        let first = receiver.recv().await.unwrap().bytes;
        let second = receiver.recv().await.unwrap().bytes;
        assert_eq!(first.len(), 9 + 65_536 + 1);
        assert_eq!(second.len(), 9 + 100_000 - 65_536 + 1);
        assert!(second.starts_with(b"[job 12] x"));
        assert!(receiver.recv().await.is_none());
    }
}
