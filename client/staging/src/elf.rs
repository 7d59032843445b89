//! What an ELF file says to the kernel and to the dynamic linker.
//!
//! Only the header, the program headers, the dynamic segment and the strings it points at are read:
//! an MPI library of 40 MB costs a few kilobytes. Section headers are not needed, so stripped files
//! read the same.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use goblin::container::Ctx;
use goblin::elf::dynamic::{
    DT_FLAGS_1, DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_SONAME, DT_STRTAB, DT_VERNEED, DT_VERNEEDNUM,
    Dynamic,
};
use goblin::elf::header::{ET_CORE, ET_DYN, ET_EXEC, ET_REL};
use goblin::elf::program_header::{PT_DYNAMIC, PT_INTERP, PT_LOAD};
use goblin::elf::section_header::SHT_GNU_VERNEED;
use goblin::elf::{Elf as Goblin, Header, ProgramHeader, SectionHeader, VerneedSection};

/// Largest dynamic segment or version table that is read, bytes. Real ones have some kilobytes.
const TABLE_MAX: u64 = 1 << 20;
/// Longest string (a path list, a symbol version) that is read, bytes.
const STRING_MAX: u64 = 16 * 1024;
/// `DF_1_NODEFLIB`: the linker leaves out its default folders.
const NO_DEFAULT_FOLDERS: u64 = 0x800;
/// `VER_FLG_WEAK`: the linker does without this version.
const WEAK: u16 = 0x2;

/// A processor and its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// ELF's `e_machine`.
    number: u16,
    /// 32 or 64.
    bits: u8,
    /// Byte order.
    big_endian: bool,
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = goblin::elf::header::machine_to_str(self.number);
        let order = if self.big_endian { ", big-endian" } else { "" };
        write!(f, "{} ({} bits{order})", name.to_lowercase(), self.bits)
    }
}

/// A version of the GNU C library, as its symbols carry it: `2.17`, `2.2.5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Glibc([u32; 3]);

impl Glibc {
    /// From a symbol version such as `GLIBC_2.34`; `None` for names that are no version.
    fn from_symbol_version(name: &str) -> Option<Self> {
        // The loader of this version is the first that relocates such files.
        if name == "GLIBC_ABI_DT_RELR" {
            return Some(Self([2, 36, 0]));
        }
        let mut numbers = [0; 3];
        let mut parts = name.strip_prefix("GLIBC_")?.split('.');
        for number in &mut numbers {
            match parts.next() {
                Some(part) => *number = part.parse().ok()?,
                None => break,
            }
        }
        parts.next().is_none().then_some(Self(numbers))
    }
}

impl fmt::Display for Glibc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([major, minor, patch]) = self;
        write!(f, "{major}.{minor}")?;
        if *patch > 0 {
            write!(f, ".{patch}")?;
        }
        Ok(())
    }
}

/// What kind of ELF file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Linked: a program or a shared library.
    Linked,
    /// A compiler's output, not linked yet (`.o`).
    Object,
    /// What a crash left behind.
    Core,
    /// A number without a meaning on Linux.
    Unknown,
}

/// The part of an ELF file that decides what else must travel with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elf {
    /// Which processor runs it.
    pub machine: Machine,
    /// What it is.
    pub form: Form,
    /// The dynamic linker that the kernel starts; `None` for libraries and static programs.
    pub interpreter: Option<String>,
    /// Libraries it needs, in its order.
    pub needed: Vec<String>,
    /// Its own name as others need it.
    pub soname: Option<String>,
    /// Colon-separated folders. `None` where there is a RUNPATH, as the linker then ignores it.
    pub rpath: Option<String>,
    /// Colon-separated folders.
    pub runpath: Option<String>,
    /// The default folders are not searched for what it needs.
    pub no_default_folders: bool,
    /// Newest C library version that one of its symbols wants.
    pub glibc: Option<Glibc>,
}

/// Why an ELF file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ElfError {
    /// The operating system said no.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// It begins like ELF and goes on like something else.
    #[error("a damaged ELF file ({what})")]
    Malformed {
        /// Which part.
        what: &'static str,
    },
}

impl Elf {
    /// Reads a file; `None` when it is not ELF at all.
    ///
    /// # Errors
    ///
    /// The file cannot be opened or read, or is cut off or inconsistent.
    pub fn read(path: &Path) -> Result<Option<Self>, ElfError> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        if length < 4 {
            return Ok(None);
        }
        let reader = Reader { file, length };
        let start = reader.at(0, length.min(64), "header")?;
        if start.get(..4) != Some(goblin::elf::header::ELFMAG) {
            return Ok(None);
        }
        reader.elf(&start).map(Some)
    }
}

/// Bounded reads from one file.
struct Reader {
    file: File,
    length: u64,
}

const fn malformed(what: &'static str) -> ElfError {
    ElfError::Malformed { what }
}

