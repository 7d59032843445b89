//! Leases that a process was started with.

use super::{Accelerator, AcceleratorError};
use crate::function::Function;
use rustix::net::SocketType;
use rustix::net::sockopt::socket_type;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// Names the leases that a process inherits, each by its function and the number of its socket:
/// `kmeans-map@3,kmeans-map@4`.
pub const ACCELERATORS_VARIABLE: &str = "GERBIL_ACCELERATORS";

/// Who has them: a socket has one owner.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The leases that this process was started with. Their first call has them; a later one has none.
///
/// # Errors
///
/// What names them makes no sense, or a socket is not there.
pub fn inherited() -> Result<Vec<(Function, Accelerator)>, AcceleratorError> {
    let Ok(named) = std::env::var(ACCELERATORS_VARIABLE) else {
        return Ok(Vec::new());
    };
    let named = read(&named)?;
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Ok(Vec::new());
    }
    named.into_iter().map(taken).collect()
}

/// `kmeans-map@3,kmeans-map@4`.
fn read(named: &str) -> Result<Vec<(Function, RawFd)>, AcceleratorError> {
    let each = named.split(',').filter(|each| !each.is_empty());
    let each = each.map(|each| {
        let (function, number) = each.split_once('@')?;
        let number = number.parse::<RawFd>().ok().filter(|number| *number > 2)?;
        Some((function.parse().ok()?, number))
    });
    let all: Option<Vec<_>> = each.collect();
    all.ok_or_else(|| {
        AcceleratorError::Protocol(format!(
            "{ACCELERATORS_VARIABLE} is {named:?}, not FUNCTION@NUMBER,..."
        ))
    })
}

#[expect(
    unsafe_code,
    reason = "a descriptor that was inherited is known by its number alone"
)]
fn taken(
    (function, number): (Function, RawFd),
) -> Result<(Function, Accelerator), AcceleratorError> {
    // SAFETY: it is borrowed for one call of the kernel, which says so if it is not open.
    let socket = unsafe { BorrowedFd::borrow_raw(number) };
    if socket_type(socket) != Ok(SocketType::SEQPACKET) {
        return Err(AcceleratorError::Protocol(format!(
            "descriptor {number}, which {ACCELERATORS_VARIABLE} names, is no socket of fpgad"
        )));
    }
    // SAFETY: it is open, the launcher that started this process has given it, and this is done once.
    let socket = unsafe { OwnedFd::from_raw_fd(number) };
    Ok((function, Accelerator::inherit(socket)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_are_named_by_function_and_number() {
        let two = read("kmeans-map@3,bayes-map@7").unwrap();
        assert_eq!(two, [(Function::KmeansMap, 3), (Function::BayesMap, 7)]);
        assert!(read("").unwrap().is_empty());
        for bad in [
            "kmeans-map",
            "kmeans-map@",
            "kmeans-map@2",
            "coffee@3",
            "kmeans-map@-1",
        ] {
            let said = read(bad).unwrap_err().to_string();
            assert!(said.contains(bad), "{said}");
        }
        assert!(taken((Function::Echo, 100_000)).is_err());
    }
}
