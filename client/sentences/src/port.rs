//! Ports, in sentences.

/// Why an ApplicationMaster does not start that is to listen on one of `first` to `last`, all of which others have.
#[must_use]
pub fn no_free_port(first: u16, last: u16) -> String {
    format!("no port of {first}-{last} is free for the ApplicationMaster; widen --am-ports")
}

/// That the launcher on `host` has tried another one at `address`, HOST:PORT, in vain.
#[must_use]
pub fn unreached(host: &str, address: &str, why: &str) -> String {
    format!(
        "{host} cannot reach {address} ({why}): reduces that need what maps leave there start again elsewhere; are the \
         ports between the nodes open (--launcher-ports holds them in a range)?"
    )
}
