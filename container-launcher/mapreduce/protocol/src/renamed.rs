//! Settings that Hadoop has renamed, of those that mean something here: what `Configuration` of Hadoop 3.4 knows as
//! deprecated once MapReduce and HDFS have added theirs (`ConfigUtil.addDeprecatedKeys`, `HdfsConfiguration`).

/// Old name and new, sorted by the old one.
const RENAMED: &[(&str, &str)] = &[
    ("dfs.block.size", "dfs.blocksize"),
    ("dfs.umaskmode", "fs.permissions.umask-mode"),
    ("io.sort.factor", "mapreduce.task.io.sort.factor"),
    ("io.sort.mb", "mapreduce.task.io.sort.mb"),
    ("io.sort.spill.percent", "mapreduce.map.sort.spill.percent"),
    (
        "jobclient.completion.poll.interval",
        "mapreduce.client.completion.pollinterval",
    ),
    ("jobclient.output.filter", "mapreduce.client.output.filter"),
    (
        "jobclient.progress.monitor.poll.interval",
        "mapreduce.client.progressmonitor.pollinterval",
    ),
    (
        "key.value.separator.in.input.line",
        "mapreduce.input.keyvaluelinerecordreader.key.value.separator",
    ),
    ("mapred.acls.enabled", "mapreduce.cluster.acls.enabled"),
    ("mapred.cache.archives", "mapreduce.job.cache.archives"),
    (
        "mapred.cache.archives.filesizes",
        "mapreduce.job.cache.archives.filesizes",
    ),
    (
        "mapred.cache.archives.timestamps",
        "mapreduce.job.cache.archives.timestamps",
    ),
    ("mapred.cache.files", "mapreduce.job.cache.files"),
    (
        "mapred.cache.files.filesizes",
        "mapreduce.job.cache.files.filesizes",
    ),
    (
        "mapred.cache.files.timestamps",
        "mapreduce.job.cache.files.timestamps",
    ),
    (
        "mapred.cache.localArchives",
        "mapreduce.job.cache.local.archives",
    ),
    ("mapred.cache.localFiles", "mapreduce.job.cache.local.files"),
    (
        "mapred.cluster.map.memory.mb",
        "mapreduce.cluster.mapmemory.mb",
    ),
    (
        "mapred.cluster.reduce.memory.mb",
        "mapreduce.cluster.reducememory.mb",
    ),
    (
        "mapred.committer.job.setup.cleanup.needed",
        "mapreduce.job.committer.setup.cleanup.needed",
    ),
    (
        "mapred.compress.map.output",
        "mapreduce.map.output.compress",
    ),
    (
        "mapred.inmem.merge.threshold",
        "mapreduce.reduce.merge.inmem.threshold",
    ),
    (
        "mapred.input.dir.recursive",
        "mapreduce.input.fileinputformat.input.dir.recursive",
    ),
    ("mapred.jar", "mapreduce.job.jar"),
    ("mapred.job.map.memory.mb", "mapreduce.map.memory.mb"),
    ("mapred.job.name", "mapreduce.job.name"),
    ("mapred.job.priority", "mapreduce.job.priority"),
    ("mapred.job.queue.name", "mapreduce.job.queuename"),
    (
        "mapred.job.reduce.input.buffer.percent",
        "mapreduce.reduce.input.buffer.percent",
    ),
    (
        "mapred.job.reduce.markreset.buffer.percent",
        "mapreduce.reduce.markreset.buffer.percent",
    ),
    ("mapred.job.reduce.memory.mb", "mapreduce.reduce.memory.mb"),
    (
        "mapred.job.shuffle.input.buffer.percent",
        "mapreduce.reduce.shuffle.input.buffer.percent",
    ),
    (
        "mapred.job.shuffle.merge.percent",
        "mapreduce.reduce.shuffle.merge.percent",
    ),
    (
        "mapred.line.input.format.linespermap",
        "mapreduce.input.lineinputformat.linespermap",
    ),
    (
        "mapred.linerecordreader.maxlength",
        "mapreduce.input.linerecordreader.line.maxlength",
    ),
    ("mapred.local.dir", "mapreduce.cluster.local.dir"),
    ("mapred.map.child.java.opts", "mapreduce.map.java.opts"),
    ("mapred.map.child.log.level", "mapreduce.map.log.level"),
    ("mapred.map.max.attempts", "mapreduce.map.maxattempts"),
    (
        "mapred.map.output.compression.codec",
        "mapreduce.map.output.compress.codec",
    ),
    ("mapred.map.tasks", "mapreduce.job.maps"),
    (
        "mapred.map.tasks.speculative.execution",
        "mapreduce.map.speculative",
    ),
    (
        "mapred.max.split.size",
        "mapreduce.input.fileinputformat.split.maxsize",
    ),
    (
        "mapred.max.tracker.failures",
        "mapreduce.job.maxtaskfailures.per.tracker",
    ),
    (
        "mapred.min.split.size",
        "mapreduce.input.fileinputformat.split.minsize",
    ),
    (
        "mapred.output.compress",
        "mapreduce.output.fileoutputformat.compress",
    ),
    (
        "mapred.output.compression.codec",
        "mapreduce.output.fileoutputformat.compress.codec",
    ),
    (
        "mapred.output.compression.type",
        "mapreduce.output.fileoutputformat.compress.type",
    ),
    (
        "mapred.permissions.supergroup",
        "mapreduce.cluster.permissions.supergroup",
    ),
    (
        "mapred.reduce.child.java.opts",
        "mapreduce.reduce.java.opts",
    ),
    (
        "mapred.reduce.child.log.level",
        "mapreduce.reduce.log.level",
    ),
    ("mapred.reduce.max.attempts", "mapreduce.reduce.maxattempts"),
    (
        "mapred.reduce.parallel.copies",
        "mapreduce.reduce.shuffle.parallelcopies",
    ),
    (
        "mapred.reduce.slowstart.completed.maps",
        "mapreduce.job.reduce.slowstart.completedmaps",
    ),
    ("mapred.reduce.tasks", "mapreduce.job.reduces"),
    (
        "mapred.reduce.tasks.speculative.execution",
        "mapreduce.reduce.speculative",
    ),
    (
        "mapred.shuffle.connect.timeout",
        "mapreduce.reduce.shuffle.connect.timeout",
    ),
    (
        "mapred.shuffle.read.timeout",
        "mapreduce.reduce.shuffle.read.timeout",
    ),
    (
        "mapred.skip.map.max.skip.records",
        "mapreduce.map.skip.maxrecords",
    ),
    (
        "mapred.skip.reduce.max.skip.groups",
        "mapreduce.reduce.skip.maxgroups",
    ),
    (
        "mapred.speculative.execution.slowTaskThreshold",
        "mapreduce.job.speculative.slowtaskthreshold",
    ),
    (
        "mapred.speculative.execution.speculativeCap",
        "mapreduce.job.speculative.speculative-cap-running-tasks",
    ),
    (
        "mapred.submit.replication",
        "mapreduce.client.submit.file.replication",
    ),
    ("mapred.task.profile", "mapreduce.task.profile"),
    ("mapred.task.timeout", "mapreduce.task.timeout"),
    ("mapred.temp.dir", "mapreduce.cluster.temp.dir"),
    (
        "mapred.textoutputformat.separator",
        "mapreduce.output.textoutputformat.separator",
    ),
    (
        "mapred.used.genericoptionsparser",
        "mapreduce.client.genericoptionsparser.used",
    ),
    ("mapred.userlog.limit.kb", "mapreduce.task.userlog.limit.kb"),
    ("mapreduce.job.counters.limit", "mapreduce.job.counters.max"),
    (
        "mapreduce.user.classpath.first",
        "mapreduce.job.user.classpath.first",
    ),
    ("user.name", "mapreduce.job.user.name"),
];

