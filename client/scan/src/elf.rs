//! What an ELF file says of devices: its sections, what it needs, and what it has to say.

use std::fs::File;

use object::Endianness;
use object::elf::{self, DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_STRTAB, PT_DYNAMIC, PT_LOAD};
use object::read::elf::{Dyn as _, FileHeader, ProgramHeader as _, SectionHeader as _, Sym as _};
use object::read::{FileKind, ReadRef as _};

use crate::bounded::{Bounded, BoundedFile};
use crate::label::{NeedsLine, lines};
use crate::strings::ByteRange;
use crate::tables::{Element, LIBRARIES, SECTIONS, SYMBOLS, beginning, exactly};

/// The section of declared needs.
const NEEDS: &str = "gerbil_needs";
/// Most bytes that are read of all such sections.
const NEEDS_MAX: u64 = 64 * 1024;
/// Longest name of a library, or list of folders, bytes.
const NAME_MAX: u64 = 4096;
/// Libraries that are looked at; real programs have tens.
const LIBRARIES_MAX: usize = 1024;
/// Sections that are looked at; real programs have tens.
const SECTIONS_MAX: usize = 65_536;
/// Undefined symbols that are looked at: each is a read of its own. Real programs have thousands.
const SYMBOLS_MAX: usize = 65_536;
/// Sections whose bytes are no strings of the program's.
const NO_STRINGS: [&str; 6] = [
    ".eh_frame",
    ".eh_frame_hdr",
    ".gcc_except_table",
    ".dynstr",
    ".gnu.hash",
    "gerbil_needs",
];

/// What is of interest in an ELF file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elf {
    /// What is declared.
    pub needs: Vec<NeedsLine>,
    /// What is sure, a few words each.
    pub evidence: Vec<(Element, String)>,
    /// Libraries that it needs, by name.
    pub libraries: Vec<String>,
    /// Folders where these are looked for, `$ORIGIN` among them.
    pub folders: Vec<String>,
    /// Where strings of its may lie.
    pub parts: Vec<ByteRange>,
}

/// Reads a file of `length` bytes.
///
/// # Errors
/// It is damaged; which part of it.
pub fn read(file: File, length: u64) -> Result<Elf, &'static str> {
    let source = BoundedFile::new(file, length);
    let data = source.bounded();
    match FileKind::parse(data) {
        Ok(FileKind::Elf32) => parts::<elf::FileHeader32<Endianness>>(data),
        Ok(FileKind::Elf64) => parts::<elf::FileHeader64<Endianness>>(data),
        Ok(_) | Err(_) => Err("class or byte order"),
    }
}

