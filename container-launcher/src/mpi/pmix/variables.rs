//! What a rank of Open MPI finds in its environment beside its server's variables.

use std::path::Path;

/// For all ranks, where the user has set nothing else. `folder` is the server's; ranks that `yields` give up their core
/// while they wait.
pub(super) fn suggested(
    folder: &Path,
    cross_memory: bool,
    yields: bool,
) -> Vec<(&'static str, String)> {
    let folder = folder.display().to_string();
    let mut variables = vec![
        // Two containers of one host have processes of the same names: what they share is each container's own.
        ("OMPI_MCA_btl_vader_backing_directory", folder.clone()),
        ("OMPI_MCA_btl_sm_backing_directory", folder.clone()),
        ("OMPI_MCA_orte_tmpdir_base", folder),
        // The launcher binds.
        ("OMPI_MCA_hwloc_base_binding_policy", "none".to_owned()),
        // Open MPI 4 takes a process for a job of one unless it knows who has started it; this it takes for a launcher
        // that speaks PMIx. Nobody else reads it.
        ("JSM_JSRUN_PORT", "0".to_owned()),
        // Plug-ins for network cards come along, and a node without the card has not the card's library.
        (
            "OMPI_MCA_mca_base_component_show_load_errors",
            "0".to_owned(),
        ),
    ];
    if yields {
        variables.push(("OMPI_MCA_mpi_yield_when_idle", "1".to_owned()));
    }
    if !cross_memory {
        // Of Open MPI 4, and of 5, which tries it again for each message, and waits for ever for what is put into a window.
        for (name, value) in [
            ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
            ("OMPI_MCA_smsc", "^cma"),
        ] {
            variables.push((name, value.to_owned()));
        }
    }
    variables
}

/// Whether a rank has this of [`suggested`]. Open MPI 4 hands all that begins with `OMPI_` on to what it spawns, which may run
/// in another container, and with more or fewer beside it.
pub(super) fn is_suggested(folder: &Path, name: &str, value: &str) -> bool {
    let all = suggested(folder, false, true);
    all.iter()
        .any(|(own, suggested)| *own == name && suggested == value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_yield_and_copy_where_they_must() {
        let all = |cross_memory, yields| suggested(Path::new("/c/f"), cross_memory, yields);
        let has = |all: &[(&str, String)], name: &str| all.iter().any(|(of, _)| *of == name);
        let idle = "OMPI_MCA_mpi_yield_when_idle";
        let copies = ["OMPI_MCA_btl_vader_single_copy_mechanism", "OMPI_MCA_smsc"];
        let usual = all(true, false);
        assert!(!has(&usual, idle) && !copies.iter().any(|copy| has(&usual, copy)));
        let own = ("OMPI_MCA_btl_sm_backing_directory", "/c/f".to_owned());
        assert!(usual.contains(&own));
        assert!(has(&all(true, true), idle));
        let refused = all(false, false);
        assert!(copies.iter().all(|copy| has(&refused, copy)));
        // What the user has set is another's.
        let idle = |value| is_suggested(Path::new("/c/f"), idle, value);
        assert!(idle("1") && !idle("0"));
        let folder = "OMPI_MCA_btl_vader_backing_directory";
        assert!(is_suggested(Path::new("/c/f"), folder, "/c/f"));
        assert!(!is_suggested(Path::new("/c/f"), folder, "/dev/shm"));
    }
}
