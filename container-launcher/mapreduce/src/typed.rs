//! Types of serde's as rows: what their fields are, and what is in them.

pub(crate) mod misfit;
#[cfg(feature = "parquet")]
pub(crate) mod shape;
pub(crate) mod times;
#[cfg(feature = "parquet")]
pub(crate) mod tree;
#[cfg(feature = "parquet")]
pub(crate) mod wanted;
