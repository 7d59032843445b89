//! Whether what was brought is what was staged, as its name in the staging cache says.
//!
//! The name of a file is the SHA-256 of its contents, before its suffix. So is that of an archive that the
//! user has packed; one that the client packs is called by what is in it, which is known before it is
//! packed: the SHA-256 over the name and the digest of each file, in the order of the names.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

/// Read at once while a digest is made, bytes.
const PIECE: usize = 1 << 18;
/// What a digest over an archive's files begins with, as the client's.
const PACKED: &[u8] = b"gerbil libraries 1\n";

/// What was brought is something else; its SHA-256 is this.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Otherwise(pub(super) String);

/// Looks at `file`, whose name in the cache is `name`. A name that is no digest says nothing.
///
/// # Errors
///
/// The file cannot be read, or the work was broken off.
pub(super) fn prove(
    file: &Path,
    name: &str,
    is_archive: bool,
    broken_off: &CancellationToken,
) -> io::Result<Result<(), Otherwise>> {
    let wanted = name.split_once('.').map_or(name, |(stem, _suffix)| stem);
    if wanted.len() != 64 || !wanted.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(Ok(()));
    }
    let mut whole = Hashed::of(File::open(file)?, broken_off);
    let packed = match is_archive {
        // What is no archive has no such digest.
        true => packed(&mut whole).ok(),
        false => None,
    };
    whole.read_all()?;
    let got = hexadecimal(whole.hash);
    match got == wanted || packed.as_deref() == Some(wanted) {
        true => Ok(Ok(())),
        false => Ok(Err(Otherwise(got))),
    }
}

/// The digest over the files of an archive.
fn packed(archive: impl Read) -> io::Result<String> {
    let mut files: Vec<(Vec<u8>, [u8; 32])> = Vec::new();
    // The archive's own reader knows when it is broken off.
    let go_on = CancellationToken::new();
    for entry in tar::Archive::new(archive).entries()? {
        let mut entry = entry?;
        if !entry.header().entry_type().is_dir() {
            let name = entry.path_bytes().into_owned();
            let mut contents = Hashed::of(&mut entry, &go_on);
            contents.read_all()?;
            files.push((name, contents.hash.finalize().into()));
        }
    }
    sort::ascending(&mut files);
    let mut hash = Sha256::new();
    hash.update(PACKED);
    for (name, digest) in files {
        hash.update(u64::try_from(name.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(name);
        hash.update(digest);
    }
    Ok(hexadecimal(hash))
}

fn hexadecimal(hash: Sha256) -> String {
    let bytes = hash.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is read from it goes into a digest.
struct Hashed<'a, R> {
    from: Breakable<'a, R>,
    hash: Sha256,
}

impl<'a, R: Read> Hashed<'a, R> {
    fn of(from: R, broken_off: &'a CancellationToken) -> Self {
        Self {
            from: Breakable { from, broken_off },
            hash: Sha256::new(),
        }
    }

    fn read_all(&mut self) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        while self.read(&mut piece)? > 0 {}
        Ok(())
    }
}

impl<R: Read> Read for Hashed<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.hash.update(into.get(..read).unwrap_or_default());
        Ok(read)
    }
}

/// Has an error once the work on it was broken off.
pub(super) struct Breakable<'a, R> {
    pub(super) from: R,
    pub(super) broken_off: &'a CancellationToken,
}

impl<R: Read> Read for Breakable<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.broken_off.is_cancelled() {
            true => Err(io::Error::other("it was broken off")),
            false => self.from.read(into),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        for (name, text) in files {
            let mut header = tar::Header::new_ustar();
            header.set_size(text.len().try_into().unwrap());
            header.set_mode(0o755);
            archive
                .append_data(&mut header, name, text.as_bytes())
                .unwrap();
        }
        archive.into_inner().unwrap()
    }

    #[test]
    fn a_name_is_the_digest_of_the_contents_or_of_what_is_packed() {
        let folder = tempfile::tempdir().unwrap();
        let go_on = CancellationToken::new();
        let is = |contents: &[u8], name: &str, is_archive| {
            let file = folder.path().join("file");
            std::fs::write(&file, contents).unwrap();
            prove(&file, name, is_archive, &go_on).unwrap().is_ok()
        };
        assert!(is(b"abc", ABC, false));
        assert!(!is(b"abd", ABC, false));
        assert!(is(b"abd", "no digest", false));
        assert!(!is(b"abc", &format!("{}.tar", ABC.replace('b', "c")), true));
        assert!(is(b"abc", &format!("{ABC}.tar"), true));

        // In the order of the names, whatever that in the archive.
        let packed = archive(&[("lib/b", "abc"), ("a", "")]);
        let mut hash = Sha256::new();
        hash.update(PACKED);
        for (name, text) in [("a", ""), ("lib/b", "abc")] {
            hash.update((name.len() as u64).to_le_bytes());
            hash.update(name);
            hash.update(Sha256::digest(text));
        }
        let name = format!("{}.tar", hexadecimal(hash));
        assert!(is(&packed, &name, true));
        assert!(!is(&packed, &name, false));
        assert!(!is(&archive(&[("lib/b", "abd"), ("a", "")]), &name, true));
        assert!(!is(&packed[..600], &name, true));
    }

    #[test]
    fn what_was_broken_off_is_read_no_further() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "abc").unwrap();
        let over = CancellationToken::new();
        over.cancel();
        assert!(prove(&file, ABC, false, &over).is_err());
    }
}
