//! Settings that do something.

use super::names::*;

/// One setting: its name, its default, what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownSetting {
    /// Hadoop's where Hadoop has it.
    pub name: &'static str,
    /// Its value where none is given; empty: none.
    pub default: &'static str,
    /// For people.
    pub meaning: &'static str,
}

/// All settings that do something, in the order of the help.
pub const KNOWN: &[KnownSetting] = &[
    KnownSetting {
        name: REDUCES,
        default: "",
        meaning: "number of reduces; without it one a GiB of input, 0: none",
    },
    KnownSetting {
        name: ARENA,
        default: "192",
        meaning: "MiB in which a map collects and sorts",
    },
    KnownSetting {
        name: COMPRESS_MAP,
        default: "",
        meaning: "whether map output is compressed where that makes it shorter; without it yes, but not with --local \
                  while a quarter of the free memory holds the input",
    },
    KnownSetting {
        name: CODEC_MAP,
        default: "lz4",
        meaning: "with what: none, lz4, zstd",
    },
    KnownSetting {
        name: COMPRESS,
        default: "false",
        meaning: "whether output is compressed",
    },
    KnownSetting {
        name: CODEC,
        default: "gzip",
        meaning: "with what: gzip, bzip2, zstd, deflate, lz4, snappy; SequenceFiles, where it is not given, deflate",
    },
    KnownSetting {
        name: COMPRESS_TYPE,
        default: "RECORD",
        meaning: "of compressed SequenceFiles: RECORD, each value by itself, BLOCK, keys and values of many records \
                  together, or NONE",
    },
    KnownSetting {
        name: SEQUENCE_FILE_BLOCK,
        default: "1000000",
        meaning: "bytes of keys and values that BLOCK compresses together",
    },
    KnownSetting {
        name: REPLICATION,
        default: "",
        meaning: "copies of each block of output on HDFS; without it as Hadoop's settings say",
    },
    KnownSetting {
        name: BLOCK_SIZE,
        default: "",
        meaning: "bytes of a block of output on HDFS, such as 64m; without it as Hadoop's settings say",
    },
    KnownSetting {
        name: MASK,
        default: "",
        meaning: "permissions that output on HDFS does not get, such as 077; without it as Hadoop's settings say",
    },
    KnownSetting {
        name: SPLIT_MAX,
        default: "134217728",
        meaning: "most bytes of a split",
    },
    KnownSetting {
        name: SPLIT_PACK,
        default: "67108864",
        meaning: "small files share a split up to so many bytes",
    },
    KnownSetting {
        name: RECURSIVE,
        default: "false",
        meaning: "whether folders inside of input folders are read",
    },
    KnownSetting {
        name: LINES,
        default: "1",
        meaning: "lines of a split of NLines",
    },
    KnownSetting {
        name: MAPS,
        default: "2",
        meaning: "number of maps where input is no file",
    },
    KnownSetting {
        name: RECORD_LENGTH,
        default: "",
        meaning: "bytes of a record of FixedLength",
    },
    KnownSetting {
        name: LINE_MAX,
        default: "",
        meaning: "longest line, bytes; without it gerbil.record.max",
    },
    KnownSetting {
        name: DELIMITER,
        default: "",
        meaning: "what ends a record of text, instead of an end of line",
    },
    KnownSetting {
        name: KV_SEPARATOR,
        default: "\t",
        meaning: "what separates key and value of KeyValueText",
    },
    KnownSetting {
        name: SEPARATOR,
        default: "\t",
        meaning: "what text output puts between key and value",
    },
    KnownSetting {
        name: SYNC_SEED,
        default: "",
        meaning: "what the syncs of SequenceFiles are made of, with the name of each: two runs with the same one and the \
                  same output write the same bytes; without it chance, anew for each job",
    },
    KnownSetting {
        name: TIMEOUT,
        default: "600000",
        meaning: "ms without progress after which a task is ended; 0: never",
    },
    KnownSetting {
        name: MAP_ATTEMPTS,
        default: "1",
        meaning: "times that a map is tried (on a cluster: 4)",
    },
    KnownSetting {
        name: REDUCE_ATTEMPTS,
        default: "1",
        meaning: "times that a reduce is tried (on a cluster: 4)",
    },
    KnownSetting {
        name: RECORD_MAX,
        default: "",
        meaning: "longest record, bytes; without it a quarter of the arena",
    },
    KnownSetting {
        name: MEMORY,
        default: "0",
        meaning: "MiB that a task process may have in memory; 0: no limit",
    },
    KnownSetting {
        name: SKIP,
        default: "0",
        meaning: "records that each map may leave out because the job's code failed on them (--skip-bad)",
    },
    KnownSetting {
        name: SKIP_GROUPS,
        default: "0",
        meaning: "groups, keys with their values, that each reduce may leave out for the same reason (--skip-bad)",
    },
    KnownSetting {
        name: COMBINE,
        default: "true",
        meaning: "whether the job's combiner is run, if it has one: false measures what it is worth",
    },
    KnownSetting {
        name: REPEAT,
        default: "false",
        meaning: "whether each map is done twice, which must give the same records: for finding code that does not",
    },
    KnownSetting {
        name: QUIET,
        default: "false",
        meaning: "whether nothing is said but what fails",
    },
    KnownSetting {
        name: MAP_MEMORY,
        default: "",
        meaning: "on a cluster: MiB that a map takes of its container; without it those of a slot",
    },
    KnownSetting {
        name: REDUCE_MEMORY,
        default: "",
        meaning: "on a cluster: the same of a reduce",
    },
    KnownSetting {
        name: COPIES,
        default: "5",
        meaning: "on a cluster: launchers that a reduce fetches from at the same time",
    },
    KnownSetting {
        name: LOCAL_DISK,
        default: "0",
        meaning: "on a cluster: MiB that all tasks of a container may have on the disks of its node; 0: as much as \
                  there is (--local-disk)",
    },
    KnownSetting {
        name: LOCAL_DISKS,
        default: "",
        meaning: "on a cluster: the same on some nodes, HOST=MIB with commas between them, each as YARN names it",
    },
    KnownSetting {
        name: DISK_FULLNESS,
        default: "0",
        meaning: "on a cluster: hundredths of a disk that may be taken, by whomever, before tasks leave it; 0: all; \
                  without it 5 below the cluster's own limit",
    },
    KnownSetting {
        name: MAP_SPECULATIVE,
        default: "true",
        meaning: "on a cluster: whether a map that takes much longer than others is tried a second time beside it",
    },
    KnownSetting {
        name: REDUCE_SPECULATIVE,
        default: "true",
        meaning: "on a cluster: the same of a reduce",
    },
    KnownSetting {
        name: NEEDS_MAP,
        default: "",
        meaning: "on a cluster: what a node must have for a map, its combiner included: cpu, gpu, fpga, or so many of a \
                  type that the cluster counts (acc/kmeans-map=2), of which each map takes its own; without it what the program declares, or what is found in it",
    },
    KnownSetting {
        name: NEEDS_REDUCE,
        default: "",
        meaning: "on a cluster: the same of a reduce",
    },
    KnownSetting {
        name: ACC_TIMEOUT,
        default: "60",
        meaning: "seconds that an attempt waits for devices of its functions (acc/kmeans-map) while others hold them, before \
                  it is queued elsewhere, which does not count; 0: it does not wait. Also seconds that a packet may take; \
                  0: 60",
    },
    KnownSetting {
        name: ACC_FALLBACK,
        default: "",
        meaning: "when the processor computes what an accelerated mapper or reducer has for a device: never; start: where \
                  its attempt begins without one, as where no node has the function; always: also where it loses one; \
                  start without it",
    },
    KnownSetting {
        name: ACC_MODULES,
        default: "overlap",
        meaning: "how a task works with its device: overlap: it reads, sends and receives at the same time; serial: one \
                  after the other",
    },
    KnownSetting {
        name: ACC_TASKS,
        default: "",
        meaning: "on a cluster: tasks that run on a node at a time, of a stage of the job that needs functions of accelerators; \
                  auto: more while the queue of the node's board is empty more than a tenth of the time, fewer while more \
                  packets wait than a ring has blocks; without it as many as there are slots and devices for",
    },
    KnownSetting {
        name: DEVICE_FRACTION,
        default: "0.25",
        meaning: "on a cluster: of the smallest device's memory, how much a split of a map that needs a GPU may fill",
    },
    KnownSetting {
        name: OPENCL_PROCESSORS,
        default: "false",
        meaning: "whether OpenCL's devices that are processors, as PoCL's, stand in for GPUs: to test kernels",
    },
    KnownSetting {
        name: READ_ORDER,
        default: "",
        meaning: "on a cluster: for programs that ask a read broker whose chunk is read next (GERBIL_READ_BROKER), in which \
                  order their node's broker has the disk read, where this job's launcher has it: spmario, spmario-literal, \
                  rr:turn=N,wait=true|false, gpmr; empty: such a job has none",
    },
    KnownSetting {
        name: READ_TIMEOUT,
        default: "30",
        meaning: "seconds that such a program may read one chunk, before its node's broker takes it for hung: its launcher \
                  kills it, and its attempt counts; of the job that has had the broker started",
    },
    KnownSetting {
        name: COUNTERS,
        default: "10000",
        meaning: "counters of its own that a job may have, 10000 at the most; a task that counts under one more fails",
    },
    KnownSetting {
        name: NODE_FAILURES,
        default: "3",
        meaning: "on a cluster: failed attempts of the job after which a node gets no further one while there is another; 0: no node is avoided",
    },
    KnownSetting {
        name: AM_ATTEMPTS,
        default: "2",
        meaning: "on a cluster, without a session: how often a job begins at the most, where it is lost with its \
                  ApplicationMaster",
    },
    KnownSetting {
        name: JOB_NAME,
        default: "",
        meaning: "on a cluster: what lists call the job",
    },
    KnownSetting {
        name: PRIORITY,
        default: "",
        meaning: "on a cluster: higher goes first; a number, or VERY_HIGH, HIGH, NORMAL, LOW, VERY_LOW",
    },
    KnownSetting {
        name: QUEUE,
        default: "",
        meaning: "on a cluster, where there is no session: the queue of the application, unless --queue names one",
    },
];
