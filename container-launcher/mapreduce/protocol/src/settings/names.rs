//! Names of settings.

/// See [`KNOWN`](super::KNOWN).
pub const REDUCES: &str = "mapreduce.job.reduces";
/// See [`KNOWN`](super::KNOWN).
pub const ARENA: &str = "mapreduce.task.io.sort.mb";
/// See [`KNOWN`](super::KNOWN).
pub const COMPRESS_MAP: &str = "mapreduce.map.output.compress";
/// See [`KNOWN`](super::KNOWN).
pub const CODEC_MAP: &str = "mapreduce.map.output.compress.codec";
/// See [`KNOWN`](super::KNOWN).
pub const COMPRESS: &str = "mapreduce.output.fileoutputformat.compress";
/// See [`KNOWN`](super::KNOWN).
pub const CODEC: &str = "mapreduce.output.fileoutputformat.compress.codec";
/// See [`KNOWN`](super::KNOWN).
pub const COMPRESS_TYPE: &str = "mapreduce.output.fileoutputformat.compress.type";
/// See [`KNOWN`](super::KNOWN).
pub const SPLIT_MAX: &str = "mapreduce.input.fileinputformat.split.maxsize";
/// See [`KNOWN`](super::KNOWN).
pub const SPLIT_PACK: &str = "gerbil.split.pack";
/// See [`KNOWN`](super::KNOWN).
pub const RECURSIVE: &str = "mapreduce.input.fileinputformat.input.dir.recursive";
/// See [`KNOWN`](super::KNOWN).
pub const LINES: &str = "mapreduce.input.lineinputformat.linespermap";
/// See [`KNOWN`](super::KNOWN).
pub const SEQUENCE_FILE_BLOCK: &str = "io.seqfile.compress.blocksize";
/// See [`KNOWN`](super::KNOWN).
pub const REPLICATION: &str = "dfs.replication";
/// See [`KNOWN`](super::KNOWN).
pub const BLOCK_SIZE: &str = "dfs.blocksize";
/// See [`KNOWN`](super::KNOWN).
pub const MASK: &str = "fs.permissions.umask-mode";
/// See [`KNOWN`](super::KNOWN).
pub const MAPS: &str = "mapreduce.job.maps";
/// See [`KNOWN`](super::KNOWN).
pub const RECORD_LENGTH: &str = "fixedlengthinputformat.record.length";
/// See [`KNOWN`](super::KNOWN).
pub const LINE_MAX: &str = "mapreduce.input.linerecordreader.line.maxlength";
/// See [`KNOWN`](super::KNOWN).
pub const DELIMITER: &str = "textinputformat.record.delimiter";
/// See [`KNOWN`](super::KNOWN).
pub const KV_SEPARATOR: &str = "mapreduce.input.keyvaluelinerecordreader.key.value.separator";
/// See [`KNOWN`](super::KNOWN).
pub const SEPARATOR: &str = "mapreduce.output.textoutputformat.separator";
/// See [`KNOWN`](super::KNOWN).
pub const SYNC_SEED: &str = "gerbil.sequencefile.seed";
/// See [`KNOWN`](super::KNOWN).
pub const TIMEOUT: &str = "mapreduce.task.timeout";
/// See [`KNOWN`](super::KNOWN).
pub const MAP_ATTEMPTS: &str = "mapreduce.map.maxattempts";
/// See [`KNOWN`](super::KNOWN).
pub const REDUCE_ATTEMPTS: &str = "mapreduce.reduce.maxattempts";
/// See [`KNOWN`](super::KNOWN).
pub const RECORD_MAX: &str = "gerbil.record.max";
/// See [`KNOWN`](super::KNOWN).
pub const READ_ORDER: &str = "gpu.read-order";
/// See [`KNOWN`](super::KNOWN).
pub const READ_TIMEOUT: &str = "gpu.read-timeout";
/// See [`KNOWN`](super::KNOWN).
pub const MEMORY: &str = "gerbil.task.memory.mb";
/// See [`KNOWN`](super::KNOWN).
pub const SKIP: &str = "mapreduce.map.skip.maxrecords";
/// See [`KNOWN`](super::KNOWN).
pub const SKIP_GROUPS: &str = "mapreduce.reduce.skip.maxgroups";
/// Whether a job's combiner is run.
pub const COMBINE: &str = "gerbil.combine";
/// See [`KNOWN`](super::KNOWN).
pub const REPEAT: &str = "gerbil.map.repeat";
/// See [`KNOWN`](super::KNOWN).
pub const QUIET: &str = "gerbil.quiet";
/// See [`KNOWN`](super::KNOWN).
pub const MAP_MEMORY: &str = "mapreduce.map.memory.mb";
/// See [`KNOWN`](super::KNOWN).
pub const REDUCE_MEMORY: &str = "mapreduce.reduce.memory.mb";
/// See [`KNOWN`](super::KNOWN).
pub const COPIES: &str = "mapreduce.reduce.shuffle.parallelcopies";
/// See [`KNOWN`](super::KNOWN).
pub const LOCAL_DISK: &str = "gerbil.local.disk.mb";
/// See [`KNOWN`](super::KNOWN).
pub const LOCAL_DISKS: &str = "gerbil.local.disk.nodes";
/// See [`KNOWN`](super::KNOWN).
pub const DISK_FULLNESS: &str = "gerbil.local.disk.percent";
/// See [`KNOWN`](super::KNOWN).
pub const MAP_SPECULATIVE: &str = "mapreduce.map.speculative";
/// See [`KNOWN`](super::KNOWN).
pub const REDUCE_SPECULATIVE: &str = "mapreduce.reduce.speculative";
/// See [`KNOWN`](super::KNOWN).
pub const NEEDS_MAP: &str = "needs.map";
/// See [`KNOWN`](super::KNOWN).
pub const NEEDS_REDUCE: &str = "needs.reduce";
/// See [`KNOWN`](super::KNOWN).
pub const ACC_TIMEOUT: &str = "acc.timeout";
/// See [`KNOWN`](super::KNOWN).
pub const ACC_FALLBACK: &str = "acc.fallback";
/// See [`KNOWN`](super::KNOWN).
pub const ACC_MODULES: &str = "acc.modules";
/// See [`KNOWN`](super::KNOWN).
pub const ACC_TASKS: &str = "acc.tasks-per-node";
/// See [`KNOWN`](super::KNOWN).
pub const DEVICE_FRACTION: &str = "device.fraction";
/// See [`KNOWN`](super::KNOWN).
pub const OPENCL_PROCESSORS: &str = "gerbil.opencl.processors";
/// See [`KNOWN`](super::KNOWN).
pub const NODE_FAILURES: &str = "mapreduce.job.maxtaskfailures.per.tracker";
/// See [`KNOWN`](super::KNOWN).
pub const AM_ATTEMPTS: &str = "mapreduce.am.max-attempts";
/// See [`KNOWN`](super::KNOWN).
pub const JOB_NAME: &str = "mapreduce.job.name";
/// See [`KNOWN`](super::KNOWN).
pub const PRIORITY: &str = "mapreduce.job.priority";
/// See [`KNOWN`](super::KNOWN).
pub const COUNTERS: &str = "mapreduce.job.counters.max";
/// How many maps each input of a job has, `3,2`, where inputs have mappers of their own: its driver says it.
pub const INPUT_MAPS: &str = "inputs.maps";
/// See [`KNOWN`](super::KNOWN).
pub const QUEUE: &str = "mapreduce.job.queuename";
