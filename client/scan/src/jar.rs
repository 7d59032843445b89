//! Which libraries the classes of a jar name.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::time::Instant;

use zip::ZipArchive;

use crate::tables::{CLASSES, Element, beginning};

/// Entries that are looked at.
const ENTRIES_MAX: usize = 65_536;
/// Most entries of a jar that is looked into: its whole directory is read first, some 570 bytes of memory an entry.
const DIRECTORY_MAX: u64 = 81_920;
/// Where the end of a directory lies: within so many bytes of the file's end.
const END_MAX: u64 = 66 * 1024;
/// Longest class, and jar within a jar, that is looked at, bytes.
const CLASS_MAX: u64 = 1 << 20;
const JAR_MAX: u64 = 16 << 20;

/// What the classes of a jar tell, a few words each.
///
/// # Errors
/// It is no such archive; a sentence.
pub fn evidence(file: File, by: Instant) -> Result<Vec<(Element, String)>, String> {
    let mut found = Vec::new();
    within(file, 0, by, &mut found)?;
    Ok(found)
}

/// A file of which no more is read when time is over, however much of it is searched for an archive's end.
struct Timed<R> {
    inner: R,
    by: Instant,
}

impl<R: Read> Read for Timed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match Instant::now() < self.by {
            true => self.inner.read(into),
            false => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "it takes too long to look into it",
            )),
        }
    }
}

impl<R: Seek> Seek for Timed<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

/// How many entries an archive says that it has, where it says so in 64 bits: in 32 it has at most 65,535. Memory for
/// as many is taken before any is read. `None`: it has no end.
fn most_entries<R: Read + Seek>(file: &mut R) -> io::Result<Option<u64>> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(END_MAX)))?;
    let mut end = Vec::new();
    file.by_ref().take(END_MAX).read_to_end(&mut end)?;
    file.rewind()?;
    if !end.windows(4).any(|end| end == b"PK\x05\x06") {
        return Ok(None);
    }
    // The signature of the directory's end in 64 bits; the number lies 32 bytes behind its beginning.
    let ends = end.windows(40).filter(|end| end.starts_with(b"PK\x06\x06"));
    let counts = ends.filter_map(|end| Some(u64::from_le_bytes(*end.get(32..)?.first_chunk()?)));
    Ok(Some(counts.max().unwrap_or(0)))
}

fn within<R: Read + Seek>(
    file: R,
    depth: u32,
    by: Instant,
    found: &mut Vec<(Element, String)>,
) -> Result<(), String> {
    let mut file = Timed { inner: file, by };
    let entries = most_entries(&mut file).map_err(|error| error.to_string())?;
    let entries = entries.ok_or("it is no archive, or is cut off")?;
    if entries > DIRECTORY_MAX {
        return Err(format!(
            "it is an archive of {entries} files, and is not looked into beyond {DIRECTORY_MAX}"
        ));
    }
    let mut archive = ZipArchive::new(file).map_err(|error| error.to_string())?;
    for index in 0..archive.len().min(ENTRIES_MAX) {
        if Instant::now() >= by || found.len() >= 8 {
            break;
        }
        let Ok(mut entry) = archive.by_index(index) else {
            continue;
        };
        let name = entry.name().to_owned();
        let (is_class, is_jar) = (name.ends_with(".class"), name.ends_with(".jar"));
        // Of the library itself: it was packed in because it is used.
        if let Some(element) = beginning(CLASSES, &name).filter(|_| is_class) {
            found.push((element, format!("has {name}")));
            continue;
        }
        let most = match () {
            () if is_class => CLASS_MAX,
            () if is_jar && depth == 0 => JAR_MAX,
            () => continue,
        };
        let mut bytes = Vec::new();
        // What an entry says of its size is not believed.
        let read = entry.by_ref().take(most + 1).read_to_end(&mut bytes);
        drop(entry);
        if read.is_err() || bytes.len() as u64 > most {
            continue;
        }
        if is_class {
            let mut seen = Vec::new();
            for (element, known) in of_class(&bytes) {
                if !seen.contains(&known) {
                    found.push((element, format!("{name} names {known}")));
                    seen.push(known);
                }
            }
        } else {
            // One that is damaged tells nothing.
            let _damaged = within(Cursor::new(bytes), depth + 1, by, found).is_err();
        }
    }
    Ok(())
}

