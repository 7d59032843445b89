//! Settings of a job, by Hadoop's names where Hadoop has them: which there are, and what becomes of others.

use crate::{nearest, renamed};

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
        meaning: "with what: gzip, bzip2, zstd, deflate; SequenceFiles, where it is not given, deflate",
    },
    KnownSetting {
        name: COMPRESS_TYPE,
        default: "RECORD",
        meaning: "of compressed SequenceFiles: RECORD, each value by itself, or NONE",
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

/// See [`KNOWN`].
pub const REDUCES: &str = "mapreduce.job.reduces";
/// See [`KNOWN`].
pub const ARENA: &str = "mapreduce.task.io.sort.mb";
/// See [`KNOWN`].
pub const COMPRESS_MAP: &str = "mapreduce.map.output.compress";
/// See [`KNOWN`].
pub const CODEC_MAP: &str = "mapreduce.map.output.compress.codec";
/// See [`KNOWN`].
pub const COMPRESS: &str = "mapreduce.output.fileoutputformat.compress";
/// See [`KNOWN`].
pub const CODEC: &str = "mapreduce.output.fileoutputformat.compress.codec";
/// See [`KNOWN`].
pub const COMPRESS_TYPE: &str = "mapreduce.output.fileoutputformat.compress.type";
/// See [`KNOWN`].
pub const SPLIT_MAX: &str = "mapreduce.input.fileinputformat.split.maxsize";
/// See [`KNOWN`].
pub const SPLIT_PACK: &str = "gerbil.split.pack";
/// See [`KNOWN`].
pub const RECURSIVE: &str = "mapreduce.input.fileinputformat.input.dir.recursive";
/// See [`KNOWN`].
pub const LINES: &str = "mapreduce.input.lineinputformat.linespermap";
/// See [`KNOWN`].
pub const REPLICATION: &str = "dfs.replication";
/// See [`KNOWN`].
pub const BLOCK_SIZE: &str = "dfs.blocksize";
/// See [`KNOWN`].
pub const MASK: &str = "fs.permissions.umask-mode";
/// See [`KNOWN`].
pub const MAPS: &str = "mapreduce.job.maps";
/// See [`KNOWN`].
pub const RECORD_LENGTH: &str = "fixedlengthinputformat.record.length";
/// See [`KNOWN`].
pub const LINE_MAX: &str = "mapreduce.input.linerecordreader.line.maxlength";
/// See [`KNOWN`].
pub const DELIMITER: &str = "textinputformat.record.delimiter";
/// See [`KNOWN`].
pub const KV_SEPARATOR: &str = "mapreduce.input.keyvaluelinerecordreader.key.value.separator";
/// See [`KNOWN`].
pub const SEPARATOR: &str = "mapreduce.output.textoutputformat.separator";
/// See [`KNOWN`].
pub const SYNC_SEED: &str = "gerbil.sequencefile.seed";
/// See [`KNOWN`].
pub const TIMEOUT: &str = "mapreduce.task.timeout";
/// See [`KNOWN`].
pub const MAP_ATTEMPTS: &str = "mapreduce.map.maxattempts";
/// See [`KNOWN`].
pub const REDUCE_ATTEMPTS: &str = "mapreduce.reduce.maxattempts";
/// See [`KNOWN`].
pub const RECORD_MAX: &str = "gerbil.record.max";
/// See [`KNOWN`].
pub const READ_ORDER: &str = "gpu.read-order";
/// See [`KNOWN`].
pub const MEMORY: &str = "gerbil.task.memory.mb";
/// See [`KNOWN`].
pub const SKIP: &str = "mapreduce.map.skip.maxrecords";
/// See [`KNOWN`].
pub const SKIP_GROUPS: &str = "mapreduce.reduce.skip.maxgroups";
/// See [`KNOWN`].
pub const REPEAT: &str = "gerbil.map.repeat";
/// See [`KNOWN`].
pub const QUIET: &str = "gerbil.quiet";
/// See [`KNOWN`].
pub const MAP_MEMORY: &str = "mapreduce.map.memory.mb";
/// See [`KNOWN`].
pub const REDUCE_MEMORY: &str = "mapreduce.reduce.memory.mb";
/// See [`KNOWN`].
pub const COPIES: &str = "mapreduce.reduce.shuffle.parallelcopies";
/// See [`KNOWN`].
pub const LOCAL_DISK: &str = "gerbil.local.disk.mb";
/// See [`KNOWN`].
pub const LOCAL_DISKS: &str = "gerbil.local.disk.nodes";
/// See [`KNOWN`].
pub const DISK_FULLNESS: &str = "gerbil.local.disk.percent";
/// See [`KNOWN`].
pub const MAP_SPECULATIVE: &str = "mapreduce.map.speculative";
/// See [`KNOWN`].
pub const REDUCE_SPECULATIVE: &str = "mapreduce.reduce.speculative";
/// See [`KNOWN`].
pub const NEEDS_MAP: &str = "needs.map";
/// See [`KNOWN`].
pub const NEEDS_REDUCE: &str = "needs.reduce";
/// See [`KNOWN`].
pub const ACC_TIMEOUT: &str = "acc.timeout";
/// See [`KNOWN`].
pub const ACC_FALLBACK: &str = "acc.fallback";
/// See [`KNOWN`].
pub const ACC_MODULES: &str = "acc.modules";
/// See [`KNOWN`].
pub const DEVICE_FRACTION: &str = "device.fraction";
/// See [`KNOWN`].
pub const OPENCL_PROCESSORS: &str = "gerbil.opencl.processors";
/// See [`KNOWN`].
pub const NODE_FAILURES: &str = "mapreduce.job.maxtaskfailures.per.tracker";
/// See [`KNOWN`].
pub const JOB_NAME: &str = "mapreduce.job.name";
/// See [`KNOWN`].
pub const PRIORITY: &str = "mapreduce.job.priority";
/// See [`KNOWN`].
pub const COUNTERS: &str = "mapreduce.job.counters.max";
/// See [`KNOWN`].
pub const QUEUE: &str = "mapreduce.job.queuename";

const JVM: &str = "tasks are no JVMs";
const SHUFFLE: &str = "launchers bring map output to reduces by themselves";
const OWN_MASTER: &str = "jobs run under gerbil's ApplicationMaster, not under MapReduce's";
const HISTORY: &str = "gerbil has no history server";
const COMMITTER: &str = "gerbil commits output by itself";
const SPECULATION: &str = "a session decides on second attempts";
const ONE_CORE: &str = "a slot is one core";
const NO_LIMIT: &str = "there is no such limit";
const COUNTED: &str = "names of counters and of their groups have up to 255 bytes";
const PLACED: &str = "that is said when a session is started";
const STAGED: &str = "the program is one file, which gerbil brings along";
const SPLITS: &str =
    "mapreduce.input.fileinputformat.split.maxsize and gerbil.split.pack cut splits";

/// Settings of Hadoop that do nothing here, or all those that begin so where the name ends with a dot, and why.
const IDLE: &[(&str, &str)] = &[
    ("mapreduce.admin.", JVM),
    ("mapreduce.am.", OWN_MASTER),
    ("mapreduce.app-submission.", JVM),
    ("mapreduce.application.", OWN_MASTER),
    ("mapreduce.client.", OWN_MASTER),
    ("mapreduce.cluster.", OWN_MASTER),
    ("mapreduce.fileoutputcommitter.", COMMITTER),
    ("mapreduce.framework.name", OWN_MASTER),
    ("mapreduce.ifile.", SHUFFLE),
    ("mapreduce.input.fileinputformat.list-status.", NO_LIMIT),
    ("mapreduce.input.fileinputformat.split.minsize", SPLITS),
    ("mapreduce.job.acl-", PLACED),
    ("mapreduce.job.am.", PLACED),
    ("mapreduce.job.cache.", STAGED),
    ("mapreduce.job.classloader", JVM),
    ("mapreduce.job.committer.", COMMITTER),
    ("mapreduce.job.counters.counter.", COUNTED),
    ("mapreduce.job.counters.group.", COUNTED),
    ("mapreduce.job.counters.groups.", COUNTED),
    ("mapreduce.job.encrypted-intermediate-data", SHUFFLE),
    ("mapreduce.job.finish-when-all-reducers-done", OWN_MASTER),
    ("mapreduce.job.hdfs-servers", STAGED),
    ("mapreduce.job.heap.", JVM),
    ("mapreduce.job.jar", STAGED),
    ("mapreduce.job.log4j-", JVM),
    ("mapreduce.job.map.output.collector.class", JVM),
    ("mapreduce.job.max.", NO_LIMIT),
    ("mapreduce.job.node-label-expression", PLACED),
    ("mapreduce.job.reduce.shuffle.", SHUFFLE),
    (
        "mapreduce.job.reduce.slowstart.",
        "a reduce begins when its input is complete",
    ),
    ("mapreduce.job.reducer.", SHUFFLE),
    ("mapreduce.job.sharedcache.", STAGED),
    ("mapreduce.job.speculative.", SPECULATION),
    ("mapreduce.job.split.", NO_LIMIT),
    ("mapreduce.job.tags", PLACED),
    ("mapreduce.job.ubertask.", OWN_MASTER),
    ("mapreduce.job.user.", PLACED),
    ("mapreduce.jobhistory.", HISTORY),
    ("mapreduce.jvm.", JVM),
    ("mapreduce.map.cpu.", ONE_CORE),
    ("mapreduce.map.java.", JVM),
    ("mapreduce.map.log.", JVM),
    ("mapreduce.map.node-label-expression", PLACED),
    ("mapreduce.map.sort.spill.", SHUFFLE),
    ("mapreduce.outputcommitter.", COMMITTER),
    ("mapreduce.reduce.cpu.", ONE_CORE),
    ("mapreduce.reduce.input.", SHUFFLE),
    ("mapreduce.reduce.java.", JVM),
    ("mapreduce.reduce.log.", JVM),
    ("mapreduce.reduce.markreset.", SHUFFLE),
    ("mapreduce.reduce.merge.", SHUFFLE),
    ("mapreduce.reduce.node-label-expression", PLACED),
    ("mapreduce.reduce.shuffle.connect.", SHUFFLE),
    ("mapreduce.reduce.shuffle.fetch.", SHUFFLE),
    ("mapreduce.reduce.shuffle.input.", SHUFFLE),
    ("mapreduce.reduce.shuffle.memory.", SHUFFLE),
    ("mapreduce.reduce.shuffle.merge.", SHUFFLE),
    ("mapreduce.reduce.shuffle.read.", SHUFFLE),
    ("mapreduce.reduce.shuffle.retry-", SHUFFLE),
    ("mapreduce.shuffle.", SHUFFLE),
    ("mapreduce.task.io.sort.factor", SHUFFLE),
    ("mapreduce.task.profile", JVM),
    ("mapreduce.task.userlog.", JVM),
    ("yarn.app.mapreduce.", OWN_MASTER),
];

/// What becomes of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It does what [`KNOWN`] says.
    Known,
    /// It is the user's own, for tasks.
    Own,
    /// Hadoop has it, and here it does nothing, for this reason.
    Idle(&'static str),
    /// It begins as Hadoop's settings do, or gerbil's, and is none; with ` (is NAME meant?)` where one is near.
    Unknown(String),
}

/// What becomes of the setting `name`.
#[must_use]
pub fn standing(name: &str) -> Standing {
    let name = renamed::current(name);
    if KNOWN.iter().any(|known| known.name == name) {
        return Standing::Known;
    }
    let idle = IDLE
        .iter()
        .find(|(idle, _)| match idle.ends_with(['.', '-']) {
            true => name.starts_with(idle),
            false => name == *idle,
        });
    if let Some((_, why)) = idle {
        return Standing::Idle(why);
    }
    let ours = [
        "mapreduce.",
        "gerbil.",
        "needs.",
        "device.",
        "acc.",
        "mapred.",
        "yarn.",
        "io.",
    ];
    match ours.iter().any(|ours| name.starts_with(ours)) {
        true => Standing::Unknown(nearest::hint(name, KNOWN.iter().map(|known| known.name))),
        false => Standing::Own,
    }
}

/// The longest that an attempt may wait for devices: a year.
const ACC_TIMEOUT_MAX: u64 = 365 * 86_400;

/// Judges what is given of accelerators; `given` tells the value of a setting.
///
/// # Errors
/// One makes no sense: a sentence.
pub fn check_accelerators<'a>(given: impl Fn(&str) -> Option<&'a str>) -> Result<(), String> {
    let given = |name| given(name).map(str::trim).filter(|value| !value.is_empty());
    if let Some(text) = given(ACC_TIMEOUT) {
        let seconds = text.parse::<u64>().ok();
        if seconds.is_none_or(|seconds| seconds > ACC_TIMEOUT_MAX) {
            return Err(format!(
                "{ACC_TIMEOUT}={text}: give a number of seconds, from 0 to {ACC_TIMEOUT_MAX}"
            ));
        }
    }
    for (name, known) in [
        (ACC_FALLBACK, &["never", "start", "always"][..]),
        (ACC_MODULES, &["overlap", "serial"]),
    ] {
        if let Some(text) = given(name).filter(|text| !known.contains(text)) {
            return Err(format!("{name}={text}: known are {}", known.join(", ")));
        }
    }
    Ok(())
}

