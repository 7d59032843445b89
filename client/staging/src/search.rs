//! Where the dynamic linker looks for a library (ld.so(8)).
//!
//! One thing is left out on purpose: the `glibc-hwcaps` folders, which hold variants for newer
//! processors. The nodes' processors are not known here, so the plain variant travels.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::elf::{Elf, Machine};

/// `include` lines are followed this deep.
const INCLUDE_DEPTH: u32 = 8;

/// What the linker knows before it looks at a program.
#[derive(Debug)]
pub struct Search {
    /// Files for other machines are passed over, as the linker does.
    pub machine: Machine,
    /// `LD_LIBRARY_PATH`, raw.
    library_path: String,
    /// The folders of `/etc/ld.so.conf`, then the built-in ones, in their order.
    system: Vec<PathBuf>,
    /// What `$LIB` may stand for: distributions differ.
    lib_words: Vec<String>,
    /// What `$PLATFORM` stands for.
    platform: String,
}

/// A library that was found.
#[derive(Debug)]
pub struct Library {
    /// Where, as the linker would name it.
    pub path: PathBuf,
    /// What it says.
    pub elf: Elf,
}

/// An object that needs libraries, as far as the search is concerned.
#[derive(Debug)]
pub struct Requester<'a> {
    /// The object and those that loaded it, itself first, the program last.
    pub chain: Vec<(&'a Elf, &'a Path)>,
}

impl Search {
    /// For programs of `machine`, with the value of `LD_LIBRARY_PATH` and the root that the system's
    /// folders are under (`/` outside tests).
    #[must_use]
    pub fn new(machine: Machine, library_path: Option<&OsStr>, root: &Path) -> Self {
        let multiarch = format!("{}-linux-gnu", env::consts::ARCH);
        let mut system = Vec::new();
        configured(
            root,
            &root.join("etc/ld.so.conf"),
            INCLUDE_DEPTH,
            &mut system,
        );
        for folder in [
            format!("lib/{multiarch}"),
            format!("usr/lib/{multiarch}"),
            "lib64".into(),
            "usr/lib64".into(),
            "lib".into(),
            "usr/lib".into(),
        ] {
            system.push(root.join(folder));
        }
        let mut seen = BTreeSet::new();
        system.retain(|folder| seen.insert(folder.clone()));
        Self {
            machine,
            library_path: library_path
                .map_or_else(String::new, |value| value.to_string_lossy().into_owned()),
            system,
            lib_words: vec![format!("lib/{multiarch}"), "lib64".into(), "lib".into()],
            platform: env::consts::ARCH.into(),
        }
    }

    /// The folders that are searched for what an object needs, in order, each once.
    #[must_use]
    pub fn folders(&self, requester: &Requester<'_>) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        let Some((object, path)) = requester.chain.first() else {
            return folders;
        };
        if object.runpath.is_none() {
            for (loader, path) in &requester.chain {
                self.expand(loader.rpath.as_deref().unwrap_or(""), path, &mut folders);
            }
        }
        if let Some((_, program)) = requester.chain.last() {
            let list = self.library_path.replace(';', ":");
            self.expand(&list, program, &mut folders);
        }
        self.expand(object.runpath.as_deref().unwrap_or(""), path, &mut folders);
        if !object.no_default_folders {
            folders.extend(self.system.iter().cloned());
        }
        let mut seen = BTreeSet::new();
        folders.retain(|folder| seen.insert(folder.clone()));
        folders
    }

    /// The first file of that name for the right machine.
    #[must_use]
    pub fn find(&self, name: &str, folders: &[PathBuf]) -> Option<Library> {
        folders.iter().find_map(|folder| {
            let path = folder.join(name);
            // Unreadable and damaged files are passed over: a later folder may have a good one.
            let elf = Elf::read(&path).ok()??;
            (elf.machine == self.machine).then_some(Library { path, elf })
        })
    }

    /// The library of that name that a program without a search path of its own loads.
    #[must_use]
    pub fn find_for_any(&self, name: &str) -> Option<PathBuf> {
        let mut folders = Vec::new();
        self.expand(
            &self.library_path.replace(';', ":"),
            Path::new("/"),
            &mut folders,
        );
        folders.extend(self.system.iter().cloned());
        self.find(name, &folders).map(|found| found.path)
    }

    /// A colon-separated list with `$ORIGIN`, `$LIB` and `$PLATFORM` replaced. Empty elements, which
    /// mean the working folder, are left out: what lies there by chance should not travel.
    fn expand(&self, list: &str, object: &Path, into: &mut Vec<PathBuf>) {
        let origin = object.parent().unwrap_or(Path::new("/")).to_string_lossy();
        for element in list.split(':').filter(|element| !element.is_empty()) {
            let element = replace(element, "ORIGIN", &origin);
            let element = replace(&element, "PLATFORM", &self.platform);
            if element.contains("$LIB") || element.contains("${LIB}") {
                for word in &self.lib_words {
                    into.push(replace(&element, "LIB", word).into());
                }
            } else {
                into.push(element.into());
            }
        }
    }
}

fn replace(text: &str, token: &str, value: &str) -> String {
    text.replace(&format!("${{{token}}}"), value)
        .replace(&format!("${token}"), value)
}

