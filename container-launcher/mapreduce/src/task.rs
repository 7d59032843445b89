//! What a task process does.

pub(crate) mod map;
pub(crate) mod reduce;
pub(crate) mod role;
pub(crate) mod sample;
pub(crate) mod usage;