/// Whether a job goes on where no node has the functions of accelerators that it needs: its program has a version for the
/// processor, which it says by this setting. `given` tells the value of a setting.
pub fn goes_on_without<'a>(given: impl Fn(&str) -> Option<&'a str>) -> bool {
    matches!(given(ACC_FALLBACK).map(str::trim), Some("start" | "always"))
}

#[cfg(test)]
mod tests {
    use super::{
        ACC_FALLBACK, IDLE, KNOWN, Standing, check_accelerators, goes_on_without, standing,
    };

    #[test]
    fn a_job_goes_on_without_devices_where_it_says_so() {
        for (value, goes_on) in [
            (None, false),
            (Some(""), false),
            (Some("never"), false),
            (Some("start"), true),
            (Some(" always "), true),
        ] {
            let given = |name: &str| value.filter(|_| name == ACC_FALLBACK);
            assert_eq!(goes_on_without(given), goes_on, "{value:?}");
        }
    }

    #[test]
    fn what_is_given_of_accelerators_makes_sense_or_is_refused() {
        let check = |name: &'static str, value: &'static str| {
            check_accelerators(|of| (of == name).then_some(value))
        };
        for (name, value) in [
            ("acc.timeout", " 0 "),
            ("acc.timeout", "31536000"),
            ("acc.timeout", ""),
            ("acc.fallback", "always"),
            ("acc.modules", "serial"),
        ] {
            check(name, value).unwrap();
        }
        for (name, value, said) in [
            (
                "acc.timeout",
                "abc",
                "acc.timeout=abc: give a number of seconds, from 0 to 31536000",
            ),
            (
                "acc.timeout",
                "31536001",
                "acc.timeout=31536001: give a number of seconds, from 0 to 31536000",
            ),
            (
                "acc.fallback",
                "perhaps",
                "acc.fallback=perhaps: known are never, start, always",
            ),
            (
                "acc.modules",
                "both",
                "acc.modules=both: known are overlap, serial",
            ),
        ] {
            assert_eq!(check(name, value).unwrap_err(), said);
        }
    }

    #[test]
    fn a_setting_does_something_or_is_said_why_not() {
        assert_eq!(standing("mapreduce.job.reduces"), Standing::Known);
        assert_eq!(standing("my.own"), Standing::Own);
        assert!(
            matches!(standing("mapreduce.map.java.opts"), Standing::Idle(why) if why.contains("JVM"))
        );
        assert_eq!(
            standing("mapreduce.job.reducers"),
            Standing::Unknown(" (is mapreduce.job.reduces meant?)".into())
        );
        assert!(matches!(
            standing("mapreduce.reduce.maxatempts"),
            Standing::Unknown(_)
        ));
        assert!(
            matches!(standing("gerbil.nothing.at.all"), Standing::Unknown(hint) if hint.is_empty())
        );
    }

    #[test]
    fn what_does_something_is_not_called_idle() {
        for known in KNOWN {
            let (name, idle) = (known.name, IDLE);
            assert!(
                !idle.iter().any(|(idle, _)| name.starts_with(idle)),
                "{name}"
            );
        }
    }
}
