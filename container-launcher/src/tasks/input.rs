//! A piece of a map's split, opened for its process.
//!
//! On a mounted folder it is the file itself. Else what storage reads goes into a pipe, from the byte that was
//! asked for on, until the file ends or the process reads no more.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;

use gerbil_task::{Piece, changed, vanished};
use storage::{Known, Reader, StorageError};
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

use super::carrier::Carrier;
use super::outage::outlast;
use super::pipes;
use super::places::TaskPath;
use super::trouble::Trouble;
use crate::regular;

/// What the process is handed.
#[derive(Debug)]
pub(super) enum Input {
    File(OwnedFd),
    Pipe(OwnedFd),
}

/// Opens a piece for reading from the byte `from` of its file on. None: nobody waits any more.
///
/// # Errors
///
/// It cannot be read, or is not what it was when the splits were made: a sentence.
pub(super) fn open(
    place: &TaskPath,
    (piece, from): (&Piece, u64),
    carrier: &mut Carrier,
    gone: &CancellationToken,
    trouble: &Trouble,
) -> Option<Result<Input, String>> {
    match place.is_mounted {
        true => Some(file(place, piece).map(Input::File)),
        false => {
            let TaskPath { storage, path, .. } = place.clone();
            let known = Known {
                size: piece.size,
                modified_ms: place.modified_ms,
                blocks: place.blocks.clone(),
            };
            let part = (from, likely_end(piece, from));
            let reader = carrier.wait(Some(gone), async move {
                let opened = storage.read_known(&path, part, known).await;
                outlast(opened.as_ref().err()).await;
                opened
            })?;
            let opened = reader.map_err(sentence);
            let opened =
                opened.and_then(|reader| same(place, piece, reader.size()).map(|()| reader));
            let opened = opened.and_then(|reader| {
                pipe(reader, carrier, trouble)
                    .map_err(|error| format!("a pipe for {}: {error}", piece.name))
            });
            Some(opened.map(Input::Pipe))
        }
    }
}

fn file(place: &TaskPath, piece: &Piece) -> Result<OwnedFd, String> {
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => vanished(&piece.name),
        _ => format!("{}: {error}", piece.name),
    };
    let file = regular::open_linked(place.path.as_ref()).map_err(failed)?;
    same(place, piece, file.metadata().map_err(failed)?.len())?;
    Ok(file.into())
}

fn same(place: &TaskPath, piece: &Piece, size: u64) -> Result<(), String> {
    match size == piece.size {
        true => Ok(()),
        false => Err(changed(&place.storage.url(&place.path), piece.size, size)),
    }
}

/// Who begins to read so far before a piece, bytes, does not read up to it, but a header.
const AHEAD: u64 = 1 << 20;

/// Where reading from `from` on probably stops: behind the piece, or soon behind a header.
fn likely_end(piece: &Piece, from: u64) -> u64 {
    match from.saturating_add(AHEAD) < piece.offset {
        true => from,
        false => piece.offset.saturating_add(piece.length),
    }
}

fn pipe(reader: Reader, carrier: &mut Carrier, trouble: &Trouble) -> std::io::Result<OwnedFd> {
    let (from, to) = std::io::pipe()?;
    pipes::enlarge(&to);
    let to = {
        let _registered = carrier.runtime().enter();
        pipe::Sender::from_owned_fd(to.into())?
    };
    let trouble = trouble.clone();
    drop(carrier.begin(feed(reader, to, trouble)));
    Ok(from.into())
}

/// Brings a file until its end, or until nobody reads any more: the process has read enough, or is gone.
async fn feed(reader: Reader, mut to: pipe::Sender, trouble: Trouble) {
    let poured = reader.pour(&mut to).await;
    // The process is told of an end that is none only when it is known why: else its own words are the reason.
    if let Err(error) = poured {
        trouble.keep(sentence(error));
    }
    drop(to);
}

fn sentence(error: StorageError) -> String {
    match error {
        StorageError::Absent { url } => vanished(&url),
        StorageError::Changed { url, planned, now } => changed(&url, planned, now),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_is_expected_to_stop_behind_its_piece_or_behind_a_header() {
        let piece = Piece {
            name: "in".to_owned(),
            offset: 2 * AHEAD,
            length: 50,
            size: 3 * AHEAD,
        };
        let end = piece.offset + 50;
        for from in [piece.offset, piece.offset - 1, piece.offset + 49] {
            assert_eq!(likely_end(&piece, from), end);
        }
        assert_eq!(likely_end(&piece, 7), 7);
    }
}
