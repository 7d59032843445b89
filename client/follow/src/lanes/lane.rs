//! One lane, from its connection to its end.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use bytes::Bytes;
use job::lane::{self, Pieces, TAKEN, WELCOME};
use rustls::ServerConfig;

use super::tls::Tls;
use super::{Entered, Take};

/// For a stranger to show a certificate and say its number.
const OPEN_DEADLINE: Duration = Duration::from_secs(5);

/// Between two looks whether a launcher is still there whose lane nobody has announced.
const LOOK: Duration = Duration::from_millis(500);

/// Serves whoever came, which is a launcher if it shows the certificate `launcher`.
pub(super) fn serve(
    stream: TcpStream,
    tls: Arc<ServerConfig>,
    launcher: &[u8],
    mut entered: Entered,
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    lane::set_up(&stream)?;
    let mut tls = Tls::accept(stream, tls, launcher, OPEN_DEADLINE)?;
    let mut pieces = Pieces::default();
    let mut number = None;
    while number.is_none() {
        each(&mut tls, &mut pieces, |piece| {
            let said = <[u8; 8]>::try_from(&piece[..]).map_err(|_long| senseless("no number"))?;
            match number.replace(u64::from_le_bytes(said)) {
                None => Ok(()),
                Some(_) => Err(senseless("more than its number before it is welcome")),
            }
        })?;
    }
    let (announce, announced) = sync_channel(1);
    entered.wait_as(number.unwrap_or_default(), announce);
    tls.send(&[WELCOME])?;
    tls.wait_for_ever()?;
    let mut take = loop {
        match announced.recv_timeout(LOOK) {
            Ok(take) => break take,
            // Its rank may have ended while it opened the lane: nobody announces that one.
            Err(RecvTimeoutError::Timeout) if tls.is_there()? => {}
            // Nor one of a job that is over.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(()),
        }
    };
    while !carry(&mut tls, &mut pieces, &mut take)? {}
    tls.send(&[TAKEN])
}

/// What the next reading brings. Whether it was the last.
fn carry(tls: &mut Tls, pieces: &mut Pieces, take: &mut Take) -> io::Result<bool> {
    let mut is_over = false;
    each(tls, pieces, |piece| {
        is_over = piece.is_empty();
        match is_over || take(piece) {
            true => Ok(()),
            false => Err(ErrorKind::BrokenPipe.into()),
        }
    })?;
    Ok(is_over)
}

fn each(
    tls: &mut Tls,
    pieces: &mut Pieces,
    mut hear: impl FnMut(Bytes) -> io::Result<()>,
) -> io::Result<()> {
    tls.read(|mut data| {
        while let Some(piece) = pieces.next(&mut data).map_err(io::Error::other)? {
            hear(piece)?;
        }
        Ok(())
    })
}

fn senseless(what: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}
