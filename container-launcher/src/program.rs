//! Can the program run here? Asked before anything is forked, so that the answer is one sentence
//! and not as many as there are ranks.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use job::exit::Exit;
use job::wire::{Program, Refusal, Share};
use nix::unistd::{AccessFlags, access};
use sha2::{Digest as _, Sha256};

use crate::process::start::ProgramCommand;
use crate::{node_facts, regular};

/// Where the machine field of an ELF header ends, bytes.
const ELF_HEAD: usize = 20;
/// Read of a program at once, bytes.
const PIECE: usize = 256 * 1024;
/// `e_machine` of the processors that Hadoop is run on, and the names users know them by.
const MACHINES: [(u16, &str, &str); 6] = [
    (62, "x86_64", "x86-64"),
    (183, "aarch64", "aarch64"),
    (3, "x86", "32-bit x86"),
    (21, "powerpc64", "ppc64"),
    (22, "s390x", "s390x"),
    (243, "riscv64", "RISC-V"),
];

/// A program and the ranks that run it here.
#[derive(Debug)]
pub(crate) struct LocalRanks<'a> {
    /// Its place among those of the job or of the spawn.
    pub(crate) appnum: u32,
    pub(crate) program: &'a Program,
    pub(crate) ranks: Vec<u32>,
}

/// How the processes of a program are started, in this environment.
pub(crate) fn command(
    program: &Program,
    folder: &Path,
    environment: BTreeMap<OsString, OsString>,
) -> ProgramCommand {
    let given = program.environment.iter().map(|pair| pair.key.clone());
    ProgramCommand {
        program: path(program, folder),
        folder: match program.folder.as_str() {
            "" => folder.to_owned(),
            inner => folder.join(inner),
        },
        args: program.args.clone(),
        environment,
        given: given.collect(),
    }
}

/// How a program is called: as its first argument shows it, short where it starts beside its file.
fn path(program: &Program, folder: &Path) -> PathBuf {
    if !program.own_path.is_empty() {
        return PathBuf::from(&program.own_path);
    }
    match program.folder.is_empty() {
        true => Path::new(".").join(&program.file),
        false => folder.join(&program.file),
    }
}

/// The programs of a share; those that no rank runs here are left out.
pub(crate) fn of(share: &Share) -> Vec<LocalRanks<'_>> {
    let mut begin = 0u32;
    let mut found = Vec::new();
    for (program, appnum) in share.programs.iter().zip(0..) {
        let end = begin.saturating_add(program.processes);
        let ranks = share.ranks.iter().copied();
        let own: Vec<u32> = ranks.filter(|rank| (begin..end).contains(rank)).collect();
        if !own.is_empty() {
            found.push(LocalRanks {
                appnum,
                program,
                ranks: own,
            });
        }
        begin = end;
    }
    found
}

/// Checks the programs of a share and their libraries in the working directory `folder`.
///
/// # Errors
///
/// The refusal to send: one sentence with host, file, value and what to do.
pub(crate) fn check(share: &Share, folder: &Path) -> Result<(), Refusal> {
    let programs = of(share);
    let with_one: usize = programs.iter().map(|run| run.ranks.len()).sum();
    if with_one < share.ranks.len() {
        return Err(Refusal {
            sentence: format!(
                "{}: the job names no program for some of its ranks",
                node_facts::hostname()
            ),
            exit_code: i32::from(Exit::Lost.code()),
            group: 0,
        });
    }
    programs
        .into_iter()
        .try_for_each(|run| check_one(run.program, folder))
}

