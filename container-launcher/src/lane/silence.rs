//! Notices a connection whose other end is not there any more, however long that one may be slow.
//!
//! A client whose reader stands still takes nothing for hours, and is there: its kernel answers ours.
//! Keepalive asks only where nothing is on its way, and the time after which a kernel gives up by itself is
//! a quarter of an hour where something is, or, where it was told to be shorter, does not tell the slow
//! from the gone (`TCP_USER_TIMEOUT` ends connections whose peer answers that it has no room). So the
//! kernel is asked what it has heard.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::pin::pin;
use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior, interval};

/// What was sent, or asked, and then sent again, is not answered for so long: the other end is gone. As long
/// as a connection that is idle is given by keepalive.
const SILENCE_MAX: Duration = Duration::from_secs(25);
/// Between two looks.
const LOOK: Duration = Duration::from_secs(5);
/// Times that something was sent again. Once may be on its way at this moment.
const TRIES: u8 = 2;

/// The same connection, to be looked at while it is written to.
#[derive(Debug)]
pub(super) struct Silence {
    connection: OwnedFd,
    /// One for all that is done: nothing has to be set up for each piece.
    looks: Interval,
}

impl Silence {
    pub(super) fn of(connection: impl AsFd) -> io::Result<Self> {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            connection: connection.as_fd().try_clone_to_owned()?,
            looks,
        })
    }

    /// Nobody is to hear any more what was said.
    pub(super) fn abandon(&self) {
        // One that is gone has forgotten it.
        job::lane::abandon(&self.connection).ok();
    }

    /// Does what is to be done on the connection.
    ///
    /// # Errors
    ///
    /// Its own, and that the other end is gone.
    pub(super) async fn bounds<T>(
        &mut self,
        doing: impl Future<Output = io::Result<T>>,
    ) -> io::Result<T> {
        let mut doing = pin!(doing);
        loop {
            tokio::select! {
                biased;
                done = &mut doing => return done,
                _ = self.looks.tick() => {
                    let heard = look(&self.connection)?;
                    if heard.is_gone() {
                        let seconds = heard.silent.as_secs();
                        let words = format!("nothing was heard of the other end for {seconds} s");
                        return Err(io::Error::new(io::ErrorKind::TimedOut, words));
                    }
                }
            }
        }
    }
}

/// What the kernel knows.
#[derive(Clone, Copy, Debug)]
struct TcpInfo {
    /// Since the last answer.
    silent: Duration,
    /// How often the first piece that has no answer was sent again.
    again: u8,
    /// How often a peer without room was asked for some, without an answer.
    asked: u8,
}

impl TcpInfo {
    fn is_gone(self) -> bool {
        self.silent >= SILENCE_MAX && self.again.max(self.asked) >= TRIES
    }
}

#[expect(unsafe_code, reason = "this option has no safe wrapper")]
fn look(connection: &OwnedFd) -> io::Result<TcpInfo> {
    // SAFETY: all zeros is a value of this struct of numbers.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = libc::socklen_t::try_from(size_of_val(&info)).unwrap_or(0);
    // SAFETY: the kernel writes at most `length` bytes into `info`, which is as long; a kernel that knows
    // fewer fields leaves the others 0.
    let answer = unsafe {
        libc::getsockopt(
            connection.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    match answer {
        0 => Ok(TcpInfo {
            silent: Duration::from_millis(info.tcpi_last_ack_recv.into()),
            again: info.tcpi_retransmits,
            asked: info.tcpi_probes,
        }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn who_is_slow_is_not_gone() {
        let heard = |silent, again, asked| TcpInfo {
            silent: Duration::from_secs(silent),
            again,
            asked,
        };
        // A peer without room is asked every two minutes in the end.
        assert!(!heard(120, 0, 0).is_gone());
        assert!(!heard(120, 0, 1).is_gone());
        assert!(!heard(24, 5, 0).is_gone());
        assert!(heard(25, 5, 0).is_gone());
        assert!(heard(250, 0, 2).is_gone());
    }

    #[tokio::test]
    async fn the_kernel_tells_how_long_ago_the_other_end_answered() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut connection = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        connection.set_nonblocking(true).unwrap();
        // Nobody reads it.
        while connection.write(&[0; 65_536]).is_ok() {}
        let silence = Silence::of(&connection).unwrap();
        let heard = look(&silence.connection).unwrap();
        assert!(heard.silent < SILENCE_MAX && heard.again == 0, "{heard:?}");
    }
}
