//! Which of the user's environment variables the ranks see.
//!
//! As under mpiexec, all of them, except those that describe this machine, this login or this
//! Hadoop client: on a node they would be wrong, and YARN sets its own.

use std::collections::BTreeMap;
use std::ffi::OsString;

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
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "LOGNAME",
    "LS_COLORS",
    "MAIL",
    "MASTER_ADDR",
    "MASTER_PORT",
    "OLDPWD",
    "PATH",
    "PWD",
    "RANK",
    "SHELL",
    "SHLVL",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "WORLD_SIZE",
];

/// Beginnings of names that stay here.
const STAYS_WITH: &[&str] = &[
    "BASH_", "CARGO", "GERBIL_", "HADOOP_", "HYDRA_", "HYDI_", "PMI_", "PMIX_", "RUST", "SSH_",
    "SUDO_", "SYSTEMD_", "XDG_", "YARN_",
];

/// What of the user's environment a program inherits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Inherited {
    /// All that makes sense on a node.
    #[default]
    All,
    /// No variable of ours.
    None,
    /// These, whatever they are.
    Named(Vec<String>),
}

/// A variable that the command line names; without a value it has that of the user's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub name: String,
    pub value: Option<String>,
}

/// What the command line says of the environment of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EnvironmentRules {
    pub inherited: Inherited,
    /// In order: a later one of the same name counts.
    pub variables: Vec<Variable>,
}

impl EnvironmentRules {
    /// The environment beyond that of the node, of `own`, which is the user's. First what is
    /// inherited, sorted, so that the same rules give the same job description. `missing` hears of
    /// the names that `own` does not have, once each.
    pub(crate) fn fulfil(
        &self,
        own: &BTreeMap<String, String>,
        missing: &mut dyn FnMut(&str),
    ) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = match &self.inherited {
            Inherited::All => own
                .iter()
                .filter(|(name, _)| travels(name))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            Inherited::None | Inherited::Named(_) => Vec::new(),
        };
        let named = match &self.inherited {
            Inherited::Named(names) => names.as_slice(),
            Inherited::All | Inherited::None => &[],
        };
        let named = named.iter().map(|name| (name, None));
        let variables = self.variables.iter();
        let variables = variables.map(|variable| (&variable.name, variable.value.as_ref()));
        for (name, value) in named.chain(variables) {
            let Some(value) = value.or_else(|| own.get(name)) else {
                missing(name);
                continue;
            };
            found.retain(|(known, _)| known != name);
            found.push((name.clone(), value.clone()));
        }
        found
    }
}

/// The user's environment, without the names and values that are no UTF-8.
pub(crate) fn own(all: impl Iterator<Item = (OsString, OsString)>) -> BTreeMap<String, String> {
    all.filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

fn travels(key: &str) -> bool {
    let plain = key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    plain
        && !key.is_empty()
        && !STAYS.contains(&key)
        && !STAYS_WITH.iter().any(|start| key.starts_with(start))
}

/// Variables that name folders of libraries of this machine: those that travel lie elsewhere.
const LIBRARIES: [&str; 2] = ["FI_PROVIDER_PATH", "I_MPI_ROOT"];

/// Takes out what was inherited of [`LIBRARIES`], for a program whose libraries travel; what `rules` names
/// stays.
pub(crate) fn without_libraries_of_here(
    rules: &EnvironmentRules,
    environment: &mut Vec<(String, String)>,
) {
    let is_named = |name: &str| {
        let named = match &rules.inherited {
            Inherited::Named(names) => names.as_slice(),
            Inherited::All | Inherited::None => &[],
        };
        let variables = rules.variables.iter().map(|variable| &variable.name);
        named.iter().chain(variables).any(|named| named == name)
    };
    environment.retain(|(name, _)| !LIBRARIES.contains(&name.as_str()) || is_named(name));
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
        let own = own(given);
        let rules = EnvironmentRules::default();
        let mut travelling = rules.fulfil(&own, &mut |name| panic!("{name}"));
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

    #[test]
    fn folders_of_libraries_of_this_machine_travel_only_when_they_are_named() {
        let mut rules = EnvironmentRules {
            inherited: Inherited::All,
            variables: vec![Variable {
                name: "I_MPI_ROOT".into(),
                value: None,
            }],
        };
        let all = ["FI_PROVIDER_PATH", "I_MPI_DEBUG", "I_MPI_ROOT"];
        let left = |rules: &EnvironmentRules| {
            let mut environment = all.map(|name| (name.to_owned(), "/x".to_owned())).to_vec();
            without_libraries_of_here(rules, &mut environment);
            let names = environment.into_iter().map(|(name, _)| name);
            names.collect::<Vec<_>>()
        };
        assert_eq!(left(&rules), all[1..]);
        rules.variables.clear();
        assert_eq!(left(&rules), all[1..2]);
        rules.inherited = Inherited::Named(vec!["FI_PROVIDER_PATH".into()]);
        assert_eq!(left(&rules), all[..2]);
    }

    #[test]
    fn what_is_named_travels_whatever_it_is() {
        let own = [("PATH", "/bin"), ("A", "1"), ("B", "2")];
        let own: BTreeMap<String, String> = own
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let variable = |name: &str, value: Option<&str>| Variable {
            name: name.into(),
            value: value.map(Into::into),
        };
        let fulfilled = |inherited, variables: Vec<Variable>| {
            let mut missing = Vec::new();
            let rules = EnvironmentRules {
                inherited,
                variables,
            };
            let found = rules.fulfil(&own, &mut |name| missing.push(name.to_owned()));
            let found: Vec<String> = found.iter().map(|(k, v)| format!("{k}={v}")).collect();
            (found.join(" "), missing.join(" "))
        };
        let named = Inherited::Named(vec!["PATH".into(), "GONE".into()]);
        assert_eq!(
            fulfilled(named, vec![variable("A", Some("9"))]),
            ("PATH=/bin A=9".into(), "GONE".into())
        );
        assert_eq!(fulfilled(Inherited::None, Vec::new()), Default::default());
        assert_eq!(
            fulfilled(
                Inherited::All,
                vec![
                    variable("A", Some("2")),
                    variable("PATH", None),
                    variable("A", Some(""))
                ]
            ),
            ("B=2 PATH=/bin A=".into(), String::new())
        );
    }
}
