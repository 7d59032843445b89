//! Finds the program and decides whether the nodes could start it.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use super::elf::{Elf, ElfError, ElfKind, Machine};
use super::error::StageError;

/// What the kernel will do with a program.
#[derive(Debug)]
pub enum ProgramKind {
    /// Start it, with its dynamic linker if it has one.
    Elf(Box<Elf>),
    /// Start the interpreter that its first line names. What the interpreter needs is the node's.
    Script,
}

/// A program that the kernel would start.
#[derive(Debug)]
pub struct ProgramFile {
    /// Absolute, without symbolic links.
    pub path: PathBuf,
    /// File name as the user gave it, which symbolic links may change.
    pub name: String,
    /// How it is started.
    pub kind: ProgramKind,
}

/// The file that a name means: with a slash it is a path; without one it is searched in the folders
/// of `path_variable` (the value of `PATH`) and then in the working folder, as `mpiexec` does.
///
/// # Errors
///
/// [`StageError::ProgramNotFound`].
pub fn locate(name: &Path, path_variable: Option<&OsStr>) -> Result<PathBuf, StageError> {
    let not_found = |looked: String| StageError::ProgramNotFound {
        program: name.display().to_string(),
        looked,
    };
    if name.components().count() == 1 && !name.is_absolute() && !name.as_os_str().is_empty() {
        if let Some(value) = path_variable {
            for folder in env::split_paths(value) {
                let candidate = folder.join(name);
                if candidate.is_file() && access(&candidate, AccessFlags::X_OK).is_ok() {
                    return Ok(candidate);
                }
            }
        }
        if name.exists() {
            return Ok(name.to_path_buf());
        }
        let value = path_variable.map_or_else(|| "unset".into(), OsStr::to_string_lossy);
        return Err(not_found(format!(
            "in PATH ({value}) and in the working folder"
        )));
    }
    if name.exists() {
        return Ok(name.to_path_buf());
    }
    let absolute = std::path::absolute(name).unwrap_or_else(|_empty| name.to_path_buf());
    Err(not_found(format!("at {}", absolute.display())))
}

/// Reads what a program is.
///
/// # Errors
///
/// It is a folder, not executable, nothing that the kernel starts, or built for another machine
/// than `wanted`.
pub fn inspect(found: &Path, wanted: Machine) -> Result<ProgramFile, StageError> {
    let local = |doing: &'static str| {
        let path = found.to_path_buf();
        move |source| StageError::Local {
            doing,
            path,
            source,
        }
    };
    let path = fs::canonicalize(found).map_err(local("finding"))?;
    let metadata = fs::metadata(&path).map_err(local("looking at"))?;
    if metadata.is_dir() {
        return Err(StageError::ProgramIsFolder { path });
    }
    let not_a_program = |what: String| StageError::NotAProgram {
        path: path.clone(),
        what,
    };
    if !metadata.is_file() {
        return Err(not_a_program("neither a file nor a folder".into()));
    }
    if access(&path, AccessFlags::X_OK).is_err() {
        let mode = metadata.permissions().mode() & 0o7777;
        return Err(StageError::NotExecutable { path, mode });
    }
    let kind = match Elf::read(&path) {
        Ok(Some(elf)) => {
            let what = match elf.form {
                ElfKind::Linked => None,
                ElfKind::Object => Some("an object file that is not linked yet"),
                ElfKind::Core => Some("the core file of a crash"),
                ElfKind::Unknown => Some("an ELF file of an unknown type"),
            };
            if let Some(what) = what {
                return Err(not_a_program(what.into()));
            }
            if elf.machine != wanted {
                return Err(StageError::WrongArchitecture {
                    path,
                    found: elf.machine.to_string(),
                    wanted: wanted.to_string(),
                });
            }
            ProgramKind::Elf(Box::new(elf))
        }
        Ok(None) => {
            let mut start = [0; 2];
            let mut file = File::open(&path).map_err(local("reading"))?;
            if file.read_exact(&mut start).is_err() || start != *b"#!" {
                return Err(not_a_program(
                    "neither an ELF program nor a script that begins with #!; a script for the shell begins with the line \
                     #!/bin/sh, or is run by sh"
                        .into(),
                ));
            }
            ProgramKind::Script
        }
        Err(ElfError::Read(source)) => return Err(local("reading")(source)),
        Err(damaged @ ElfError::Malformed { .. }) => {
            return Err(not_a_program(damaged.to_string()));
        }
    };
    let name = found.file_name().or_else(|| path.file_name());
    let name = name.unwrap_or(OsStr::new("program"));
    Ok(ProgramFile {
        name: name.to_string_lossy().into_owned(),
        path,
        kind,
    })
}

