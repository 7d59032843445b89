//! The libraries as one uncompressed tar, the same bytes for the same libraries.
//!
//! Entries are sorted, without times and owners, so that a second run, or another user's, makes the
//! same file. Its name is a digest of names and contents that is known without building it.
//! Uncompressed, because packing would cost more time than it saves on a cluster's network, and the
//! NodeManager unpacks with one process less.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

use super::digest::Digest;
use super::error::StageError;

/// Tar's unit: each header, and each file's contents rounded up, bytes.
const RECORD: u64 = 512;
/// Everything is readable, and libraries are marked executable as installers do.
const MODE: u32 = 0o755;

/// One file of the archive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArchiveEntry {
    /// Path inside, at most 100 bytes (tar's short form).
    pub inside: String,
    /// Where it is read.
    pub source: PathBuf,
    /// Length, bytes.
    pub size: u64,
    /// SHA-256 of its contents.
    pub digest: [u8; 32],
}

/// An archive that is not built yet.
#[derive(Clone, Debug)]
pub struct Archive {
    entries: Vec<ArchiveEntry>,
}

impl Archive {
    /// Of the given files; their order does not matter.
    #[must_use]
    pub fn new(mut entries: Vec<ArchiveEntry>) -> Self {
        sort::ascending(&mut entries);
        Self { entries }
    }

    /// Names the contents: SHA-256 over each entry's name and digest.
    #[must_use]
    pub fn identity(&self) -> Digest {
        let mut hash = Sha256::new();
        hash.update(b"gerbil libraries 1\n");
        for entry in &self.entries {
            hash.update((entry.inside.len() as u64).to_le_bytes());
            hash.update(&entry.inside);
            hash.update(entry.digest);
        }
        Digest(hash.finalize().into())
    }

    /// Length of the tar, bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        let contents = |entry: &ArchiveEntry| RECORD + entry.size.div_ceil(RECORD) * RECORD;
        let files: u64 = self.entries.iter().map(contents).sum();
        // Two empty records end a tar.
        files + RECORD * self.folders().len() as u64 + 2 * RECORD
    }

    fn folders(&self) -> BTreeSet<&str> {
        let folder = |entry: &'_ ArchiveEntry| entry.inside.rfind('/');
        self.entries
            .iter()
            .filter_map(|entry| entry.inside.get(..=folder(entry)?))
            .collect()
    }

    /// Writes the tar.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or is not what its digest says; or `out` takes no more.
    pub fn write(&self, out: &mut dyn Write) -> Result<(), StageError> {
        let mut builder = Builder::new(out);
        for folder in self.folders() {
            let mut header = header(EntryType::Directory, 0);
            builder
                .append_data(&mut header, folder, io::empty())
                .map_err(broken_off)?;
        }
        for entry in &self.entries {
            let local = |source| StageError::Local {
                doing: "reading",
                path: entry.source.clone(),
                source,
            };
            let file = File::open(&entry.source).map_err(local)?;
            let mut contents = Contents {
                file,
                left: entry.size,
                hash: Sha256::new(),
                failed: None,
            };
            let mut header = header(EntryType::Regular, entry.size);
            let appended = builder.append_data(&mut header, &entry.inside, &mut contents);
            match contents.failed {
                Some(Failed::Ended) => {
                    return Err(StageError::Changed {
                        path: entry.source.clone(),
                    });
                }
                Some(Failed::Read(source)) => return Err(local(source)),
                None => appended.map_err(broken_off)?,
            }
            if entry.digest != <[u8; 32]>::from(contents.hash.finalize()) {
                return Err(StageError::Changed {
                    path: entry.source.clone(),
                });
            }
        }
        builder.finish().map_err(broken_off)
    }
}

/// `out` is the other end of an upload: why that ended, its owner knows.
fn broken_off(_closed: io::Error) -> StageError {
    StageError::BrokenOff {
        doing: "packing the libraries",
    }
}

fn header(kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(MODE);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// Exactly the promised number of bytes of a file, hashed on their way.
struct Contents {
    file: File,
    left: u64,
    hash: Sha256,
    failed: Option<Failed>,
}

enum Failed {
    Ended,
    Read(io::Error),
}

impl Read for Contents {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let Some(buffer) = buffer.get_mut(..most).filter(|buffer| !buffer.is_empty()) else {
            return Ok(0);
        };
        match self.file.read(buffer) {
            Ok(0) => {
                self.failed = Some(Failed::Ended);
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            Ok(count) => {
                self.hash.update(buffer.get(..count).unwrap_or_default());
                self.left = self.left.saturating_sub(count as u64);
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let kind = error.kind();
                self.failed = Some(Failed::Read(error));
                Err(kind.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn entry(folder: &Path, inside: &str, contents: &[u8]) -> ArchiveEntry {
        let source = folder.join(inside.replace('/', "_"));
        fs::write(&source, contents).unwrap();
        let (digest, size) = digest::of(&mut &contents[..]).unwrap();
        ArchiveEntry {
            inside: inside.into(),
            source,
            size,
            digest: digest.0,
        }
    }

    fn bytes(archive: &Archive) -> Vec<u8> {
        let mut bytes = Vec::new();
        archive.write(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn order_times_and_places_do_not_change_a_byte() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let files = [
            ("libb.so", &b"bb"[..]),
            ("ucx/liba.so", &[7; 700]),
            ("liba.so.1", b""),
        ];
        let forward = files.map(|(name, bytes)| entry(one.path(), name, bytes));
        let mut backward = files.map(|(name, bytes)| entry(two.path(), name, bytes));
        backward.reverse();
        for entry in &backward {
            fs::set_permissions(&entry.source, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let (a, b) = (
            Archive::new(forward.to_vec()),
            Archive::new(backward.to_vec()),
        );
        assert_eq!(a.identity(), b.identity());
        let tar = bytes(&a);
        assert_eq!(tar, bytes(&b));
        assert_eq!(tar.len() as u64, a.size());

        let mut listing = Vec::new();
        for entry in tar::Archive::new(&tar[..]).entries().unwrap() {
            let entry = entry.unwrap();
            let header = entry.header();
            assert_eq!(
                (header.mode().unwrap(), header.mtime().unwrap()),
                (0o755, 0)
            );
            listing.push((entry.path().unwrap().into_owned(), header.size().unwrap()));
        }
        let wanted = [
            ("ucx/", 0),
            ("liba.so.1", 0),
            ("libb.so", 2),
            ("ucx/liba.so", 700),
        ];
        assert_eq!(
            listing,
            wanted.map(|(name, size)| (PathBuf::from(name), size))
        );
    }

    #[test]
    fn names_and_contents_make_the_identity() {
        let folder = tempfile::tempdir().unwrap();
        let identity = |name: &str, bytes: &[u8]| {
            Archive::new(vec![entry(folder.path(), name, bytes)]).identity()
        };
        let first = identity("liba.so", b"1");
        assert_ne!(first, identity("liba.so", b"2"));
        assert_ne!(first, identity("libb.so", b"1"));
    }

    #[test]
    fn a_file_that_changes_meanwhile_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let entry = entry(folder.path(), "liba.so", b"12");
        for contents in ["1", "21"] {
            fs::write(&entry.source, contents).unwrap();
            let archive = Archive::new(vec![entry.clone()]);
            let failed = archive.write(&mut Vec::new()).unwrap_err();
            assert!(matches!(failed, StageError::Changed { .. }), "{failed}");
        }
    }
}
