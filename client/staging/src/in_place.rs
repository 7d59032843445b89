//! Whether a program runs where it lies, or as a copy that is brought to the nodes.
//!
//! A copy under a digest finds nothing that lies beside the program: `java` its libraries, `gcc` its compilers,
//! an interpreter its modules. Where the nodes are this machine the program is there already and runs where it
//! lies. On a cluster the nodes' own file runs where every node has the same one at the same path, if the user asks
//! for it, and without being asked where it is likely installed: an interpreter, or a file outside of the home
//! folder. Who has it is seen when the job starts; the copy is staged in any case.

use std::path::{Component, Path, PathBuf};

/// What is wished of the file that runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgramPlace {
    /// The nodes are this machine.
    Here,
    /// That of the nodes where all have the same.
    Asked,
    /// The same for what is likely installed there.
    #[default]
    Usual,
    /// The copy, whatever the nodes have.
    Copy,
}

/// Which file runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// The user's own.
    Own,
    /// The nodes' own where it is the same on all, else a copy; and whether the user asked for that.
    IfSame {
        /// He did.
        asked: bool,
    },
    /// A copy.
    Copy,
}

/// Where a program lies.
#[derive(Clone, Copy, Debug)]
pub struct Lies<'a> {
    /// As the user names it, absolute.
    pub named: &'a Path,
    /// Without symbolic links.
    pub real: &'a Path,
    /// The user's home folder, without symbolic links.
    pub home: Option<&'a Path>,
}

/// Which file of a program runs.
#[must_use]
pub fn runs(place: ProgramPlace, lies: Lies<'_>) -> Runs {
    // The nodes are told the path as text.
    if lies.named.to_str().is_none() {
        return Runs::Copy;
    }
    match place {
        ProgramPlace::Here => Runs::Own,
        ProgramPlace::Asked => Runs::IfSame { asked: true },
        ProgramPlace::Usual if is_interpreter(lies.named) || is_outside(lies) => {
            Runs::IfSame { asked: false }
        }
        ProgramPlace::Usual | ProgramPlace::Copy => Runs::Copy,
    }
}

/// Neither the file nor a link to it is in the home folder. A home that is `/` holds everything, and says nothing.
fn is_outside(lies: Lies<'_>) -> bool {
    let Some(home) = lies.home.filter(|home| home.parent().is_some()) else {
        return true;
    };
    !(lies.named.starts_with(home) || lies.real.starts_with(home))
}

/// Interpreters and shells, without the version that may follow their names.
const INTERPRETERS: [&str; 25] = [
    "R",
    "Rscript",
    "awk",
    "bash",
    "csh",
    "dash",
    "deno",
    "gawk",
    "guile",
    "java",
    "julia",
    "ksh",
    "lua",
    "luajit",
    "node",
    "octave",
    "octave-cli",
    "perl",
    "php",
    "pypy",
    "python",
    "ruby",
    "sh",
    "tclsh",
    "zsh",
];

fn is_interpreter(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let is_version = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-');
    name.is_some_and(|name| INTERPRETERS.contains(&name.trim_end_matches(is_version)))
}

/// Folders beside that of a program from which it may want something.
const BESIDE: [&str; 7] = ["etc", "include", "lib", "lib64", "libexec", "share", "conf"];

/// The folder with the rest of what was installed with the program at `real`, as far as its place tells; what a system
/// has for all programs is none.
#[must_use]
pub fn tree(real: &Path, is_folder: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    let folder = real.parent()?;
    let root = folder.parent()?;
    let is_bin = matches!(folder.file_name()?.to_str()?, "bin" | "sbin");
    let is_of_all = ["/", "/usr", "/usr/local"].map(Path::new).contains(&root);
    let has_more = || BESIDE.iter().any(|name| is_folder(&root.join(name)));
    (is_bin && !is_of_all && has_more()).then(|| root.to_path_buf())
}