/// Those of the known beginnings that the constants of a class have.
#[must_use]
pub fn of_class(class: &[u8]) -> Vec<(Element, &'static str)> {
    constants(class).unwrap_or_default()
}

/// `None`: it is no class, or damaged.
fn constants(class: &[u8]) -> Option<Vec<(Element, &'static str)>> {
    let rest = class.strip_prefix(b"\xCA\xFE\xBA\xBE")?;
    let (_version, rest) = rest.split_at_checked(4)?;
    let (count, mut rest) = rest.split_first_chunk::<2>()?;
    let count = u16::from_be_bytes(*count);
    let mut found = Vec::new();
    let mut number = 1;
    while number < count {
        let (tag, after) = rest.split_first()?;
        // The sizes of constants, in the order of the Java virtual machine's specification, 4.4.
        let size = match tag {
            1 => {
                let (length, text) = after.split_first_chunk::<2>()?;
                let length = usize::from(u16::from_be_bytes(*length));
                let text = text.get(..length)?;
                found.extend(of_text(text));
                2 + length
            }
            3 | 4 | 9..=12 | 17 | 18 => 4,
            5 | 6 => {
                // They have two numbers.
                number += 1;
                8
            }
            7 | 8 | 16 | 19 | 20 => 2,
            15 => 3,
            _ => return None,
        };
        rest = after.get(size..)?;
        number += 1;
    }
    Some(found)
}

/// Names of classes stand alone, behind an `L` in types, or with dots where they are looked up by name.
fn of_text(text: &[u8]) -> Option<(Element, &'static str)> {
    let text = std::str::from_utf8(text).ok()?;
    let slashed = text.replace('.', "/");
    let starts = slashed.match_indices('L').map(|(at, _)| at + 1);
    let mut starts = std::iter::once(0).chain(starts);
    starts.find_map(|at| {
        let name = slashed.get(at..)?;
        let mut known = CLASSES.iter();
        known
            .find(|(known, _)| name.starts_with(known))
            .map(|(known, element)| (*element, *known))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(texts: &[&str]) -> Vec<u8> {
        let mut bytes = b"\xCA\xFE\xBA\xBE\0\0\0\x34".to_vec();
        let count = u16::try_from(texts.len() + 3).unwrap();
        bytes.extend(count.to_be_bytes());
        // A long, which has two numbers.
        bytes.extend(*b"\x05\0\0\0\0\0\0\0\x07");
        for text in texts {
            bytes.push(1);
            bytes.extend(u16::try_from(text.len()).unwrap().to_be_bytes());
            bytes.extend(text.bytes());
        }
        bytes
    }

    #[test]
    fn constants_name_libraries() {
        let names = |texts: &[&str]| -> Vec<&str> {
            let found = of_class(&class(texts));
            found.into_iter().map(|(_, known)| known).collect()
        };
        assert_eq!(
            names(&["java/lang/Object", "jcuda/driver/JCudaDriver"]),
            ["jcuda/"]
        );
        assert_eq!(names(&["(Lorg/jocl/cl_mem;I)V"]), ["org/jocl/"]);
        assert_eq!(names(&["org.jocl.CL"]), ["org/jocl/"]);
        assert_eq!(names(&["com/acme/jcudaish", "see jcuda for more"]), [""; 0]);
        let mut damaged = class(&["jcuda/Pointer"]);
        damaged.truncate(damaged.len() - 1);
        assert_eq!(of_class(&damaged), []);
        assert_eq!(of_class(b"\xCA\xFE"), []);
    }
}
