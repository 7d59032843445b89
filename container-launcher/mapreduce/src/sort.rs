//! Collect, sort, spill, merge: the way of records from mappers to reducers.
//!
//! A record is two byte strings. [`Collector`] keeps them in one [`arena`](collect), an entry of sixteen
//! bytes `{prefix, offset, length}` beside each, all [`entries`] in one list. When the arena is full, they are
//! dealt to their partitions, each partition is sorted ([`radix`]) and written as a row of [`block`]s: a spill. At the end the spills
//! are [`merge`]d, or the only one is what it is. Equal keys stay in the order (map, sequence), and where an
//! arena is full depends on bytes and settings alone: the same input gives the same bytes, whatever
//! machine and neighbours a task has.

pub(crate) mod block;
pub(crate) mod codec;
pub(crate) mod collect;
pub(crate) mod combine;
pub(crate) mod digest;
pub(crate) mod entries;
pub(crate) mod merge;
pub(crate) mod pages;
pub(crate) mod radix;
pub(crate) mod scratch;
pub(crate) mod table;

pub(crate) use collect::Collector;
