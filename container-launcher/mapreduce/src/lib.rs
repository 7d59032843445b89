#![doc = include_str!("../README.md")]
//!
//! # The life of a job
//!
//! `main` registers jobs ([`Job`], [`App`]) → without a role of its own the process is the client
//! (`arguments`): it starts the executable again as the driver (`drive`), which asks for the files of a job, cuts
//! them into splits (`input::splits`) and submits it over a Unix socket ([`gerbil_task`]); for each the client
//! plays the launcher (`local`): the executable is started once a slot, as a task process (`task::role`), and
//! spoken with likewise → each map
//! reads its split (`input`), hands records to the [`Mapper`], collects, sorts and spills what it emits
//! (`sort`) → its output, a file without a name, goes to the launcher as a
//! descriptor → each reduce merges its parts of all outputs, hands groups to the [`Reducer`], and writes its
//! file (`output`) into its attempt's folder → what has ended well is renamed into place, `_SUCCESS` last.
//!
//! Invariants:
//! - The same input and settings give the same bytes, whatever machine, number of slots and order of ends.
//! - A key may have more values than any memory; no input of a reduce needs to fit.
//! - Nothing is left behind: spills have no names, an attempt's folder goes with the attempt.
//! - Whatever a map output, a message or an input holds is an error at worst; nothing is allocated beyond
//!   what its bound says.

#[cfg(feature = "fpga")]
mod accelerated;
#[cfg(test)]
mod allocated;
mod app;
mod arguments;
mod closure;
mod codecs;
mod combiner;
mod context;
mod counting;
mod datum;
mod device;
mod drive;
mod emit;
mod error;
#[cfg(test)]
mod fuzz;
#[cfg(any(feature = "avro", feature = "parquet"))]
mod guarded;
mod handle;
mod hot_keys;
mod input;
mod job;
mod join;
mod library;
mod local;
mod map;
#[doc(hidden)]
pub mod measure;
mod needs;
mod options;
mod order;
mod output;
mod partition;
mod reduce;
mod sentence;
mod settings;
mod sort;
mod task;
mod test;
#[cfg(any(feature = "avro", feature = "parquet"))]
mod typed;
mod width;

#[cfg(feature = "fpga")]
pub use accelerated::{
    Accelerated, AcceleratedMapper, AcceleratedReducer, AcceleratedReduction, Ordered, Receiving,
    Sending, Table, Traffic,
};
pub use app::App;
pub use closure::{ClosureReducer, LineMapper};
pub use context::Context;
#[doc(hidden)]
pub use datum::derived;
pub use datum::{
    Bytes, Descending, EncodeAs, Json, Key, Left, List, Reverse, Right, Side, Text, Upright, VInt,
    VLong, Value,
};
#[cfg(any(feature = "cuda", feature = "opencl"))]
pub use device::TurnDevice;
pub use device::{Devices, Turn};
pub use drive::run::Run;
pub use drive::submit::{Finished, Submit, Submitted};
pub use emit::{Emit, Output};
pub use error::{Context as ErrorContext, Error, Result};
#[cfg(feature = "fpga")]
pub use fpga_client as fpga;
#[cfg(any(feature = "cuda", feature = "opencl"))]
pub use gerbil_gpu as gpu;
#[cfg(feature = "derive")]
pub use gerbil_mapreduce_derive::{Key, Options, Value, cluster_resource};
pub use gerbil_task::Piece;
pub use handle::Handle;
#[cfg(feature = "avro")]
pub use input::{Avro, AvroReader};
pub use input::{
    FixedLength, Granule, InputFormat, KeyValueText, LineBlocks, MarkedRecords, NLines, Numbers,
    Places, SequenceFile, SequenceFileAsText, SequenceFileRaw, Source, Stretch, TextLines,
    WholeFile, Wire,
};
#[cfg(feature = "parquet")]
pub use input::{Parquet, ParquetReader};
pub use job::{Job, Mapped, Ready};
pub use join::{FullJoin, InnerJoin, LeftJoin, RightJoin};
pub use library::{Count, Distinct, Identity, Sum, Top};
pub use map::Mapper;
#[doc(hidden)]
pub use options::OptionKey;
pub use options::Options;
pub use order::Order;
#[cfg(feature = "avro")]
pub use output::AvroOutput;
#[cfg(feature = "parquet")]
pub use output::ParquetOutput;
pub use output::{FixedOutput, OutputFormat, RecordWriter, SequenceFileOutput, TextOutput};
pub use partition::{Partitioner, RecordPartitioner};
pub use reduce::{Combiner, Reducer, Values};
pub use settings::Settings;
pub use test::{Test, Tested};

/// Everything that a job needs, and `ExitCode` for its `main`.
pub mod prelude {
    pub use std::process::ExitCode;

    pub use crate::{
        App, Bytes, Combiner, Context, Count, Descending, Devices, Distinct, Emit, Error,
        FixedLength, FixedOutput, FullJoin, Identity, InnerJoin, Job, Json, Key, KeyValueText,
        Left, LeftJoin, List, Mapper, NLines, Numbers, Options, Order, Output, Partitioner,
        RecordPartitioner, Reducer, Result, Reverse, Right, RightJoin, Run, SequenceFile,
        SequenceFileOutput, Side, Sum, Text, TextLines, TextOutput, Top, VInt, VLong, Value,
        Values, WholeFile,
    };
    #[cfg(feature = "avro")]
    pub use crate::{Avro, AvroOutput};
    #[cfg(feature = "parquet")]
    pub use crate::{Parquet, ParquetOutput};
}

/// Writes a line to standard error; nobody there to read it is no reason to fail.
pub(crate) fn say(line: &str) {
    use std::io::Write as _;
    drop(writeln!(std::io::stderr().lock(), "{line}"));
}
