//! Types of serde's as rows: what their fields are, and what is in them.

pub(crate) mod shape;
pub(crate) mod tree;
