//! Types of serde's as rows: what their fields are, and what is in them.

pub(crate) mod misfit;
pub(crate) mod shape;
pub(crate) mod times;
pub(crate) mod tree;
#[cfg(feature = "parquet")]
pub(crate) mod wanted;