fn parts<H: FileHeader<Endian = Endianness>>(data: Bounded<'_>) -> Result<Elf, &'static str> {
    let header = H::parse(data).map_err(|_unread| "header")?;
    let endian = header.endian().map_err(|_unknown| "byte order")?;
    let mut elf = Elf::default();
    sections(header, endian, data, &mut elf)?;
    let segments = header.program_headers(endian, data);
    let segments = segments.map_err(|_unread| "program headers")?;
    dynamic::<H>(segments, endian, data, &mut elf)?;
    if elf.parts.is_empty() {
        // Without section headers: whatever is loaded and not run.
        let loaded = segments.iter().filter(|segment| {
            segment.p_type(endian) == PT_LOAD && segment.p_flags(endian).0 & elf::PF_X.0 == 0
        });
        elf.parts
            .extend(loaded.map(|segment| segment.file_range(endian)));
    }
    Ok(elf)
}

fn sections<H: FileHeader<Endian = Endianness>>(
    header: &H,
    endian: Endianness,
    data: Bounded<'_>,
    into: &mut Elf,
) -> Result<(), &'static str> {
    let sections = header.sections(endian, data);
    let sections = sections.map_err(|_unread| "section headers")?;
    let mut needs_left = NEEDS_MAX;
    for section in sections.iter().take(SECTIONS_MAX) {
        let Ok(name) = sections.section_name(endian, section) else {
            continue;
        };
        let name = String::from_utf8_lossy(name);
        if let Some(element) = exactly(SECTIONS, &name) {
            let words = format!("section {name}");
            into.evidence.push((element, words));
        }
        let (offset, size): (u64, u64) = (
            section.sh_offset(endian).into(),
            section.sh_size(endian).into(),
        );
        if name == NEEDS
            && let Some(left) = needs_left.checked_sub(size)
        {
            needs_left = left;
            let bytes = data.read_bytes_at(offset, size).unwrap_or_default();
            into.needs.extend(lines(bytes));
        }
        let flags = section.sh_flags(endian).0;
        let has_strings = section.sh_type(endian) == elf::SHT_PROGBITS
            && flags & elf::SHF_ALLOC.0 != 0
            && flags & elf::SHF_EXECINSTR.0 == 0;
        if has_strings && !NO_STRINGS.contains(&&*name) {
            into.parts.push((offset, size));
        }
    }
    // Of a table that is too long, or damaged, nothing is known.
    let Ok(symbols) = sections.symbols(endian, data, elf::SHT_DYNSYM) else {
        return Ok(());
    };
    let undefined = symbols.iter().filter(|symbol| symbol.is_undefined(endian));
    for symbol in undefined.take(SYMBOLS_MAX) {
        let Ok(name) = symbols.symbol_name(endian, symbol) else {
            continue;
        };
        let name = String::from_utf8_lossy(name);
        if let Some(element) = exactly(SYMBOLS, &name) {
            into.evidence.push((element, format!("symbol {name}")));
        }
    }
    Ok(())
}

fn dynamic<H: FileHeader<Endian = Endianness>>(
    segments: &[H::ProgramHeader],
    endian: Endianness,
    data: Bounded<'_>,
    into: &mut Elf,
) -> Result<(), &'static str> {
    let mut all = segments.iter();
    let Some(segment) = all.find(|segment| segment.p_type(endian) == PT_DYNAMIC) else {
        return Ok(());
    };
    let entries = segment.dynamic(endian, data);
    let entries = entries.map_err(|_unread| "dynamic segment")?;
    let entries = entries.unwrap_or_default().iter();
    let entries = entries.map(|entry| (entry.tag(endian), entry.val(endian)));
    let entries: Vec<_> = entries
        .take_while(|(tag, _)| *tag != elf::DT_NULL)
        .collect();
    let strings = entries.iter().find(|(tag, _)| *tag == DT_STRTAB);
    let strings = strings.and_then(|(_, address)| place::<H>(segments, endian, *address));
    let Some(strings) = strings else {
        return Ok(());
    };
    let string = |offset: u64| {
        let from = strings.checked_add(offset)?;
        let text = data.read_bytes_at_until(from..from.checked_add(NAME_MAX)?, 0);
        String::from_utf8(text.ok()?.to_vec()).ok()
    };
    for (tag, offset) in entries {
        match tag {
            DT_NEEDED if into.libraries.len() < LIBRARIES_MAX => {
                into.libraries.extend(string(offset));
            }
            DT_RUNPATH | DT_RPATH => {
                let folders = string(offset).unwrap_or_default();
                into.folders.extend(folders.split(':').map(str::to_owned));
            }
            _ => {}
        }
    }
    for library in &into.libraries {
        if let Some(element) = beginning(LIBRARIES, library) {
            into.evidence.push((element, format!("needs {library}")));
        }
    }
    Ok(())
}

/// Where in the file lies what is loaded at `address`.
fn place<H: FileHeader<Endian = Endianness>>(
    segments: &[H::ProgramHeader],
    endian: Endianness,
    address: u64,
) -> Option<u64> {
    let loaded = segments.iter();
    let loaded = loaded.filter(|segment| segment.p_type(endian) == PT_LOAD);
    loaded
        .filter_map(|segment| {
            let from: u64 = segment.p_vaddr(endian).into();
            let offset: u64 = segment.p_offset(endian).into();
            let within = address.checked_sub(from)?;
            (within < segment.p_filesz(endian).into()).then(|| offset.checked_add(within))?
        })
        .next()
}
