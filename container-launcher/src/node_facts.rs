//! What the AM is told about the node.

use job::element::Scan;
use job::wire::NodeFacts;
use nix::unistd::gethostname;

use crate::cores::Cores;
use crate::elements;
use crate::surroundings::Surroundings;

/// Looks at the node this process runs on; for its elements where a scan is wanted.
pub(crate) fn read(scan: Option<&Scan>, around: &Surroundings) -> NodeFacts {
    let (elements, scanning) = match scan {
        Some(scan) => elements::at_once(scan, around),
        None => Default::default(),
    };
    NodeFacts {
        elements: elements.into_iter().map(Into::into).collect(),
        scanning,
        glibc: glibc(),
        cores: Cores::usable().whole(),
        hostname: hostname(),
        free_port: free_port().unwrap_or(0),
    }
}

/// A port on which nothing listens at this moment: programs that are told of it come soon after.
fn free_port() -> Option<u32> {
    let probe = std::net::TcpListener::bind(("0.0.0.0", 0)).ok()?;
    Some(probe.local_addr().ok()?.port().into())
}

/// The node's name, for messages too.
pub(crate) fn hostname() -> String {
    gethostname().map_or_else(
        |_| "unknown host".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Version of the C library, "2.36"; empty where it is not glibc.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "only the C library knows its version")]
pub(crate) fn glibc() -> String {
    // SAFETY: the function takes nothing and returns a NUL-terminated string that is never freed.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    version.to_string_lossy().into_owned()
}

/// There is no glibc.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn glibc() -> String {
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_tells_something() {
        let facts = read(None, &Surroundings::of_this_process().unwrap());
        assert!(facts.cores > 0);
        assert!(!facts.hostname.is_empty());
        assert!(facts.free_port > 0);
        if cfg!(target_env = "gnu") {
            assert!(facts.glibc.starts_with("2."), "{}", facts.glibc);
        }
    }
}
