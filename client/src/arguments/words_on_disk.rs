//! Words of a command line that are files: what the lexer asks about them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::small_file;
use crate::split_words;

/// A configuration file: a program a line, each with its options; a backslash joins a line with the
/// next, # begins a comment. Quotes are honoured.
pub(super) fn configuration(name: &OsStr) -> Result<Vec<OsString>, String> {
    let shown = name.display();
    let text = small_file::text(name).map_err(|why| format!("-configfile {shown}: {why}"))?;
    let text = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut found = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if line.trim_start().starts_with('#') {
            continue;
        }
        let words = split_words::split(line)
            .map_err(|why| format!("-configfile {shown}, line {number}: {why}"))?;
        if words.is_empty() {
            continue;
        }
        if !found.is_empty() {
            found.push(OsString::from(":"));
        }
        found.extend(words.into_iter().map(OsString::from));
    }
    Ok(found)
}

/// Whether a word may name a program: by a path, a file here, or one in `folders` or on the search path.
pub(super) fn is_program(word: &OsStr, folders: &[PathBuf]) -> bool {
    let there = |path: &Path| std::fs::metadata(path).is_ok_and(|there| there.is_file());
    let searched = std::env::var_os("PATH").unwrap_or_default();
    word.as_bytes().contains(&b'/')
        || there(Path::new(word))
        || folders.iter().any(|folder| there(&folder.join(word)))
        || std::env::split_paths(&searched).any(|folder| there(&folder.join(word)))
}

/// Whether the word behind `-l` is GERBIL's list of jobs, not the program: that begins as the kernel
/// wants it, or is found on the search path only. Permissions say nothing: where files come from
/// Windows or FAT all are executable. They decide where the file cannot be read.
pub(super) fn is_list(word: &OsStr) -> bool {
    let Some(there) = std::fs::metadata(word)
        .ok()
        .filter(std::fs::Metadata::is_file)
    else {
        return false;
    };
    let mut begin = Vec::new();
    let read = File::open(word).and_then(|file| file.take(4).read_to_end(&mut begin));
    match read {
        Ok(_) => !begin.starts_with(b"#!") && !begin.starts_with(b"\x7fELF"),
        Err(_) => there.permissions().mode() & 0o111 == 0,
    }
}
