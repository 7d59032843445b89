//! The messages of the protocol, version 2.

use std::collections::BTreeMap;

use crate::counters::Counters;
use crate::json::{record, tagged};

tagged! {
    /// What a task process says.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub enum FromTask {
        /// The first message.
        "hello" Hello {
            /// The version of the protocol that the process speaks.
            version: u32,
            /// Digest of its plan, in hexadecimal digits.
            plan: String,
        },
        /// What the executable has to offer; in the planning role only.
        "plan" Plan {
            /// The jobs.
            plan: Plan,
        },
        /// A piece of the split is wanted, open for reading; answered by `opened` or `streamed`.
        "open_input" OpenInput {
            /// Its number in the order.
            piece: u32,
            /// From which byte of the file it will be read.
            from: u64 = default,
        },
        /// A source of the reduce is wanted, open for reading.
        "open_source" OpenSource {
            /// Its number in the order.
            source: u32,
        },
        /// A file of the attempt's output is wanted, new and open for writing.
        "open_output" OpenOutput {
            /// Its name, such as `part-r-00000`; no slashes.
            name: String,
        },
        /// What the user's code says of itself.
        "status" Status {
            /// One line.
            text: String,
        },
        /// A map has ended well.
        "map_done" MapDone {
            /// Counters, group by group.
            counters: Counters,
            /// Where each partition lies in the file that comes along; empty in a job without reduces.
            partitions: Vec<Partition>,
        },
        /// A reduce has ended well.
        "reduce_done" ReduceDone {
            /// Counters, group by group.
            counters: Counters,
        },
        /// The task has failed.
        "failed" Failed {
            /// Why, in one sentence.
            sentence: String,
            /// It found no device of the kind that it needs: it may run elsewhere.
            no_device: bool = default,
            /// The kind of that device, as needs are named; empty: a GPU.
            device: String = default,
            /// Its device has too little memory for what it put there: it may run where one has more.
            no_room: bool = default,
        },
    }
}

tagged! {
    /// What a launcher says.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub enum ToTask {
        /// The answer to `hello`; the blame page and the folder for spills come along.
        "welcome" Welcome(Welcome),
        /// A map to do.
        "map" Map(MapOrder),
        /// A reduce to do.
        "reduce" Reduce(ReduceOrder),
        /// The file that was asked for comes along. One for reading is the file itself, wherever its position is;
        /// one for writing may be a pipe, which is closed when all is written.
        "opened" Opened,
        /// A pipe comes along, out of which the file comes from the byte that was asked for to its end. Whoever has
        /// read enough closes it. If it ends before the file does, the launcher knows why.
        "streamed" Streamed,
        /// The file that was asked for cannot be opened.
        "refused" Refused {
            /// Why, in one sentence.
            sentence: String,
        },
        /// There is no more work.
        "leave" Leave,
    }
}

record! {
    /// What all tasks of a process share.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Welcome {
        /// The version of the protocol that the launcher speaks.
        pub version: u32,
        /// The job's name among those that the executable registers.
        pub job: String,
        /// Settings, by Hadoop's names where Hadoop has them.
        pub settings: BTreeMap<String, String>,
        /// What the driver gave along.
        pub params: serde_json::Value,
        /// The slot's number in the blame page.
        pub blame: u32,
    }
}

record! {
    /// A part of a file, one of those that a split is made of.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Piece {
        /// The file's name, for messages and for the mapper.
        pub name: String,
        /// Where the piece begins, bytes.
        pub offset: u64,
        /// How long it is, bytes.
        pub length: u64,
        /// How long the file was when the splits were made, bytes.
        pub size: u64,
    }
}

record! {
    /// A map to do.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct MapOrder {
        /// Number of the map.
        pub task: u32,
        /// Number of the attempt, from 0.
        pub attempt: u32,
        /// Into how many partitions the output goes; 0: straight to the output.
        pub partitions: u32,
        /// The split.
        pub pieces: Vec<Piece>,
        /// Numbers of records that are left out, ascending.
        pub skip: Vec<u64> = default,
    }
}

record! {
    /// One map's part of a reduce's input.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Source {
        /// Number of the map.
        pub map: u32,
        /// Where the part begins in the map's output, bytes.
        pub offset: u64,
        /// How long it is, bytes.
        pub length: u64,
        /// How many records it has.
        pub records: u64,
    }
}

record! {
    /// A reduce to do.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ReduceOrder {
        /// Number of the reduce, which is the partition's.
        pub task: u32,
        /// Number of the attempt, from 0.
        pub attempt: u32,
        /// What it reads, in the order of the maps.
        pub sources: Vec<Source>,
        /// Numbers of groups that are left out, ascending.
        pub skip: Vec<u64> = default,
    }
}

record! {
    /// Where a partition lies in a map's output, and what it is known by.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Partition {
        /// Where it begins, bytes.
        pub offset: u64,
        /// How long it is, bytes.
        pub length: u64,
        /// How many records it has.
        pub records: u64,
        /// Digest of its bytes, in their order.
        pub bytes_digest: u64,
        /// Digest of its records as a multiset, whatever their order.
        pub records_digest: u64,
    }
}

record! {
    /// What an executable has to offer.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Plan {
        /// The program's name.
        pub name: String,
        /// The jobs that it registers, in the order of registration.
        pub jobs: Vec<PlannedJob>,
        /// Whether it has the role `drive`. A program that has not is driven by its client: its only job reads
        /// what the command line names, and writes the last operand.
        pub drives: bool = default,
        /// Its driver does nothing but run its only job on what the command line names, and say how that ended: the job
        /// may be left to the cluster, and the driver be ended.
        pub drives_one: bool = default,
    }
}

record! {
    /// One job of a plan.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct PlannedJob {
        /// The job's name.
        pub name: String,
        /// The mapper's type.
        pub mapper: String,
        /// The combiner's type, if there is one.
        pub combiner: Option<String> = default,
        /// The reducer's type, if there is one.
        pub reducer: Option<String> = default,
        /// The partitioner's type.
        pub partitioner: String,
        /// How input is read.
        pub input: String,
        /// Its pieces are no files: nothing is opened.
        pub reads_no_files: bool = default,
        /// How output is written.
        pub output: String,
        /// Types of the keys and values between map and reduce.
        pub between: [String; 2],
        /// In which order reduces are handed their keys: `sorted`, `grouped` or `none`.
        pub order: String = default,
        /// Settings that the job brings along.
        pub settings: BTreeMap<String, String>,
        /// What stages need of their slots: `(stage, need)`, the stage being `map`, `combine` or `reduce`.
        pub needs: Vec<(String, String)>,
        /// Bytes of a device's memory that a byte of a map's input takes there; 0: one.
        pub expansion: u32 = default,
        /// Inputs behind the first one, which have mappers of their own.
        pub more_inputs: Vec<PlannedInput> = default,
    }
}

record! {
    /// An input that has a mapper of its own.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct PlannedInput {
        /// The option that names it, without hyphens.
        pub name: String,
        /// The mapper's type.
        pub mapper: String,
        /// How it is read.
        pub input: String,
    }
}