/// The name that a setting has today.
#[must_use]
pub fn current(name: &str) -> &str {
    let at = RENAMED.binary_search_by_key(&name, |&(old, _)| old).ok();
    at.and_then(|at| RENAMED.get(at))
        .map_or(name, |&(_, new)| new)
}

/// Names that the setting `name` had before.
pub fn former(name: &str) -> impl Iterator<Item = &'static str> + '_ {
    let of_it = RENAMED.iter().filter(move |(_, new)| *new == name);
    of_it.map(|(old, _)| *old)
}

/// What the user is told who gives a setting by its old name.
#[must_use]
pub fn remark(name: &str) -> Option<String> {
    let new = current(name);
    (new != name).then(|| format!("{name} is called {new} today, and is taken as that"))
}

#[cfg(test)]
mod tests {
    use super::{RENAMED, current, former, remark};
    use crate::settings::{Standing, standing};

    #[test]
    fn each_old_name_leads_to_a_setting_that_is_known() {
        assert!(RENAMED.is_sorted_by(|a, b| a.0 < b.0));
        for (old, new) in RENAMED {
            assert_eq!((current(old), current(new)), (*new, *new), "renamed twice");
            assert!(former(new).any(|former| former == *old));
            let known = standing(new);
            assert!(
                matches!(known, Standing::Known | Standing::Idle(_)),
                "{new}: {known:?}"
            );
            // An old name counts as much as the new one.
            assert_eq!(standing(old), known, "{old}");
        }
        assert_eq!(current("my.own"), "my.own");
        let said = remark("mapred.reduce.tasks").unwrap();
        assert_eq!(
            said,
            "mapred.reduce.tasks is called mapreduce.job.reduces today, and is taken as that"
        );
        assert_eq!(remark("mapreduce.job.reduces"), None);
    }
}
