//! Settings of Hadoop that do nothing here.

const JVM: &str = "tasks are no JVMs";
const SHUFFLE: &str = "launchers bring map output to reduces by themselves";
const OWN_MASTER: &str = "jobs run under gerbil's ApplicationMaster, not under MapReduce's";
const HISTORY: &str = "gerbil has no history server";
const COMMITTER: &str = "gerbil commits output by itself";
const SPECULATION: &str = "a session decides on second attempts";
const ONE_CORE: &str = "a slot is one core";
const NO_LIMIT: &str = "there is no such limit";
const COUNTED: &str = "names of counters and of their groups have up to 255 bytes";
const OF_APPLICATION: &str = "it belongs to the application, which may run several jobs";
const LABEL: &str = "tasks run on the nodes of the label that their queue has by default";
const STAGED: &str = "the program is one file, which gerbil brings along";
const SPLITS: &str =
    "mapreduce.input.fileinputformat.split.maxsize and gerbil.split.pack cut splits";

/// Settings of Hadoop that do nothing here, or all those that begin so where the name ends with a dot, and why.
pub(super) const IDLE: &[(&str, &str)] = &[
    ("mapreduce.admin.", JVM),
    ("mapreduce.app-submission.", JVM),
    ("mapreduce.application.", OWN_MASTER),
    ("mapreduce.client.", OWN_MASTER),
    ("mapreduce.cluster.", OWN_MASTER),
    ("mapreduce.fileoutputcommitter.", COMMITTER),
    ("mapreduce.framework.name", OWN_MASTER),
    ("mapreduce.ifile.", SHUFFLE),
    ("mapreduce.input.fileinputformat.list-status.", NO_LIMIT),
    ("mapreduce.input.fileinputformat.split.minsize", SPLITS),
    ("mapreduce.job.acl-", OF_APPLICATION),
    ("mapreduce.job.am.", OF_APPLICATION),
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
    ("mapreduce.job.node-label-expression", LABEL),
    ("mapreduce.job.reduce.shuffle.", SHUFFLE),
    (
        "mapreduce.job.reduce.slowstart.",
        "a reduce begins when its input is complete",
    ),
    ("mapreduce.job.reducer.", SHUFFLE),
    ("mapreduce.job.sharedcache.", STAGED),
    ("mapreduce.job.speculative.", SPECULATION),
    ("mapreduce.job.split.", NO_LIMIT),
    ("mapreduce.job.tags", OF_APPLICATION),
    ("mapreduce.job.ubertask.", OWN_MASTER),
    ("mapreduce.job.user.", OF_APPLICATION),
    ("mapreduce.jobhistory.", HISTORY),
    ("mapreduce.jvm.", JVM),
    ("mapreduce.map.cpu.", ONE_CORE),
    ("mapreduce.map.java.", JVM),
    ("mapreduce.map.log.", JVM),
    ("mapreduce.map.node-label-expression", OF_APPLICATION),
    ("mapreduce.map.sort.spill.", SHUFFLE),
    ("mapreduce.outputcommitter.", COMMITTER),
    ("mapreduce.reduce.cpu.", ONE_CORE),
    ("mapreduce.reduce.input.", SHUFFLE),
    ("mapreduce.reduce.java.", JVM),
    ("mapreduce.reduce.log.", JVM),
    ("mapreduce.reduce.markreset.", SHUFFLE),
    ("mapreduce.reduce.merge.", SHUFFLE),
    ("mapreduce.reduce.node-label-expression", OF_APPLICATION),
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
