//! What a task process does.

#[cfg(test)]
mod life;
pub(crate) mod map;
pub(crate) mod phases;
pub(crate) mod reduce;
pub(crate) mod role;
pub(crate) mod sample;
pub(crate) mod usage;
