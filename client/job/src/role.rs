//! One binary, nine roles.
//!
//! The file that the user copied is client, ApplicationMaster, launcher, the launcher's four helpers, the
//! cluster of a session that needs none of Hadoop's, and the program of maps and reduces that runs commands;
//! which of them a process is, its first argument says.

/// What a process of this binary is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Keeps one job alive; started by YARN.
    Appmaster,
    /// Runs the ranks of one container; started by YARN for the ApplicationMaster.
    ContainerLauncher,
    /// Sweeps a container's processes when its launcher dies; started by the launcher.
    Warden,
    /// Writes down what the node is made of; started by the launcher.
    Topology,
    /// Asks the libraries of a node's devices, which may crash or hang; started by the launcher, and once more
    /// by itself for each library.
    Probe,
    /// Serves the ranks of one job in one container by PMIx, out of their own libpmix, which has threads of its own
    /// and may crash; started by the launcher.
    Pmix,
    /// Is a cluster of this machine for as long as a session runs in it; started by the client.
    LocalCluster,
    /// Is a program of maps and reduces, whose mappers and reducers are commands; started as any such program is.
    Streaming,
}

impl Role {
    /// The first argument that selects this role. Users never type it.
    #[must_use]
    pub const fn argument(self) -> &'static str {
        match self {
            Self::Appmaster => "--as=appmaster",
            Self::ContainerLauncher => "--as=container-launcher",
            Self::Warden => "--as=warden",
            Self::Topology => "--as=topology",
            Self::Probe => "--as=probe",
            Self::Pmix => "--as=pmix",
            Self::LocalCluster => "--as=local-cluster",
            Self::Streaming => "--as=streaming",
        }
    }

    /// The role that a first argument selects; `None` is the client.
    #[must_use]
    pub fn from_argument(argument: &str) -> Option<Self> {
        let roles = [
            Self::Appmaster,
            Self::ContainerLauncher,
            Self::Warden,
            Self::Topology,
            Self::Probe,
            Self::Pmix,
            Self::LocalCluster,
            Self::Streaming,
        ];
        roles.into_iter().find(|role| role.argument() == argument)
    }
}

/// Link name of this project's binary in the working directory of every container.
pub const BINARY_LINK: &str = "gerbil-run";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_is_found_by_its_own_argument() {
        for role in [
            Role::Appmaster,
            Role::ContainerLauncher,
            Role::Warden,
            Role::Topology,
            Role::Probe,
            Role::Pmix,
            Role::LocalCluster,
            Role::Streaming,
        ] {
            assert_eq!(Role::from_argument(role.argument()), Some(role));
        }
        assert_eq!(Role::from_argument("./cpi"), None);
    }
}
