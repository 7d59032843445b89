//! Programs that cannot start.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use anyhow::Result;
use it::mpi;

use crate::given::{Case, Given};

pub const CASES: &[(&str, Case)] = &[
    ("program not found", program_not_found),
    ("program not executable", program_not_executable),
    ("program for another architecture", wrong_architecture),
    ("library missing", library_missing),
];

fn program_not_found(given: &Given) -> Result<()> {
    given.refused(
        &["-n", "2", "./no-such-program"],
        127,
        &["no-such-program", "not found"],
    )
}

fn program_not_executable(given: &Given) -> Result<()> {
    let path = given.path("plain-text");
    fs::write(&path, "not a program\n")?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644))?;
    given.refused(&["-n", "2", &path], 126, &["plain-text", "not executable"])
}

fn wrong_architecture(given: &Given) -> Result<()> {
    let program = given.program("linger")?;
    let mut bytes = fs::read(program)?;
    // e_machine of the ELF header: whatever this machine is, the copy is for the other.
    bytes[18] = if bytes[18] == 183 { 62 } else { 183 };
    let path = given.path("foreign");
    fs::write(&path, bytes)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    given.refused(&["-n", "2", &path], 126, &["foreign", "built for"])
}

fn library_missing(given: &Given) -> Result<()> {
    let folder = given.programs.join("missing");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("absent.c"), "int absent(void) { return 0; }\n")?;
    fs::write(
        folder.join("needs_it.c"),
        "int absent(void);\nint main(void) { return absent(); }\n",
    )?;
    let library = folder.join("libabsent.so");
    let cc = it::process::find("cc".as_ref())?;
    let built = mpi::compile(
        &cc,
        &folder.join("absent.c"),
        &folder,
        &["-shared", "-fPIC"],
    )?;
    fs::rename(built, &library)?;
    let search = format!("-L{}", folder.display());
    let program = mpi::compile(
        &cc,
        &folder.join("needs_it.c"),
        &folder,
        &[&search, "-labsent"],
    )?;
    fs::remove_file(library)?;
    given.refused(
        &["-n", "2", &program.to_string_lossy()],
        126,
        &["libabsent.so", "not found"],
    )
}
