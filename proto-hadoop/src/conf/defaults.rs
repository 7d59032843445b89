//! Hadoop's own defaults of the keys that a YARN client uses, as in core-default.xml,
//! hdfs-default.xml and yarn-default.xml of 3.4 (those of 2.10 are the same unless said otherwise).

/// Sorted by key.
const DEFAULTS: &[(&str, &str)] = &[
    ("fs.defaultFS", "file:///"),
    ("hadoop.rpc.protection", "authentication"),
    ("hadoop.security.authentication", "simple"),
    ("hadoop.security.authorization", "false"),
    ("hadoop.tmp.dir", "/tmp/hadoop-${user.name}"),
    ("ipc.client.connect.timeout", "20000"),
    ("ipc.ping.interval", "60000"),
    ("yarn.acl.enable", "false"),
    // 600000 up to 3.3; the smaller one is safe with both.
    ("yarn.am.liveness-monitor.expiry-interval-ms", "600000"),
    ("yarn.http.policy", "HTTP_ONLY"),
    ("yarn.log-aggregation-enable", "false"),
    ("yarn.nodemanager.pmem-check-enabled", "true"),
    ("yarn.nodemanager.remote-app-log-dir", "/tmp/logs"),
    ("yarn.nodemanager.remote-app-log-dir-suffix", "logs"),
    ("yarn.nodemanager.vmem-check-enabled", "true"),
    ("yarn.nodemanager.vmem-pmem-ratio", "2.1"),
    ("yarn.resourcemanager.am.max-attempts", "2"),
    ("yarn.resourcemanager.ha.enabled", "false"),
    (
        "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms",
        "600000",
    ),
    ("yarn.scheduler.include-port-in-node-name", "false"),
    ("yarn.scheduler.maximum-allocation-mb", "8192"),
    ("yarn.scheduler.maximum-allocation-vcores", "4"),
    ("yarn.scheduler.minimum-allocation-mb", "1024"),
    ("yarn.scheduler.minimum-allocation-vcores", "1"),
];

pub(crate) fn of(key: &str) -> Option<&'static str> {
    let at = DEFAULTS
        .binary_search_by_key(&key, |&(name, _)| name)
        .ok()?;
    DEFAULTS.get(at).map(|&(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_so_that_all_are_found() {
        assert!(DEFAULTS.is_sorted_by(|a, b| a.0 < b.0));
        for (key, value) in DEFAULTS {
            assert_eq!(of(key), Some(*value));
        }
        assert_eq!(of("yarn.resourcemanager.hostname"), None);
    }
}