/// The path of a program in an archive that is unpacked into a folder of one of these names, if it is named by such a
/// path.
#[must_use]
pub fn inside_archive<'a>(
    named: &Path,
    mut archives: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let mut parts = Vec::new();
    for part in named.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => return None,
        }
    }
    let first = parts.first().filter(|_| parts.len() > 1)?;
    archives.any(|name| name == *first).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn what_is_installed_runs_where_it_lies_and_what_the_user_built_is_brought() {
        let same = |asked| Runs::IfSame { asked };
        for (place, named, real, home, wanted) in [
            (
                ProgramPlace::Here,
                "/home/a/p",
                "/home/a/p",
                "/home/a",
                Runs::Own,
            ),
            (
                ProgramPlace::Here,
                "/usr/bin/java",
                "/opt/j/bin/java",
                "/home/a",
                Runs::Own,
            ),
            (
                ProgramPlace::Asked,
                "/home/a/p",
                "/home/a/p",
                "/home/a",
                same(true),
            ),
            (
                ProgramPlace::Asked,
                "/opt/p",
                "/opt/p",
                "/home/a",
                same(true),
            ),
            (
                ProgramPlace::Usual,
                "/home/a/p",
                "/home/a/p",
                "/home/a",
                Runs::Copy,
            ),
            (
                ProgramPlace::Usual,
                "/opt/p",
                "/opt/p",
                "/home/a",
                same(false),
            ),
            (
                ProgramPlace::Usual,
                "/home/ab/p",
                "/home/ab/p",
                "/home/a",
                same(false),
            ),
            // A link on one side of the home folder to the other.
            (
                ProgramPlace::Usual,
                "/opt/p",
                "/home/a/p",
                "/home/a",
                Runs::Copy,
            ),
            (
                ProgramPlace::Usual,
                "/home/a/p",
                "/opt/p",
                "/home/a",
                Runs::Copy,
            ),
            (
                ProgramPlace::Usual,
                "/home/a/c/bin/python3.12",
                "/home/a/c/bin/python3.12",
                "/home/a",
                same(false),
            ),
            (
                ProgramPlace::Usual,
                "/home/a/bin/Rscript",
                "/home/a/bin/Rscript",
                "/home/a",
                same(false),
            ),
            (
                ProgramPlace::Usual,
                "/home/a/bin/pythonic",
                "/home/a/bin/pythonic",
                "/home/a",
                Runs::Copy,
            ),
            (ProgramPlace::Usual, "/x/p", "/x/p", "/", same(false)),
            (
                ProgramPlace::Copy,
                "/usr/bin/java",
                "/usr/bin/java",
                "/home/a",
                Runs::Copy,
            ),
        ] {
            let lies = Lies {
                named: Path::new(named),
                real: Path::new(real),
                home: Some(Path::new(home)),
            };
            assert_eq!(runs(place, lies), wanted, "{place:?} {named} {real} {home}");
        }
        let no_text = Lies {
            named: Path::new(OsStr::from_bytes(b"/opt/\xe9")),
            real: Path::new("/opt/p"),
            home: None,
        };
        assert_eq!(runs(ProgramPlace::Here, no_text), Runs::Copy);
    }

    #[test]
    fn a_tree_is_what_was_installed_together() {
        let there = [
            "/home/a/t/share",
            "/opt/j/lib",
            "/usr/lib",
            "/lib",
            "/usr/local/lib",
            "/home/a/lib",
        ];
        let is_folder = |path: &Path| there.map(Path::new).contains(&path);
        for (program, wanted) in [
            ("/home/a/t/bin/p", Some("/home/a/t")),
            ("/opt/j/bin/java", Some("/opt/j")),
            ("/home/a/bin/p", Some("/home/a")),
            ("/home/a/u/bin/p", None),
            ("/home/a/t/p", None),
            ("/usr/bin/java", None),
            ("/usr/local/bin/p", None),
            ("/bin/sh", None),
        ] {
            let found = tree(Path::new(program), &is_folder);
            assert_eq!(found.as_deref(), wanted.map(Path::new), "{program}");
        }
    }

    #[test]
    fn a_path_into_an_archive_is_one_below_its_name() {
        let archives = ["tree", "other.d"];
        for (named, wanted) in [
            ("tree/bin/p", Some("tree/bin/p")),
            ("./other.d/p", Some("other.d/p")),
            ("tree", None),
            ("trees/bin/p", None),
            ("/tree/bin/p", None),
            ("tree/../p", None),
        ] {
            let found = inside_archive(Path::new(named), archives.into_iter());
            assert_eq!(found.as_deref(), wanted, "{named}");
        }
    }
}
