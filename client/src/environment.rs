//! Which of the user's environment variables the ranks see.
//!
//! One rule, which OPTIONS.md has in words. Nodes that are this machine: all of them, as a shell would. Nodes of a
//! cluster: all but those that describe this machine, this login or this Hadoop client, which would be wrong there. Of
//! these the ones that a user sets for programs are named once ([`stay_sentence`]); the others every login has. Nowhere
//! those by which another launcher speaks to its processes. What the command line names always travels.
//!
//! A function that a shell has exported is a variable, too, called `BASH_FUNC_name%%`.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

/// Whose environment it is going to be part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nodes {
    ThisMachine,
    OfACluster,
}

/// What becomes of a variable that the command line does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Travels,
    /// Every login has its own.
    Stays,
    /// Programs may miss it.
    StaysAndIsSaid,
}

/// Names that are of this very process, or by which ranks are told who they are.
const OF_A_PROCESS: [&str; 9] = [
    "_",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "OLDPWD",
    "PWD",
    "RANK",
    "WORLD_SIZE",
];

/// Beginnings of names by which a launcher speaks to its processes.
const OF_A_LAUNCHER: [&str; 6] = [
    "GERBIL_",
    "HYDRA_",
    "HYDI_",
    "OMPI_COMM_WORLD_",
    "PMI_",
    "PMIX_",
];

/// Names that each machine and each login has its own of.
const OF_A_LOGIN: [&str; 18] = [
    "COLUMNS",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "HOME",
    "HOSTNAME",
    "JAVA_HOME",
    "KRB5CCNAME",
    "LINES",
    "LOGNAME",
    "LS_COLORS",
    "MAIL",
    "PATH",
    "SHELL",
    "SHLVL",
    "TERM",
    "TZ",
    "USER",
    "WINDOWID",
];

/// Beginnings of such names.
const OF_A_LOGIN_WITH: [&str; 9] = [
    "BASH_", "CARGO", "HADOOP_", "RUST", "SSH_", "SUDO_", "SYSTEMD_", "XDG_", "YARN_",
];

/// Names of places on this machine that programs may miss.
const OF_THIS_MACHINE: [&str; 6] = [
    "CLASSPATH",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "TEMP",
    "TMP",
    "TMPDIR",
];

/// How bash calls a function that was exported.
const FUNCTION: (&str, &str) = ("BASH_FUNC_", "%%");

fn fate(name: &str, nodes: Nodes) -> Fate {
    let begins = |all: &[&str]| all.iter().any(|start| name.starts_with(start));
    if name.is_empty() || OF_A_PROCESS.contains(&name) || begins(&OF_A_LAUNCHER) {
        return Fate::Stays;
    }
    let is_function = name.starts_with(FUNCTION.0) && name.ends_with(FUNCTION.1);
    if nodes == Nodes::ThisMachine || is_function {
        return Fate::Travels;
    }
    if OF_THIS_MACHINE.contains(&name) {
        return Fate::StaysAndIsSaid;
    }
    match OF_A_LOGIN.contains(&name) || begins(&OF_A_LOGIN_WITH) {
        true => Fate::Stays,
        false => Fate::Travels,
    }
}

/// Set where the user has been told which variables stay here: a list of jobs says it once.
pub(crate) const STAYING_IS_SAID: &str = "GERBIL_STAYING_IS_SAID";

/// One sentence for the variables that programs may miss on the nodes.
pub(crate) fn stay_sentence(names: &BTreeSet<String>) -> Option<String> {
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let first = all.first()?;
    Some(match all.as_slice() {
        [one] => {
            format!("the variable {one} stays on this machine; -x {one} takes it to the nodes")
        }
        _ => format!(
            "the variables {} stay on this machine; -x {first} takes one to the nodes",
            all.join(", ")
        ),
    })
}

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
        nodes: Nodes,
        missing: &mut dyn FnMut(&str),
    ) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = match &self.inherited {
            Inherited::All => own
                .iter()
                .filter(|(name, _)| fate(name, nodes) == Fate::Travels)
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

    /// Names of variables of `own` that programs may miss on the nodes, and that nothing takes there.
    pub(crate) fn stays(&self, own: &BTreeMap<String, String>, nodes: Nodes) -> Vec<String> {
        let is_named = |name: &str| self.variables.iter().any(|named| named.name == name);
        let said = own.iter().filter(|(name, value)| {
            !value.is_empty() && fate(name, nodes) == Fate::StaysAndIsSaid && !is_named(name)
        });
        match self.inherited {
            Inherited::All => said.map(|(name, _)| name.clone()).collect(),
            Inherited::None | Inherited::Named(_) => Vec::new(),
        }
    }
}

