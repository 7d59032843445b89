//! What the node has beside cores and memory, as the ApplicationMaster is told of it.
//!
//! ```text
//! device files, lists below /sys ([`files`], [`cores`]) ──▶ at once, with the hello
//! the accelerators' driver ([`crate::functions`]) ──▶ at once, and whenever that changes
//! the cores that the launcher may use ([`core_watch`]) ──▶ at once, and whenever that changes
//!   └─ a device file or a library of devices is there ─▶ --as=probe ROOT, beside the launcher
//!         └─ --as=probe ROOT cuda LIBRARY, --as=probe ROOT opencl LIBRARY ([`api`]), each a child of its own
//!               └─ what they answered, and what crashed or hung ([`merge`]) ──▶ later, as an event ([`watch`])
//! ```
//!
//! A node without such files and libraries costs some reads of small files, and no process. Libraries of devices
//! are loaded in children alone: what crashes there, or does not come back within [`DEADLINE`], is a device that
//! is broken, and nothing else.

mod api;
mod core_watch;
mod cores;
mod cuda;
mod files;
mod merge;
mod opencl;
mod probe;
mod read_broker;
mod watch;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use job::element::{Element, Scan};

use crate::cores::mask;
use crate::functions;
use crate::surroundings::Surroundings;

pub use probe::probe_main;
pub(crate) use watch::Watch;

/// For all that a library of devices is asked, from its start.
const DEADLINE: Duration = Duration::from_secs(2);

/// What files below `root` tell, and whether libraries are to be asked before that is all.
pub(crate) fn at_once(scan: &Scan, around: &Surroundings) -> (Vec<Element>, bool) {
    let (mut elements, asks) = devices_at_once(Path::new(&scan.root), around);
    elements.splice(0..0, core_classes(scan, &mask()));
    functions::add(&mut elements, &functions::at_once(Path::new(&scan.root)));
    (elements, asks)
}

/// The classes of the cores that this launcher may use.
fn core_classes(scan: &Scan, mask: &BTreeSet<u32>) -> Vec<Element> {
    let classes = cores::classes(Path::new(&scan.root), Some(scan), mask);
    cores::bindable(classes, cores::may_bind())
}

/// Devices alone.
fn devices_at_once(root: &Path, around: &Surroundings) -> (Vec<Element>, bool) {
    let seen = files::SeenFiles::below(root, around);
    let asks = seen.asks();
    let mut elements = Vec::new();
    elements.extend(seen.fpgas());
    if !asks {
        elements.extend(merge::gpus(&seen.gpus, None, None));
    }
    (elements, asks)
}