impl Reader {
    /// Exactly `count` bytes; checked against the file's length before anything is allocated.
    fn at(&self, offset: u64, count: u64, what: &'static str) -> Result<Vec<u8>, ElfError> {
        let end = offset.checked_add(count).ok_or(malformed(what))?;
        if count > TABLE_MAX || end > self.length {
            return Err(malformed(what));
        }
        let mut bytes = vec![0; usize::try_from(count).map_err(|_beyond_memory| malformed(what))?];
        self.file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// A string ended by a zero byte.
    fn string(&self, offset: u64, what: &'static str) -> Result<String, ElfError> {
        let available = self.length.checked_sub(offset).ok_or(malformed(what))?;
        let bytes = self.at(offset, available.min(STRING_MAX), what)?;
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        if text.len() == bytes.len() {
            return Err(malformed(what));
        }
        String::from_utf8(text.to_vec()).map_err(|_not_text| malformed(what))
    }

    fn elf(&self, start: &[u8]) -> Result<Elf, ElfError> {
        let header = Goblin::parse_header(start).map_err(|_short| malformed("header"))?;
        let (Ok(container), Ok(order)) = (header.container(), header.endianness()) else {
            return Err(malformed("class or byte order"));
        };
        let context = Ctx::new(container, order);
        let mut elf = Elf {
            machine: Machine {
                number: header.e_machine,
                bits: if context.is_big() { 64 } else { 32 },
                big_endian: !context.is_little_endian(),
            },
            form: match header.e_type {
                ET_EXEC | ET_DYN => Form::Linked,
                ET_REL => Form::Object,
                ET_CORE => Form::Core,
                _ => Form::Unknown,
            },
            interpreter: None,
            needed: Vec::new(),
            soname: None,
            rpath: None,
            runpath: None,
            no_default_folders: false,
            glibc: None,
        };
        let segments = self.segments(&header, context)?;
        if let Some(segment) = segments.iter().find(|segment| segment.p_type == PT_INTERP) {
            elf.interpreter = Some(self.string(segment.p_offset, "interpreter")?);
        }
        if let Some(segment) = segments.iter().find(|segment| segment.p_type == PT_DYNAMIC) {
            self.dynamic(segment, &segments, context, &mut elf)?;
        }
        Ok(elf)
    }

    fn segments(&self, header: &Header, context: Ctx) -> Result<Vec<ProgramHeader>, ElfError> {
        let count = usize::from(header.e_phnum);
        let size = ProgramHeader::size(context);
        if count > 0 && usize::from(header.e_phentsize) != size {
            return Err(malformed("program headers"));
        }
        // Both factors have 16 bits.
        let length = u64::from(header.e_phnum) * u64::from(header.e_phentsize);
        let bytes = self.at(header.e_phoff, length, "program headers")?;
        ProgramHeader::parse(&bytes, 0, count, context)
            .map_err(|_short| malformed("program headers"))
    }

    fn dynamic(
        &self,
        segment: &ProgramHeader,
        segments: &[ProgramHeader],
        context: Ctx,
        elf: &mut Elf,
    ) -> Result<(), ElfError> {
        let bytes = self.at(segment.p_offset, segment.p_filesz, "dynamic segment")?;
        let mut moved = segment.clone();
        moved.p_offset = 0;
        let Ok(Some(dynamic)) = Dynamic::parse(&bytes, &[moved], context) else {
            return Err(malformed("dynamic segment"));
        };
        let value = |tag: u64| {
            let entry = dynamic.dyns.iter().find(|entry| entry.d_tag == tag);
            entry.map(|entry| entry.d_val)
        };
        let Some(strings) = value(DT_STRTAB) else {
            return Ok(());
        };
        let strings = file_offset(segments, strings).ok_or(malformed("string table"))?;
        let string = |offset: u64, what| {
            let offset = strings.checked_add(offset).ok_or(malformed(what))?;
            self.string(offset, what)
        };
        for entry in dynamic.dyns.iter().filter(|entry| entry.d_tag == DT_NEEDED) {
            elf.needed.push(string(entry.d_val, "needed library")?);
        }
        let optional = |tag, what| value(tag).map(|offset| string(offset, what)).transpose();
        elf.soname = optional(DT_SONAME, "soname")?;
        elf.runpath = optional(DT_RUNPATH, "RUNPATH")?;
        if elf.runpath.is_none() {
            elf.rpath = optional(DT_RPATH, "RPATH")?;
        }
        elf.no_default_folders = value(DT_FLAGS_1).unwrap_or(0) & NO_DEFAULT_FOLDERS != 0;
        if let (Some(address), Some(count)) = (value(DT_VERNEED), value(DT_VERNEEDNUM)) {
            let table = file_offset(segments, address).ok_or(malformed("version table"))?;
            elf.glibc = self.newest_glibc(table, count, context, &string)?;
        }
        Ok(())
    }

    /// The table has no length of its own: its entries are chained. What is read of it is bounded.
    fn newest_glibc(
        &self,
        table: u64,
        count: u64,
        context: Ctx,
        string: &dyn Fn(u64, &'static str) -> Result<String, ElfError>,
    ) -> Result<Option<Glibc>, ElfError> {
        const WHAT: &str = "version table";
        let available = self.length.checked_sub(table).ok_or(malformed(WHAT))?;
        let length = available.min(TABLE_MAX / 16);
        let bytes = self.at(table, length, WHAT)?;
        let mut section = SectionHeader::new();
        section.sh_type = SHT_GNU_VERNEED;
        section.sh_offset = 0;
        section.sh_size = length;
        section.sh_info = u32::try_from(count).map_err(|_beyond| malformed(WHAT))?;
        let Ok(Some(section)) = VerneedSection::parse(&bytes, &[section], context) else {
            return Err(malformed(WHAT));
        };
        let mut newest = None;
        for library in &section {
            for version in library.iter() {
                if version.vna_flags & WEAK != 0 {
                    continue;
                }
                let offset = u64::try_from(version.vna_name).map_err(|_beyond| malformed(WHAT))?;
                newest = newest.max(Glibc::from_symbol_version(&string(offset, WHAT)?));
            }
        }
        Ok(newest)
    }
}

/// Where in the file a loaded address comes from.
fn file_offset(segments: &[ProgramHeader], address: u64) -> Option<u64> {
    segments
        .iter()
        .filter(|segment| segment.p_type == PT_LOAD)
        .find_map(|segment| {
            let inside = address.checked_sub(segment.p_vaddr)?;
            (inside < segment.p_filesz).then(|| segment.p_offset.checked_add(inside))?
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn this_test() -> Elf {
        let path = std::env::current_exe().unwrap();
        Elf::read(&path).unwrap().unwrap()
    }

    #[test]
    fn a_real_program_is_read_as_readelf_reads_it() {
        let elf = this_test();
        assert_eq!(elf.form, Form::Linked);
        assert_eq!(elf.machine.bits, 64);
        assert!(elf.interpreter.unwrap().contains("ld-linux"));
        assert!(elf.needed.iter().any(|name| name == "libc.so.6"));
        // Rust's standard library wants at least this on every supported target.
        assert!(elf.glibc.unwrap() >= Glibc([2, 14, 0]));
    }

    #[test]
    fn symbol_versions_are_compared_as_numbers() {
        let version = |name| Glibc::from_symbol_version(name);
        assert!(version("GLIBC_2.34") > version("GLIBC_2.4"));
        assert!(version("GLIBC_2.2.5") < version("GLIBC_2.3"));
        assert_eq!(version("GLIBC_ABI_DT_RELR"), version("GLIBC_2.36"));
        assert_eq!(version("GLIBC_PRIVATE"), None);
        assert_eq!(version("GLIBCXX_3.4.30"), None);
        assert_eq!(version("GLIBC_2.2.5").unwrap().to_string(), "2.2.5");
        assert_eq!(version("GLIBC_2.17").unwrap().to_string(), "2.17");
    }

    /// A header with no segments, for any machine.
    pub(crate) fn header(machine: u16, bits: u8, form: u8) -> Vec<u8> {
        let mut bytes = vec![0_u8; 64];
        bytes[..4].copy_from_slice(b"\x7fELF");
        bytes[4] = bits / 32;
        bytes[5] = 1;
        bytes[6] = 1;
        bytes[16] = form;
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes
    }

    #[test]
    fn another_machine_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, header(183, 64, 2)).unwrap();
        let elf = Elf::read(&path).unwrap().unwrap();
        assert_ne!(elf.machine, this_test().machine);
        assert_eq!(elf.machine.to_string(), "aarch64 (64 bits)");
        std::fs::write(&path, header(3, 32, 1)).unwrap();
        let elf = Elf::read(&path).unwrap().unwrap();
        assert_eq!(elf.machine.to_string(), "386 (32 bits)");
        assert_eq!(elf.form, Form::Object);
    }

    #[test]
    fn damaged_files_are_errors_and_never_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let whole = std::fs::read("/bin/ls").unwrap();
        let mut seed = 1_u64;
        for round in 0_usize..2000 {
            let mut bytes = whole[..whole.len().min(1 + round * 97 % 8192)].to_vec();
            if round % 2 == 0 {
                bytes.clone_from(&whole);
                for _ in 0..8 {
                    // Knuth's multiplier; only spread matters.
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let place = usize::try_from(seed >> 33).unwrap() % 4096;
                    bytes[place] = seed.to_le_bytes()[6];
                }
            }
            std::fs::write(&path, &bytes).unwrap();
            let _whatever = Elf::read(&path);
        }
    }
}