/// The machine that a file of ours is built for.
///
/// # Errors
///
/// The file cannot be read.
pub fn machine_of(path: &Path) -> Result<Machine, StageError> {
    match Elf::read(path) {
        Ok(Some(elf)) => Ok(elf.machine),
        Ok(None) => Err(StageError::NotAProgram {
            path: path.to_path_buf(),
            what: "no ELF program".into(),
        }),
        Err(ElfError::Read(source)) => Err(StageError::Local {
            doing: "reading",
            path: path.to_path_buf(),
            source,
        }),
        Err(damaged @ ElfError::Malformed { .. }) => Err(StageError::NotAProgram {
            path: path.to_path_buf(),
            what: damaged.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> Machine {
        machine_of(&env::current_exe().unwrap()).unwrap()
    }

    fn file(folder: &Path, name: &str, mode: u32, bytes: &[u8]) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn each_thing_that_is_no_program_is_called_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let words = |path: &Path| inspect(path, ours()).unwrap_err().to_string();
        assert!(words(folder).ends_with("is a folder, not a program"));
        let closed = file(folder, "closed", 0o644, b"#!/bin/sh\n");
        let said = words(&closed);
        assert!(said.contains("0644") && said.contains("chmod +x"), "{said}");
        let text = file(folder, "text", 0o755, b"hello");
        assert!(words(&text).contains("begins with #!"));
        let empty = file(folder, "empty", 0o755, b"");
        assert!(words(&empty).contains("begins with #!"));
        let cut = file(folder, "cut", 0o755, b"\x7fELF\x02\x01");
        assert!(words(&cut).contains("damaged ELF"));
        let mut arm = vec![0; 64];
        arm[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        arm[16] = 2;
        arm[18] = 183;
        let other = file(folder, "arm", 0o755, &arm);
        let said = words(&other);
        assert!(
            said.contains("aarch64") && said.contains(&ours().to_string()),
            "{said}"
        );
        arm[16] = 1;
        let object = file(folder, "object.o", 0o755, &arm);
        assert!(words(&object).contains("not linked"));
    }

    #[test]
    fn scripts_and_programs_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let script = file(folder.path(), "script", 0o755, b"#!/bin/sh\n");
        assert!(matches!(
            inspect(&script, ours()).unwrap().kind,
            ProgramKind::Script
        ));
        let shell = inspect(Path::new("/bin/sh"), ours()).unwrap();
        assert!(matches!(shell.kind, ProgramKind::Elf(_)));
        assert_eq!(shell.name, "sh");
    }

    #[test]
    fn a_bare_name_is_searched_and_a_path_is_not() {
        let path = OsStr::new("/nonexistent:/bin:/usr/bin");
        assert_eq!(
            locate(Path::new("sh"), Some(path)).unwrap(),
            Path::new("/bin/sh")
        );
        let lost = locate(Path::new("no-such-program"), Some(path)).unwrap_err();
        assert!(lost.to_string().contains("/nonexistent:/bin"));
        let lost = locate(Path::new("./sh"), Some(path)).unwrap_err();
        assert!(lost.to_string().contains("looked at /"), "{lost}");
        assert_eq!(lost.exit(), job::exit::Exit::NotFound);
    }
}
