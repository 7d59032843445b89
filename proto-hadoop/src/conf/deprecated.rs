//! Keys that Hadoop has renamed, of those that a YARN and HDFS client uses: `defaultDeprecations` of
//! `org.apache.hadoop.conf.Configuration`, `addDeprecatedKeys` of `HdfsConfiguration`. A file that has an
//! old name sets the new one, in the place of the file where it stands; so a later line of either wins.

/// Old name and new, sorted by the old one.
const RENAMED: &[(&str, &str)] = &[
    ("dfs.block.size", "dfs.blocksize"),
    ("dfs.federation.nameservices", "dfs.nameservices"),
    ("dfs.socket.timeout", "dfs.client.socket-timeout"),
    ("dfs.umaskmode", "fs.permissions.umask-mode"),
    ("dfs.write.packet.size", "dfs.client-write-packet-size"),
    ("fs.default.name", "fs.defaultFS"),
    ("io.bytes.per.checksum", "dfs.bytes-per-checksum"),
];

/// The name that `key` has today.
pub(crate) fn current(key: &str) -> &str {
    let at = RENAMED.binary_search_by_key(&key, |&(old, _)| old).ok();
    at.and_then(|at| RENAMED.get(at))
        .map_or(key, |&(_, new)| new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_so_that_all_are_found() {
        assert!(RENAMED.is_sorted_by(|a, b| a.0 < b.0));
        for (old, new) in RENAMED {
            assert_eq!(current(old), *new);
            assert_eq!(current(new), *new, "renamed twice");
        }
        assert_eq!(
            current("yarn.resourcemanager.hostname"),
            "yarn.resourcemanager.hostname"
        );
    }
}
