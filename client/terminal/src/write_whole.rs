//! Writes to a terminal or pipe that somebody else may have changed.

use std::io::{ErrorKind, Write};
use std::thread;
use std::time::Duration;

/// As `write_all`, also where whoever shares our terminal or pipe has made it non-blocking.
pub fn write_whole(to: &mut impl Write, mut data: &[u8]) -> std::io::Result<()> {
    /// A pause of this thread alone, until the other side may have read.
    const FULL: Duration = Duration::from_millis(10);
    while !data.is_empty() {
        match to.write(data) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(length) => data = &data[length..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::park_timeout(FULL),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
