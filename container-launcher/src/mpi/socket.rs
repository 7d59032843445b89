//! The sockets over which ranks speak PMI.
//!
//! Two tasks a rank: one cuts what it sends into lines, one writes the answers. A rank that never
//! reads its answers fills its own queue, which [`QUEUE`] bounds, and holds up nobody.

use pmi::Lines;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

/// Answers that wait for one rank. PMI asks one thing at a time, so a rank that lets so many pile
/// up does not speak it.
pub(crate) const QUEUE: usize = 64;
/// One read, bytes: a `put` at its longest fits.
const READ: usize = 2048;

/// What a rank said.
#[derive(Debug)]
pub(crate) enum RankMessage {
    /// One line, without its newline.
    Line(Vec<u8>),
    /// More bytes than a line may have.
    TooLong,
    /// Nothing will follow: the rank is gone, or has closed the socket.
    Closed,
}

/// Passes on the lines of one rank, until it closes.
pub(crate) async fn listen(
    rank: u32,
    mut socket: OwnedReadHalf,
    heard: mpsc::Sender<(u32, RankMessage)>,
) {
    let mut lines = Lines::default();
    let mut buffer = [0; READ];
    // A queue without a reader means that the launcher leaves.
    while let Ok(read @ 1..) = socket.read(&mut buffer).await {
        match lines.push(buffer.get(..read).unwrap_or_default()) {
            Ok(lines) => {
                for line in lines {
                    if heard.send((rank, RankMessage::Line(line))).await.is_err() {
                        return;
                    }
                }
            }
            Err(_) => {
                drop(heard.send((rank, RankMessage::TooLong)).await);
                break;
            }
        }
    }
    drop(heard.send((rank, RankMessage::Closed)).await);
}

/// Writes the answers to one rank, until it is gone or no more come.
pub(crate) async fn answer(mut socket: OwnedWriteHalf, mut replies: mpsc::Receiver<String>) {
    while let Some(reply) = replies.recv().await {
        if socket.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}
