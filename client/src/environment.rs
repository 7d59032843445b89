//! Which of the user's environment variables the ranks see.
//!
//! As under mpiexec, all of them, except those that describe this machine, this login or this
//! Hadoop client: on a node they would be wrong, and YARN sets its own.

/// Names that stay here.
const STAYS: &[&str] = &[
    "_",
    "CLASSPATH",
    "COLUMNS",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "HOME",
    "HOSTNAME",
    "JAVA_HOME",
    "KRB5CCNAME",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LINES",
    "LOGNAME",
    "LS_COLORS",
    "MAIL",
    "OLDPWD",
    "PATH",
    "PWD",
    "SHELL",
    "SHLVL",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
];

/// Beginnings of names that stay here.
const STAYS_WITH: &[&str] = &[
    "BASH_", "CARGO", "GERBIL_", "HADOOP_", "HYDRA_", "HYDI_", "PMI_", "PMIX_", "RUST", "SSH_",
    "SUDO_", "SYSTEMD_", "XDG_", "YARN_",
];

/// Of `all`, what travels; sorted, so that the same environment gives the same job description.
/// Names and values that are no UTF-8 stay here too.
pub(crate) fn travelling(
    all: impl Iterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
) -> Vec<(String, String)> {
    let texts =
        all.filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
    let mut travelling: Vec<(String, String)> = texts.filter(|(key, _)| travels(key)).collect();
    travelling.sort();
    travelling
}

fn travels(key: &str) -> bool {
    let plain = key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    plain
        && !key.is_empty()
        && !STAYS.contains(&key)
        && !STAYS_WITH.iter().any(|start| key.starts_with(start))
}

/// What makes MPI libraries talk over `interface`, where the user has not said otherwise.
pub(crate) fn for_interface(interface: &str, environment: &mut Vec<(String, String)>) {
    // UCX; libfabric's tcp and sockets providers.
    for key in ["UCX_NET_DEVICES", "FI_TCP_IFACE", "FI_SOCKETS_IFACE"] {
        if !environment.iter().any(|(known, _)| known == key) {
            environment.push((key.to_owned(), interface.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_set_for_the_program_travels_and_the_machine_stays() {
        let given = [
            ("UCX_TLS", "tcp"),
            ("PATH", "/bin"),
            ("HADOOP_CONF_DIR", "/etc"),
            ("OMP_NUM_THREADS", "2"),
            ("BASH_FUNC_x%%", "() { :; }"),
        ];
        let given = given.into_iter().map(|(k, v)| (k.into(), v.into()));
        let mut travelling = travelling(given);
        assert_eq!(
            travelling,
            [
                ("OMP_NUM_THREADS".to_owned(), "2".to_owned()),
                ("UCX_TLS".to_owned(), "tcp".to_owned())
            ]
        );
        travelling.push(("FI_TCP_IFACE".into(), "eth7".into()));
        for_interface("ib0", &mut travelling);
        assert!(travelling.contains(&("FI_TCP_IFACE".into(), "eth7".into())));
        assert!(travelling.contains(&("UCX_NET_DEVICES".into(), "ib0".into())));
    }
}
