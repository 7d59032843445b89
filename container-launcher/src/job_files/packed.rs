//! An archive as its users pack it: tar, or tar behind gzip.

use std::fs::File;
use std::io::{self, Read, Seek as _};

use flate2::read::MultiGzDecoder;

/// What gzip begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The tar that `archive` is, from its beginning.
///
/// # Errors
///
/// It cannot be read.
pub(super) fn tar_of(mut archive: File) -> io::Result<Box<dyn Read>> {
    let mut begins = Vec::new();
    let long = u64::try_from(GZIP.len()).unwrap_or(u64::MAX);
    (&mut archive).take(long).read_to_end(&mut begins)?;
    archive.rewind()?;
    Ok(match begins == GZIP {
        true => Box::new(MultiGzDecoder::new(io::BufReader::new(archive))),
        false => Box::new(archive),
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::tar_of;

    #[test]
    fn what_is_packed_by_gzip_is_unpacked_as_tar() {
        let folder = tempfile::tempdir().unwrap();
        let mut header = tar::Header::new_ustar();
        header.set_size(5);
        header.set_mode(0o644);
        let mut archive = tar::Builder::new(Vec::new());
        archive
            .append_data(&mut header, "d/dict", b"words".as_slice())
            .unwrap();
        let tar = archive.into_inner().unwrap();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&tar).unwrap();
        for (name, bytes) in [("plain", tar), ("packed", gzip.finish().unwrap())] {
            let file = folder.path().join(format!("{name}.tar"));
            fs::write(&file, bytes).unwrap();
            let into = folder.path().join(name);
            let mut archive = tar::Archive::new(tar_of(File::open(&file).unwrap()).unwrap());
            archive.unpack(&into).unwrap();
            assert_eq!(fs::read(into.join("d/dict")).unwrap(), b"words", "{name}");
        }
        let short = folder.path().join("short");
        fs::write(&short, "x").unwrap();
        assert!(tar_of(File::open(&short).unwrap()).is_ok());
    }
}