/// The same for one program.
pub(crate) fn check_one(program: &Program, folder: &Path) -> Result<(), Refusal> {
    let host = node_facts::hostname();
    let name = &program.file;
    let path = match program.own_path.as_str() {
        "" => folder.join(name),
        own => PathBuf::from(own),
    };
    let refuse = |exit: Exit, sentence: String| Refusal {
        sentence: format!("{host}: {sentence}"),
        exit_code: i32::from(exit.code()),
        group: 0,
    };
    let metadata = match std::fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if !program.own_path.is_empty() => {
            let path = path.display();
            let sentence = match name.starts_with("py") {
                true => format!(
                    "{path} of an environment of Python is not on this node ({error}); bring the environment \
                     with --venv, packed by yourself with --archives, or install it where all nodes have it"
                ),
                false => format!(
                    "{path} is not on this node any more ({error}); start the job again when it is"
                ),
            };
            return Err(refuse(Exit::NotFound, sentence));
        }
        Err(error) => {
            let sentence = format!(
                "{name} is not in the container's working directory {} ({error}); name a file that \
                 gerbil-run can stage, or one inside an archive of --archives",
                folder.display()
            );
            return Err(refuse(Exit::NotFound, sentence));
        }
    };
    if !metadata.is_file() {
        let sentence = format!("{name} is not a file and cannot be run; name the program itself");
        return Err(refuse(Exit::NotExecutable, sentence));
    }
    if access(&path, AccessFlags::X_OK).is_err() {
        let sentence =
            format!("{name} is not executable; set its mode with chmod +x and run again");
        return Err(refuse(Exit::NotExecutable, sentence));
    }
    if let Some(machine) = foreign_machine(&path) {
        let here = std::env::consts::ARCH;
        let sentence = format!(
            "{name} is a program for {machine}, but this node is {here}; build it for the nodes"
        );
        return Err(refuse(Exit::NotExecutable, sentence));
    }
    let start = folder.join(&program.folder);
    if !start.is_dir() {
        let what = match start.exists() {
            true => "is no folder on",
            false => "does not exist on",
        };
        let sentence = format!(
            "{name} is to start in {}, which {what} this node; name a folder that every node has, or \
             leave -wdir out: it then starts in a folder of its own",
            start.display()
        );
        return Err(refuse(Exit::NotExecutable, sentence));
    }
    let library_folder = &program.library_folder;
    if !library_folder.is_empty() && !folder.join(library_folder).is_dir() {
        let sentence = format!(
            "the libraries of {name} are not in {library_folder} of the container's working \
             directory; --no-ship-libs uses those of the nodes"
        );
        return Err(refuse(Exit::Lost, sentence));
    }
    let glibc = node_facts::glibc();
    if is_older(&glibc, &program.glibc_needed) {
        let sentence = format!(
            "{} needs glibc {}, but this node has {glibc}; build it on a system as old as the \
             nodes",
            program.glibc_needed_by, program.glibc_needed
        );
        return Err(refuse(Exit::NotExecutable, sentence));
    }
    Ok(())
}

/// Proves that what is about to be started is what the client has staged: where files are staged in a
/// folder that others use too, a name says nothing of what lies under it.
///
/// # Errors
///
/// The refusal to send.
pub(crate) async fn prove(share: &Share, folder: &Path) -> Result<(), Refusal> {
    let refuse = |sentence: String| Refusal {
        sentence: format!("{}: {sentence}", node_facts::hostname()),
        exit_code: i32::from(Exit::Staging.code()),
        group: 0,
    };
    for run in of(share) {
        let Program { file, digest, .. } = run.program;
        // The nodes' own file has been compared before the ranks were handed out.
        if digest.is_empty() || !run.program.own_path.is_empty() {
            continue;
        }
        let path = folder.join(file);
        // A large one takes a moment, and the link to the ApplicationMaster is to live meanwhile.
        let found = tokio::task::spawn_blocking(move || digest_of(path)).await;
        let found = found.unwrap_or_else(|broken| Err(io::Error::other(broken)));
        match found {
            Ok(found) if found == *digest => {}
            Ok(found) => {
                return Err(refuse(format!(
                    "{file} is not what was staged: its SHA-256 is {found}, and was {digest}; somebody \
                     has put another file in its place"
                )));
            }
            Err(error) => {
                return Err(refuse(format!(
                    "{file} cannot be read, so that nobody can tell whether it is what was staged: {error}"
                )));
            }
        }
    }
    Ok(())
}

