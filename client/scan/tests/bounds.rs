//! What a scan costs at the most, whatever the file: a second of a processor, and 64 MiB of this process with all that it
//! has. It is alone in its program, whose memory nobody else takes.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::Path;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use scan::{Confidence, ProgramStage, ScanRequest, detect};

const TIME: Duration = Duration::from_secs(1);
/// The same of a build that is not optimized.
const SLOW: Duration = Duration::from_secs(5);
/// KiB.
const MEMORY: u64 = 64 * 1024;
/// Bytes of a large file, most of which are holes.
const LARGE: u64 = 2 << 30;

/// The numbers of ELF's specification.
const PROGBITS: u32 = 1;
const STRTAB: u32 = 3;
const DYNSYM: u32 = 11;
const ALLOC: u64 = 2;

/// A section: name, type, offset and size.
type Section<'a> = (&'a str, u32, u64, u64);

/// The head of an ELF file with these sections, each linked to the one after it, and their names; whatever they hold is
/// to be put behind.
#[cfg(test)]
fn elf(sections: &[Section<'_>]) -> Vec<u8> {
    let count = u16::try_from(sections.len() + 2).unwrap();
    let mut names = vec![0];
    let mut headers = vec![0; 64];
    let after = 64 + 64 * u64::from(count);
    for (number, (name, kind, offset, size)) in (2_u32..).zip(sections) {
        let at = u32::try_from(names.len()).unwrap();
        names.extend(name.as_bytes());
        names.push(0);
        headers.extend(header((at, *kind, ALLOC), *offset, *size, number));
    }
    let size = u64::try_from(names.len()).unwrap();
    headers.extend(header((0, STRTAB, 0), after, size, 0));
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend(3_u16.to_le_bytes());
    file.extend(62_u16.to_le_bytes());
    file.extend(1_u32.to_le_bytes());
    file.extend([0; 16]);
    file.extend(64_u64.to_le_bytes());
    file.extend([0; 4]);
    for half in [64, 56, 0, 64, count, count - 1] {
        file.extend(half.to_le_bytes());
    }
    file.extend(headers);
    file.extend(names);
    file
}

/// A section's header: where its name is, its type and flags; its place; and the section that it is linked to.
#[cfg(test)]
fn header((name, kind, flags): (u32, u32, u64), offset: u64, size: u64, link: u32) -> Vec<u8> {
    let entry: u64 = if kind == DYNSYM { 24 } else { 0 };
    let mut header = Vec::new();
    header.extend(name.to_le_bytes());
    header.extend(kind.to_le_bytes());
    for word in [flags, 0, offset, size] {
        header.extend(word.to_le_bytes());
    }
    header.extend(link.to_le_bytes());
    header.extend(0_u32.to_le_bytes());
    header.extend(1_u64.to_le_bytes());
    header.extend(entry.to_le_bytes());
    header
}

/// Writes these parts at their places, and makes the file so long.
#[cfg(test)]
fn write(path: &Path, parts: &[(u64, &[u8])], length: u64) {
    let file = File::create(path).unwrap();
    for (at, bytes) in parts {
        file.write_all_at(bytes, *at).unwrap();
    }
    file.set_len(length).unwrap();
}

/// Where parts of files that are made here begin.
const FIRST: u64 = 16 << 20;
const SECOND: u64 = 48 << 20;
/// Bytes of a table that is not too long to be read.
const TABLE: u64 = 16 << 20;

/// Undefined symbols, of which the n-th has its name at the `step` × n-th byte of `names`.
#[cfg(test)]
fn symbols(path: &Path, step: u32, names: &[u8]) {
    let mut table = Vec::new();
    for number in 0..u32::try_from(TABLE / 24).unwrap() {
        let at = number.wrapping_mul(step) % u32::try_from(names.len()).unwrap();
        table.extend(at.to_le_bytes());
        table.extend([0; 20]);
    }
    let size = u64::try_from(names.len()).unwrap();
    let head = elf(&[
        (
            ".dynsym",
            DYNSYM,
            FIRST,
            u64::try_from(table.len()).unwrap(),
        ),
        (".dynstr", STRTAB, SECOND, size),
    ]);
    let parts = [(0, &head[..]), (FIRST, &table), (SECOND, names)];
    write(path, &parts, SECOND + size);
}

/// A jar whose directory has so many classes, none of which is there.
#[cfg(test)]
fn jar(path: &Path, classes: u32) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let start = 30_u64;
    file.write_all(&[&b"PK\x03\x04"[..], &[0; 26]].concat())
        .unwrap();
    for number in 0..classes {
        file.write_all(b"PK\x01\x02\x14\0\x14\0\0\0\0\0\0\0\0\0")
            .unwrap();
        file.write_all(&[0; 12]).unwrap();
        file.write_all(&14_u16.to_le_bytes()).unwrap();
        file.write_all(&[0; 16]).unwrap();
        write!(file, "c{number:07}.class").unwrap();
    }
    let size = u64::from(classes) * (46 + 14);
    // The end of the directory in 64 bits, where that is, and the end that refers to both.
    let mut end = b"PK\x06\x06".to_vec();
    end.extend(44_u64.to_le_bytes());
    end.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for word in [u64::from(classes), u64::from(classes), size, start] {
        end.extend(word.to_le_bytes());
    }
    end.extend(b"PK\x06\x07\0\0\0\0");
    end.extend((start + size).to_le_bytes());
    end.extend(1_u32.to_le_bytes());
    end.extend(b"PK\x05\x06\0\0\0\0");
    end.extend([0xff; 12]);
    end.extend([0; 2]);
    file.write_all(&end).unwrap();
    file.flush().unwrap();
}

