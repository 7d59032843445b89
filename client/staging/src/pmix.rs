//! The libpmix of a program of Open MPI.

use std::path::{Path, PathBuf};

use super::libraries::Closure;

/// The name by which Open MPI, or its plug-in, needs it.
const LIBRARY: &str = "libpmix.so.2";
/// Where Debian's Open MPI 4 has the plug-in that needs it, and where it finds it, below the folder of `libmpi.so.40`.
const PLUG_IN: &str = "openmpi/lib/openmpi3/mca_pmix_ext3x.so";
/// The library that tells where the others are.
const MPI: &str = "libmpi.so.40";

/// The one that a program with these libraries loads, as far as it is known.
pub(super) fn library(closure: &Closure) -> Option<PathBuf> {
    let source = |name: &str| {
        let found = closure
            .shipped
            .iter()
            .find(|shipped| shipped.inside == name);
        found.map(|shipped| shipped.source.clone())
    };
    source(LIBRARY).or_else(|| of_plug_in(source(MPI)?.parent()?))
}

/// Where it is in the folder `libraries` on the nodes, if it comes with the others.
pub(super) fn shipped(closure: &Closure, libraries: Option<&str>) -> Option<String> {
    let mut shipped = closure.shipped.iter();
    let is_there = shipped.any(|shipped| shipped.inside == LIBRARY);
    libraries
        .filter(|_| is_there)
        .map(|folder| format!("{folder}/{LIBRARY}"))
}

/// Open MPI 4 needs it in a plug-in alone, which finds it beside the other libraries.
fn of_plug_in(folder: &Path) -> Option<PathBuf> {
    let library = folder.join(LIBRARY);
    (folder.join(PLUG_IN).is_file() && library.is_file()).then_some(library)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::libraries::Shipped;

    fn closure(shipped: &[(&str, PathBuf)]) -> Closure {
        Closure {
            shipped: shipped
                .iter()
                .map(|(inside, source)| Shipped {
                    inside: (*inside).to_owned(),
                    source: source.clone(),
                })
                .collect(),
            ..Closure::default()
        }
    }

    #[test]
    fn open_mpi_5_needs_it_and_open_mpi_4_has_a_plug_in_that_does() {
        let five = closure(&[
            (MPI, "/v/lib/libmpi.so.40".into()),
            (LIBRARY, "/v/lib/openmpi/libpmix.so.2.13".into()),
        ]);
        assert_eq!(
            library(&five),
            Some("/v/lib/openmpi/libpmix.so.2.13".into())
        );
        let there = shipped(&five, Some("gerbil-lib-2"));
        assert_eq!(there.as_deref(), Some("gerbil-lib-2/libpmix.so.2"));
        assert_eq!(shipped(&five, None), None);
        let root = tempfile::tempdir().unwrap();
        let four = closure(&[(MPI, root.path().join("libmpi.so.40.30.4"))]);
        assert_eq!(library(&four), None);
        assert_eq!(shipped(&four, Some("gerbil-lib")), None);
        let plug_in = root.path().join(PLUG_IN);
        std::fs::create_dir_all(plug_in.parent().unwrap()).unwrap();
        std::fs::write(&plug_in, "").unwrap();
        // With a PMIx of its own.
        assert_eq!(library(&four), None);
        std::fs::write(root.path().join(LIBRARY), "").unwrap();
        assert_eq!(library(&four), Some(root.path().join(LIBRARY)));
    }
}