/// SHA-256 of a file, hexadecimal.
pub(crate) fn digest_of(path: PathBuf) -> io::Result<String> {
    let mut file = regular::open_linked(&path)?;
    let mut digest = Sha256::new();
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => digest.update(piece.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let bytes = digest.finalize();
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The refusal for a program that the kernel would not execute.
pub(crate) fn not_started(program: &str, error: &io::Error) -> Refusal {
    let host = node_facts::hostname();
    let (exit, hint) = match error.raw_os_error() {
        Some(libc::ENOENT) => (
            Exit::NotFound,
            "the interpreter or loader that it names is not on this node",
        ),
        Some(libc::EACCES | libc::EPERM) => (
            Exit::NotExecutable,
            "the file system may be mounted noexec, or its mode forbids it",
        ),
        Some(libc::EAGAIN | libc::ENOMEM) => (
            Exit::Lost,
            "the node allows this user no further processes, or has no memory left",
        ),
        Some(libc::EMFILE | libc::ENFILE) => (
            Exit::Lost,
            "the node allows too few open files for so many ranks in one container",
        ),
        _ => (Exit::NotExecutable, "the kernel refused it"),
    };
    Refusal {
        sentence: format!("{host}: {program} could not be started: {error}; {hint}"),
        exit_code: i32::from(exit.code()),
        group: 0,
    }
}

/// The machine an ELF program is for, when it is not this one. Scripts and what cannot be read are
/// left to the kernel.
fn foreign_machine(path: &Path) -> Option<String> {
    let mut head = [0; ELF_HEAD];
    let mut file = regular::open_linked(path).ok()?;
    file.read_exact(&mut head).ok()?;
    let [0x7f, b'E', b'L', b'F', _, order, .., low, high] = head else {
        return None;
    };
    let machine = if order == 2 {
        u16::from_be_bytes([low, high])
    } else {
        u16::from_le_bytes([low, high])
    };
    let known = MACHINES.iter().find(|(number, ..)| *number == machine);
    let runs_here = match known {
        Some((_, "x86", _)) => cfg!(target_arch = "x86_64") || cfg!(target_arch = "x86"),
        Some((_, arch, _)) => *arch == std::env::consts::ARCH,
        None => false,
    };
    if runs_here {
        return None;
    }
    Some(known.map_or_else(
        || format!("ELF machine {machine}"),
        |(_, _, name)| (*name).to_owned(),
    ))
}

/// Versions like "2.34", by number. What is unknown is not older.
fn is_older(have: &str, needed: &str) -> bool {
    let numbers = |version: &str| -> Option<Vec<u32>> {
        version.split('.').map(|part| part.parse().ok()).collect()
    };
    match (numbers(have), numbers(needed)) {
        (Some(have), Some(needed)) => have < needed,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn program(file: &str) -> Program {
        Program {
            processes: 1,
            file: file.to_owned(),
            ..Program::default()
        }
    }

    fn share(file: &str) -> Share {
        Share {
            size: 1,
            ranks: vec![0],
            programs: vec![program(file)],
            ..Share::default()
        }
    }

    #[test]
    fn programs_take_the_ranks_in_their_order() {
        let mut share = share("a");
        share.programs.push(Program {
            processes: 3,
            ..program("b")
        });
        share.programs.push(program("c"));
        share.ranks = vec![0, 2, 3, 4];
        let found: Vec<(u32, &str, Vec<u32>)> = of(&share)
            .into_iter()
            .map(|run| (run.appnum, run.program.file.as_str(), run.ranks))
            .collect();
        assert_eq!(
            found,
            [(0, "a", vec![0]), (1, "b", vec![2, 3]), (2, "c", vec![4])]
        );
        share.ranks = vec![4];
        assert_eq!(of(&share).len(), 1);
        share.ranks = vec![5];
        assert!(check(&share, Path::new("/")).is_err());
    }

    #[test]
    fn an_environment_that_is_not_here_is_named_with_what_brings_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| {
            let mut share = share("python3");
            path.clone_into(&mut share.programs[0].own_path);
            check(&share, folder.path())
        };
        assert_eq!(at("/bin/sh"), Ok(()));
        let refusal = at("/home/a/v/bin/python3").unwrap_err();
        assert_eq!(refusal.exit_code, 127);
        for words in ["/home/a/v/bin/python3", "--venv", "--archives"] {
            assert!(refusal.sentence.contains(words), "{}", refusal.sentence);
        }
    }

    #[test]
    fn a_working_folder_has_to_be_there() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "script", b"#!/bin/sh\n", 0o755);
        let in_folder = |name: &str| {
            let mut share = share("script");
            name.clone_into(&mut share.programs[0].folder);
            check(&share, folder.path())
        };
        assert_eq!(in_folder("/"), Ok(()));
        assert_eq!(in_folder("."), Ok(()));
        let refusal = in_folder("/no/such").unwrap_err();
        assert_eq!(refusal.exit_code, 126);
        assert!(refusal.sentence.contains("/no/such, which does not exist"));
        let refusal = in_folder("script").unwrap_err();
        assert!(refusal.sentence.contains("is no folder"));
    }

    fn write(folder: &Path, name: &str, bytes: &[u8], mode: u32) {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn each_reason_has_its_sentence_and_code() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        write(folder, "plain", b"#!/bin/sh\n", 0o644);
        write(folder, "script", b"#!/bin/sh\n", 0o755);
        let mut elf = [0_u8; 64];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[18] = 243;
        write(folder, "riscv", &elf, 0o755);
        let refused = |program: &str| check(&share(program), folder).unwrap_err();
        assert_eq!(refused("nothing").exit_code, 127);
        assert!(refused("nothing").sentence.contains("nothing is not in"));
        assert_eq!(refused("plain").exit_code, 126);
        assert!(refused("plain").sentence.contains("chmod +x"));
        assert_eq!(refused(".").exit_code, 126);
        assert!(refused("riscv").sentence.contains("program for RISC-V"));
        assert_eq!(check(&share("script"), folder), Ok(()));
        let itself = std::env::current_exe().unwrap();
        assert_eq!(check(&share(itself.to_str().unwrap()), folder), Ok(()));
    }

    #[test]
    fn an_old_node_is_told_which_file_needs_what() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "script", b"#!/bin/sh\n", 0o755);
        let mut share = share("script");
        share.programs[0].glibc_needed = "2.999".to_owned();
        share.programs[0].glibc_needed_by = "libmpi.so.12".to_owned();
        let refusal = check(&share, folder.path()).unwrap_err();
        assert!(
            refusal.sentence.contains("libmpi.so.12 needs glibc 2.999"),
            "{}",
            refusal.sentence
        );
    }

    #[tokio::test]
    async fn what_is_not_what_was_staged_is_not_started() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "staged", b"abc", 0o755);
        std::os::unix::fs::symlink("staged", folder.path().join("script")).unwrap();
        let mut share = share("script");
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
            .clone_into(&mut share.programs[0].digest);
        assert_eq!(prove(&share, folder.path()).await, Ok(()));
        write(folder.path(), "staged", b"abd", 0o755);
        let refusal = prove(&share, folder.path()).await.unwrap_err();
        assert_eq!(refusal.exit_code, 74);
        assert!(
            refusal.sentence.contains("script is not what was staged"),
            "{}",
            refusal.sentence
        );
        std::fs::remove_file(folder.path().join("staged")).unwrap();
        let refusal = prove(&share, folder.path()).await.unwrap_err();
        assert!(refusal.sentence.contains("cannot be read"));
        // Of a program that was not staged nothing is known.
        share.programs[0].digest.clear();
        assert_eq!(prove(&share, folder.path()).await, Ok(()));
    }

    #[test]
    fn versions_compare_by_number() {
        assert!(is_older("2.9", "2.17"));
        assert!(!is_older("2.36", "2.36"));
        assert!(is_older("2.36", "2.36.1"));
        assert!(!is_older("", "2.34"));
        assert!(!is_older("2.36", ""));
    }
}