/// The folders of one `ld.so.conf`, in the order of its lines.
fn configured(root: &Path, file: &Path, depth: u32, into: &mut Vec<PathBuf>) {
    let Ok(text) = fs::read(file) else {
        return;
    };
    for line in String::from_utf8_lossy(&text).lines() {
        let line = line.split('#').next().unwrap_or("").trim();
        let under_root = |path: &str| root.join(path.trim_start_matches('/'));
        if let Some(pattern) = line.strip_prefix("include").map(str::trim) {
            if depth == 0 {
                continue;
            }
            let pattern = if pattern.starts_with('/') {
                under_root(pattern)
            } else {
                file.parent().unwrap_or(root).join(pattern)
            };
            for file in matching(&pattern) {
                configured(root, &file, depth - 1, into);
            }
        } else if line.starts_with('/') {
            // An old form gives a type after the folder: /folder=libc6.
            into.push(under_root(line.split('=').next().unwrap_or(line)));
        }
    }
}

/// Files of a pattern whose last part may have one asterisk, sorted as a shell would.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (pattern.parent(), pattern.file_name()) else {
        return Vec::new();
    };
    let name = name.as_bytes();
    let Some(star) = name.iter().position(|byte| *byte == b'*') else {
        return vec![pattern.to_path_buf()];
    };
    let (start, end) = (&name[..star], &name[star + 1..]);
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.as_bytes();
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        })
        .map(|entry| entry.path())
        .collect();
    sort::ascending(&mut files);
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Elf {
        let mut elf = Elf::read(&env::current_exe().unwrap()).unwrap().unwrap();
        elf.rpath = None;
        elf.runpath = None;
        elf
    }

    #[test]
    fn folders_come_in_the_order_of_the_linker() {
        let root = tempfile::tempdir().unwrap();
        let etc = root.path().join("etc/ld.so.conf.d");
        fs::create_dir_all(&etc).unwrap();
        fs::write(
            root.path().join("etc/ld.so.conf"),
            "# first\ninclude /etc/ld.so.conf.d/*.conf\n/opt/last\n",
        )
        .unwrap();
        fs::write(etc.join("b.conf"), "/opt/b # why\n").unwrap();
        fs::write(etc.join("a.conf"), "/opt/a=libc6\n").unwrap();
        fs::write(etc.join("c.conf.old"), "/opt/c\n").unwrap();
        let elf = plain();
        let search = Search::new(
            elf.machine,
            Some(OsStr::new("/env:$ORIGIN/env;/z")),
            root.path(),
        );

        let mut program = elf.clone();
        program.rpath = Some("$ORIGIN/../lib:/program".into());
        let mut library = elf.clone();
        library.rpath = Some("${ORIGIN}/own:/$LIB/x".into());
        let (program_path, library_path) = (Path::new("/p/bin/run"), Path::new("/l/lib.so"));
        let chain = vec![(&library, library_path), (&program, program_path)];
        let folders = search.folders(&Requester { chain });
        let multiarch = format!("{}-linux-gnu", env::consts::ARCH);
        let wanted: Vec<PathBuf> = [
            "/l/own".into(),
            format!("/lib/{multiarch}/x"),
            "/lib64/x".into(),
            "/lib/x".into(),
            "/p/bin/../lib".into(),
            "/program".into(),
            "/env".into(),
            "/p/bin/env".into(),
            "/z".into(),
        ]
        .map(PathBuf::from)
        .to_vec();
        assert_eq!(folders[..9], wanted);
        let under = |path: &str| root.path().join(path);
        assert_eq!(
            folders[9..12],
            [under("opt/a"), under("opt/b"), under("opt/last")]
        );
        assert_eq!(folders[12], under(&format!("lib/{multiarch}")));

        // A RUNPATH turns off every RPATH, its loaders' included, and comes after the environment.
        library.rpath = None;
        library.runpath = Some("$ORIGIN".into());
        let chain = vec![(&library, library_path), (&program, program_path)];
        let folders = search.folders(&Requester { chain });
        let wanted = ["/env", "/p/bin/env", "/z", "/l"].map(PathBuf::from);
        assert_eq!(folders[..4], wanted);

        library.no_default_folders = true;
        let chain = vec![(&library, library_path), (&program, program_path)];
        assert_eq!(search.folders(&Requester { chain }).len(), 4);
    }

    #[test]
    fn files_for_other_machines_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let (other, ours) = (folder.path().join("other"), folder.path().join("ours"));
        for folder in [&other, &ours] {
            fs::create_dir(folder).unwrap();
        }
        let mut arm = vec![0; 64];
        arm[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        arm[18] = 40;
        fs::write(other.join("libx.so"), arm).unwrap();
        fs::copy(env::current_exe().unwrap(), ours.join("libx.so")).unwrap();
        let search = Search::new(plain().machine, None, Path::new("/"));
        let found = search
            .find("libx.so", &[other.clone(), ours.clone()])
            .unwrap();
        assert_eq!(found.path, ours.join("libx.so"));
        assert!(search.find("libx.so", &[other]).is_none());
    }
}
