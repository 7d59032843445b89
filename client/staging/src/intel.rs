//! What Intel MPI opens by itself, beyond what its libraries say they need.
//!
//! Its `libmpi.so.12` opens `libfabric.so.1` by name. That loads its providers from the folders that
//! `FI_PROVIDER_PATH` names, and without a provider MPI_Init fails. Below `I_MPI_ROOT` lie tables by which
//! it chooses among its collective operations: without them it runs, not as fast. An installation has
//! all this at fixed places:
//!
//! | | from 2021.11 on | before | packages of pip and conda |
//! |---|---|---|---|
//! | libmpi | `lib` | `lib/release` | `lib` |
//! | libfabric | `opt/mpi/libfabric/lib` | `libfabric/lib` | `lib/libfabric` |
//! | tables | `opt/mpi/etc` | `etc` | `opt/mpi/etc`, `etc` |

use std::fs;
use std::path::{Path, PathBuf};

/// Name of the library that opens [`FABRIC`].
const MPI: &str = "libmpi.so.12";
/// Name under which it does.
pub const FABRIC: &str = "libfabric.so.1";
/// The variables that name folders of the installation, with the place in the shipped folder that
/// takes its place: the providers, and what [`Intel::tables`] are below.
pub const VARIABLES: [(&str, &str); 2] = [("FI_PROVIDER_PATH", "prov"), ("I_MPI_ROOT", "")];

/// What lies with a libmpi of Intel's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intel {
    /// Its libfabric, the providers in a folder `prov` beside it.
    pub fabric: PathBuf,
    /// Paths below the root of the installation, sorted, and the files.
    pub tables: Vec<(String, PathBuf)>,
}

impl Intel {
    /// Of the library `name` at `path`, without symbolic links, which `needed` these others; `None` if
    /// it is not Intel's libmpi. MPICH's has the same name, and says itself that it needs libfabric.
    #[must_use]
    pub fn of(name: &str, path: &Path, needed: &[String]) -> Option<Self> {
        if name != MPI || needed.iter().any(|needed| needed == FABRIC) {
            return None;
        }
        let folder = path.parent()?;
        let roots: Vec<&Path> = folder.ancestors().skip(1).take(2).collect();
        let below = |place| roots.iter().map(move |root| root.join(place));
        let fabric = std::iter::once(folder.join("libfabric"))
            .chain(below("opt/mpi/libfabric/lib"))
            .chain(below("libfabric/lib"))
            .map(|folder| folder.join(FABRIC))
            .find(|fabric| fabric.is_file())?;
        let tables = ["opt/mpi/etc", "etc"]
            .into_iter()
            .filter_map(|place| Some((place, below(place).find(|folder| folder.is_dir())?)))
            .flat_map(|(place, folder)| tables(place, &folder));
        let mut tables: Vec<(String, PathBuf)> = tables.collect();
        sort::ascending(&mut tables);
        Some(Self { fabric, tables })
    }
}

/// The tables in `folder`, which is to be `place`. What cannot be read is done without.
fn tables(place: &str, folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let path = entry.path();
            let is_table = name.starts_with("tuning_") && name.ends_with(".dat") && path.is_file();
            is_table.then(|| (format!("{place}/{name}"), path))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::installed::install;

    #[test]
    fn each_layout_is_known() {
        for (mpi, fabric, table) in [
            ("lib", "opt/mpi/libfabric/lib", "opt/mpi/etc"),
            ("lib/release", "libfabric/lib", "etc"),
            ("lib", "lib/libfabric", "opt/mpi/etc"),
        ] {
            let mpi = format!("{mpi}/{MPI}");
            let fabric = format!("{fabric}/{FABRIC}");
            let table = format!("{table}/tuning_generic_shm.dat");
            let root = install(&[&mpi, &fabric, &table, "etc/other.dat"]);
            let found = Intel::of(MPI, &root.path().join(&mpi), &[]).unwrap();
            let wanted = Intel {
                fabric: root.path().join(fabric),
                tables: vec![(table.clone(), root.path().join(table))],
            };
            assert_eq!(found, wanted);
        }
    }

    #[test]
    fn what_only_sounds_like_it_is_not_it() {
        let root = install(&["lib/libmpi.so.12", "lib/libfabric/libfabric.so.1"]);
        let path = root.path().join("lib/libmpi.so.12");
        assert!(Intel::of("libmpi.so.12", &path, &["libc.so.6".into()]).is_some());
        assert!(Intel::of("libmpi.so.12", &path, &["libfabric.so.1".into()]).is_none());
        assert!(Intel::of("libmpicxx.so.12", &path, &[]).is_none());
        let bare = install(&["lib/libmpi.so.12"]);
        assert!(Intel::of("libmpi.so.12", &bare.path().join("lib/libmpi.so.12"), &[]).is_none());
    }
}
