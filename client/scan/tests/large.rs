//! How long a large file takes.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use object::write::{Object, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};
use scan::{ProgramStage, ScanRequest, detect};

/// Bytes of its strings, of 50 MB in all.
const STRINGS: usize = 40_000_000;
const CODE: usize = 10_000_000;
/// In which an optimized build looks at it, once the kernel has read it.
const TARGET: Duration = Duration::from_millis(20);
/// The same of a build that is not optimized.
const SLOW: Duration = Duration::from_millis(400);

/// Words as programs have them, then `last`.
#[cfg(test)]
fn write(path: &Path, last: &[u8]) {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let words = b"could not open the file lib clock cuts licence /dev/null x = %d\n\0";
    let mut strings: Vec<u8> = words.iter().copied().cycle().take(STRINGS).collect();
    strings.extend(last);
    for (name, kind, bytes) in [
        (".text", SectionKind::Text, vec![0x90; CODE]),
        (".rodata", SectionKind::ReadOnlyData, strings),
    ] {
        let section = object.add_section(Vec::new(), name.into(), kind);
        object.append_section_data(section, &bytes, 16);
        object.add_symbol(Symbol {
            name: format!("start_of_{name}").into_bytes(),
            value: 0,
            size: 0,
            kind: SymbolKind::Data,
            scope: SymbolScope::Compilation,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
    }
    let mut file = std::fs::File::create(path).unwrap();
    file.write_all(&object.write().unwrap()).unwrap();
}

#[test]
fn a_file_of_50_mb_takes_some_milliseconds() {
    let folder = tempfile::tempdir().unwrap();
    for (name, last, need) in [
        ("plain", &b"end"[..], None),
        ("gpu", b"cuLaunchKernel", Some("gpu")),
    ] {
        let program = folder.path().join(name);
        write(&program, last);
        let request = ScanRequest {
            program,
            ..ScanRequest::default()
        };
        let took = (0..9).map(|_| {
            let began = Instant::now();
            let found = detect(&request).finding(ProgramStage::Map);
            assert_eq!(found.need.as_deref(), need, "{found}");
            began.elapsed()
        });
        let mut took: Vec<Duration> = took.collect();
        took.sort_unstable();
        println!(
            "{name}: 50 MB in {:?} to {:?}, the median {:?}",
            took[0], took[8], took[4]
        );
        let most = if cfg!(debug_assertions) { SLOW } else { TARGET };
        assert!(took[0] <= most, "{took:?}");
    }
}
