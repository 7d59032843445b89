//! What device files and libraries are there.

use std::fs;
use std::path::{Path, PathBuf};

use job::element::{Element, ElementKind};

use super::api::Api;
use crate::devices::gpus;
use crate::surroundings::Surroundings;

/// Where libraries are, of a root that is not the machine's own.
const FOLDERS: [&str; 3] = ["usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib"];
/// Where the dynamic linker keeps the names of all libraries.
const CACHE: &str = "etc/ld.so.cache";
/// Where it looks before, if the container was given it.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";
/// Where OpenCL's loader learns of drivers, each a file of this ending.
const DRIVERS: (&str, &str) = ("etc/OpenCL/vendors", "icd");
/// A file of a card behind Xilinx's DMA driver.
const XDMA: (&str, &str) = ("xdma", "_control");

/// What is there.
#[derive(Debug, Default)]
pub(super) struct SeenFiles {
    /// By maker, in the order of the devices' numbers.
    pub(super) gpus: Vec<(&'static str, Vec<String>)>,
    /// Libraries to be asked, as they are loaded.
    pub(super) libraries: Vec<(Api, PathBuf)>,
    cards: Vec<String>,
}

impl SeenFiles {
    pub(super) fn below(root: &Path, around: &Surroundings) -> Self {
        let by_maker = gpus::by_maker(root).into_iter();
        let named = by_maker.map(|(maker, files)| {
            let names = files.iter().map(|file| file.display().to_string());
            (maker, names.collect())
        });
        let libraries = Api::EVERY.into_iter().filter_map(|api| {
            let has_driver = api != Api::OpenCl || has_driver(root);
            let library = library(root, api.library(), around).filter(|_| has_driver)?;
            Some((api, library))
        });
        Self {
            gpus: named.collect(),
            libraries: libraries.collect(),
            cards: cards(&root.join("dev")),
        }
    }

    /// Whether libraries are to be asked.
    pub(super) fn asks(&self) -> bool {
        !self.libraries.is_empty()
    }

    /// Cards, by their files.
    pub(super) fn fpgas(&self) -> Option<Element> {
        (!self.cards.is_empty()).then(|| Element {
            maker: "xilinx".to_owned(),
            count: u32::try_from(self.cards.len()).unwrap_or(u32::MAX),
            evidence: self.cards.clone(),
            ..Element::none_of(ElementKind::Fpga)
        })
    }
}

fn cards(dev: &Path) -> Vec<String> {
    let entries = fs::read_dir(dev).into_iter().flatten().flatten();
    let is_card = |name: &str| {
        let number = name
            .strip_prefix(XDMA.0)
            .and_then(|name| name.strip_suffix(XDMA.1));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let cards = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_card));
    let mut cards: Vec<String> = cards
        .map(|entry| entry.path().display().to_string())
        .collect();
    sort::ascending(&mut cards);
    cards
}

fn has_driver(root: &Path) -> bool {
    let (folder, ending) = DRIVERS;
    let entries = fs::read_dir(root.join(folder)).into_iter().flatten();
    let mut files = entries.flatten().map(|entry| entry.path());
    files.any(|file| file.extension().is_some_and(|own| own == ending))
}

/// How a library is loaded that is there: of the machine itself by its name alone, as everybody loads it.
fn library(root: &Path, name: &str, around: &Surroundings) -> Option<PathBuf> {
    if root != Path::new("/") {
        let all = FOLDERS.iter().map(|folder| root.join(folder).join(name));
        return all.into_iter().find(|file| file.exists());
    }
    let set = around.variable(LIBRARY_PATH).unwrap_or_default();
    let is_set = std::env::split_paths(set).any(|folder| folder.join(name).exists());
    let cache = fs::read(root.join(CACHE)).unwrap_or_default();
    let is_cached = || {
        // Names end with a zero.
        let wanted = [name.as_bytes(), b"\0"].concat();
        cache.windows(wanted.len()).any(|part| part == wanted)
    };
    (is_set || is_cached()).then(|| name.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where that folder is the one of `LD_LIBRARY_PATH`.
    fn around(folder: &str) -> Surroundings {
        Surroundings {
            folder: PathBuf::from("/"),
            environment: [(LIBRARY_PATH.into(), folder.into())].into(),
            executable: PathBuf::from("/bin/false"),
        }
    }

    fn write(root: &Path, path: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    #[test]
    fn libraries_are_asked_where_they_are_and_no_process_is_needed_where_nothing_is() {
        let node = tempfile::tempdir().unwrap();
        let root = node.path();
        let seen = SeenFiles::below(root, &around(""));
        assert!(!seen.asks() && seen.gpus.is_empty() && seen.fpgas().is_none());
        // A loader of OpenCL alone has nobody to ask.
        write(root, "usr/lib/libOpenCL.so.1");
        assert!(!SeenFiles::below(root, &around("")).asks());
        write(root, "etc/OpenCL/vendors/pocl.icd");
        write(root, "usr/lib64/libcuda.so.1");
        let asked = SeenFiles::below(root, &around("")).libraries;
        let cuda = (Api::Cuda, root.join("usr/lib64/libcuda.so.1"));
        let open_cl = (Api::OpenCl, root.join("usr/lib/libOpenCL.so.1"));
        assert_eq!(asked, [cuda, open_cl]);
        write(root, "dev/nvidia0");
        let gpus = SeenFiles::below(root, &around("")).gpus;
        let file = root.join("dev/nvidia0").display().to_string();
        assert_eq!(gpus, [("nvidia", vec![file])]);
    }

    #[test]
    fn cards_are_found_by_their_files() {
        let node = tempfile::tempdir().unwrap();
        let root = node.path();
        for file in [
            "xdma0_control",
            "xdma1_control",
            "xdma0_user",
            "xdma_control",
        ] {
            write(root, &format!("dev/{file}"));
        }
        let found = SeenFiles::below(root, &around("")).fpgas().unwrap();
        assert_eq!((found.maker.as_str(), found.count), ("xilinx", 2));
    }

    #[test]
    fn the_c_library_is_found_in_the_cache() {
        let found = |name| library(Path::new("/"), name, &around(""));
        assert_eq!(found("libc.so.6"), Some("libc.so.6".into()));
        assert_eq!(found("libc.so"), None);
    }

    #[test]
    fn a_library_is_found_where_the_container_was_told_to_look() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "libcuda.so.7");
        let told = around(folder.path().to_str().unwrap());
        let found = |around| library(Path::new("/"), "libcuda.so.7", around);
        assert_eq!(found(&told), Some("libcuda.so.7".into()));
        assert_eq!(found(&around("")), None);
    }
}