/// Files that are damaged, endless or too large, by name.
#[cfg(test)]
fn make(folder: &Path) -> Vec<&'static str> {
    let at = |name: &str| folder.join(name);
    let mut own = vec![0; 1 << 20];
    let exe = File::open(std::env::current_exe().unwrap()).unwrap();
    exe.read_exact_at(&mut own, 0).unwrap();
    symlink(at("endless link"), at("other link")).unwrap();
    symlink(at("other link"), at("endless link")).unwrap();
    fs::write(at("ELF cut off"), &own).unwrap();
    write(&at("2 GB behind an ELF head"), &[(0, &own[..4096])], LARGE);
    let sections = elf(&[(".rodata", PROGBITS, 4096, LARGE - 4096)]);
    write(&at("2 GB of strings"), &[(0, &sections)], LARGE);
    let names = b"nothing\0".repeat(usize::try_from(TABLE / 8).unwrap());
    symbols(&at("many symbols"), 8, &names);
    symbols(&at("symbols without end"), 1, &vec![b'a'; 1 << 20]);
    let lines = br#"{"stage":"map","type":"T","need":"cpu"}"#;
    let lines = [&lines[..], b"\n"].concat().repeat(1600);
    let size = u64::try_from(lines.len()).unwrap();
    let needs: Vec<Section<'_>> = (0..600)
        .map(|number| ("gerbil_needs", PROGBITS, FIRST + number, size - number))
        .collect();
    let head = elf(&needs);
    let parts = [(0, &head[..]), (FIRST, &lines)];
    write(&at("needs over needs"), &parts, FIRST + size);
    write(
        &at("2 GB behind a jar's head"),
        &[(0, b"PK\x03\x04")],
        LARGE,
    );
    jar(&at("a jar of 2,000,000 classes"), 2_000_000);
    write(&at("2 GB.py"), &[(0, b"#!/usr/bin/python3\n")], LARGE);
    for (name, line) in [
        ("imports.py", "import a\n"),
        ("modules.py", "import a,b,c,d\n"),
    ] {
        let text = line.repeat((8 << 20) / line.len());
        fs::write(at(name), text).unwrap();
    }
    let mut file = BufWriter::new(File::create(at("names.py")).unwrap());
    file.write_all(b"import a").unwrap();
    for number in 0..1_000_000_u32 {
        write!(file, ",{number:x}").unwrap();
    }
    file.flush().unwrap();
    vec![
        "endless link",
        "ELF cut off",
        "2 GB behind an ELF head",
        "2 GB of strings",
        "many symbols",
        "symbols without end",
        "needs over needs",
        "2 GB behind a jar's head",
        "a jar of 2,000,000 classes",
        "2 GB.py",
        "imports.py",
        "modules.py",
        "names.py",
    ]
}

/// The most memory that this process has had since it was last forgotten, KiB.
#[cfg(test)]
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let amount = line.and_then(|line| line.split_whitespace().next());
    amount.unwrap().parse().unwrap()
}

/// The processor time of this thread: others make it wait for a processor, and that is none of a scan's cost.
#[cfg(test)]
fn used() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .unwrap()
        .into()
}

#[test]
fn whatever_the_file_a_scan_takes_a_second_and_64_mib_at_the_most() {
    let folder = tempfile::tempdir().unwrap();
    let mut beyond = Vec::new();
    for name in make(folder.path()) {
        let request = ScanRequest {
            program: folder.path().join(name),
            ..ScanRequest::default()
        };
        fs::write("/proc/self/clear_refs", "5").unwrap();
        let began = used();
        let found = detect(&request);
        let (took, memory) = (used().saturating_sub(began), peak());
        let found = found.finding(ProgramStage::Map);
        println!("{name}: {took:.1?}, {memory} KiB: {found}");
        assert_eq!(found.confidence, Confidence::None, "{name}: {found}");
        let most = if cfg!(debug_assertions) { SLOW } else { TIME };
        if took > most || memory > MEMORY {
            beyond.push(format!("{name}: {took:.1?}, {memory} KiB"));
        }
    }
    assert!(beyond.is_empty(), "{beyond:?}");
}