/// The value of a variable of this process. What is no UTF-8 in it becomes U+FFFD, which no name, number or path of ours
/// has: their readers refuse it, so it is not taken as unset without a word.
pub(crate) fn variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?;
    Some(value.to_string_lossy().into_owned())
}

/// The user's environment, and the names of those variables that are no UTF-8, which no message to a node can hold.
pub(crate) fn own(
    all: impl Iterator<Item = (OsString, OsString)>,
) -> (BTreeMap<String, String>, BTreeSet<String>) {
    let (mut own, mut no_text) = (BTreeMap::new(), BTreeSet::new());
    for (name, value) in all {
        match (name.into_string(), value.into_string()) {
            (Ok(name), Ok(value)) => {
                own.insert(name, value);
            }
            (name, _) => {
                let shown = |name: OsString| name.to_string_lossy().into_owned();
                no_text.insert(name.unwrap_or_else(shown));
            }
        }
    }
    (own, no_text)
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
        let (own, _) = own(given);
        let rules = EnvironmentRules::default();
        let mut travelling = rules.fulfil(&own, Nodes::OfACluster, &mut |name| panic!("{name}"));
        assert_eq!(
            travelling,
            [
                ("BASH_FUNC_x%%".to_owned(), "() { :; }".to_owned()),
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
    fn what_becomes_of_a_variable_is_one_table() {
        use Fate::{Stays, StaysAndIsSaid, Travels};
        for (name, on_a_cluster, here) in [
            ("OMP_NUM_THREADS", Travels, Travels),
            ("MODULEPATH", Travels, Travels),
            ("a.b", Travels, Travels),
            ("BASH_FUNC_module%%", Travels, Travels),
            ("BASH_ENV", Stays, Travels),
            ("HOME", Stays, Travels),
            ("PATH", Stays, Travels),
            ("TERM", Stays, Travels),
            ("JAVA_HOME", Stays, Travels),
            ("HADOOP_CONF_DIR", Stays, Travels),
            ("LD_LIBRARY_PATH", StaysAndIsSaid, Travels),
            ("LD_PRELOAD", StaysAndIsSaid, Travels),
            ("TMPDIR", StaysAndIsSaid, Travels),
            ("PWD", Stays, Stays),
            ("PMI_RANK", Stays, Stays),
            ("RANK", Stays, Stays),
            ("OMPI_COMM_WORLD_RANK", Stays, Stays),
            ("OMPI_MCA_btl", Travels, Travels),
            ("GERBIL_JOB", Stays, Stays),
            ("", Stays, Stays),
        ] {
            assert_eq!(fate(name, Nodes::OfACluster), on_a_cluster, "{name}");
            assert_eq!(fate(name, Nodes::ThisMachine), here, "{name}");
        }
    }

    #[test]
    fn what_stays_and_may_be_missed_is_said_in_one_sentence() {
        let given = ["LD_PRELOAD", "TMPDIR", "HOME", "A"];
        let given = given.map(|name| (name.to_owned(), "/x".to_owned())).into();
        let mut rules = EnvironmentRules::default();
        let said = |rules: &EnvironmentRules, nodes| {
            stay_sentence(&rules.stays(&given, nodes).into_iter().collect())
        };
        let both = "the variables LD_PRELOAD, TMPDIR stay on this machine; -x LD_PRELOAD takes one";
        assert!(said(&rules, Nodes::OfACluster).unwrap().starts_with(both));
        assert_eq!(said(&rules, Nodes::ThisMachine), None);
        rules.variables.push(Variable {
            name: "LD_PRELOAD".into(),
            value: None,
        });
        let one = "the variable TMPDIR stays on this machine; -x TMPDIR takes it to the nodes";
        assert_eq!(said(&rules, Nodes::OfACluster).as_deref(), Some(one));
        rules.inherited = Inherited::None;
        assert_eq!(said(&rules, Nodes::OfACluster), None);
    }

    #[test]
    fn what_is_no_text_is_known_by_its_name() {
        use std::os::unix::ffi::OsStringExt as _;
        let no_text = || OsString::from_vec(vec![0xff]);
        let (own, bad) = own([("A".into(), "1".into()), ("B".into(), no_text())].into_iter());
        assert_eq!((own.len(), bad.len()), (1, 1));
        assert!(bad.contains("B"));
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
            let missing_too = &mut |name: &str| missing.push(name.to_owned());
            let found = rules.fulfil(&own, Nodes::OfACluster, missing_too);
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
