//! Ports, in sentences.

/// Why an ApplicationMaster does not start that is to listen on one of `first` to `last`, all of which others have.
#[must_use]
pub fn no_free_port(first: u16, last: u16) -> String {
    format!("no port of {first}-{last} is free for the ApplicationMaster; widen --am-ports")
}
