//! What an ELF file says to the kernel and to the dynamic linker.
//!
//! Only the header, the program headers, the dynamic segment and the strings it points at are read:
//! an MPI library of 40 MB costs a few kilobytes. Section headers are not needed, so stripped files
//! read the same.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

use object::Endianness;
use object::elf::{
    self, DT_FLAGS_1, DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_SONAME, DT_STRTAB, DT_VERNEED,
    DT_VERNEEDNUM, ET_CORE, ET_DYN, ET_EXEC, ET_REL, PT_INTERP, PT_LOAD, VER_FLG_WEAK,
};
use object::read::elf::{Dyn as _, FileHeader, ProgramHeader as _};
use object::read::{FileKind, ReadCache, ReadRef as _};

/// Largest dynamic segment or version table that is read, bytes. Real ones have some kilobytes.
const TABLE_MAX: u64 = 1 << 20;
/// Longest string (a path list, a symbol version) that is read, bytes.
const STRING_MAX: u64 = 16 * 1024;
/// Libraries with versions, and versions of one, that are looked at. Real programs have tens.
const VERSIONS_MAX: u64 = 4096;
/// Names of processors, as users know them.
const MACHINES: [(elf::Machine, &str); 8] = [
    (elf::EM_386, "386"),
    (elf::EM_PPC64, "ppc64"),
    (elf::EM_S390, "s390"),
    (elf::EM_ARM, "arm"),
    (elf::EM_X86_64, "x86_64"),
    (elf::EM_AARCH64, "aarch64"),
    (elf::EM_RISCV, "riscv"),
    (elf::EM_LOONGARCH, "loongarch"),
];

/// A processor and its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// ELF's `e_machine`.
    number: elf::Machine,
    /// 32 or 64.
    bits: u8,
    /// Byte order.
    big_endian: bool,
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = if self.big_endian { ", big-endian" } else { "" };
        let mut names = MACHINES.iter();
        match names.find(|(number, _)| *number == self.number) {
            Some((_, name)) => f.write_str(name)?,
            None => write!(f, "machine {}", self.number.0)?,
        }
        write!(f, " ({} bits{order})", self.bits)
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
pub enum ElfKind {
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
    pub form: ElfKind,
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
        /// The part that makes no sense, in a word or two.
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
        let reader = ElfReader {
            cache: &ReadCache::new(file),
            length,
        };
        if length < 4 || reader.at(0, 4, "header")? != elf::ELFMAG.as_slice() {
            return Ok(None);
        }
        match FileKind::parse(reader.cache) {
            Ok(FileKind::Elf32) => reader.elf::<elf::FileHeader32<Endianness>>(),
            Ok(FileKind::Elf64) => reader.elf::<elf::FileHeader64<Endianness>>(),
            Ok(_) | Err(_) => Err(malformed("class or byte order")),
        }
        .map(Some)
    }
}

/// Bounded reads from one file; what was read once is kept.
#[derive(Clone, Copy)]
struct ElfReader<'a> {
    cache: &'a ReadCache<File>,
    length: u64,
}

const fn malformed(what: &'static str) -> ElfError {
    ElfError::Malformed { what }
}

impl<'a> ElfReader<'a> {
    /// Exactly `count` bytes; checked against the file's length before anything is allocated.
    fn at(self, offset: u64, count: u64, what: &'static str) -> Result<&'a [u8], ElfError> {
        if count > TABLE_MAX {
            return Err(malformed(what));
        }
        let bytes = self.cache.read_bytes_at(offset, count);
        bytes.map_err(|()| malformed(what))
    }

    /// A string ended by a zero byte.
    fn string(self, offset: u64, what: &'static str) -> Result<String, ElfError> {
        let available = self.length.checked_sub(offset).ok_or(malformed(what))?;
        let bytes = self.at(offset, available.min(STRING_MAX), what)?;
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        if text.len() == bytes.len() {
            return Err(malformed(what));
        }
        String::from_utf8(text.to_vec()).map_err(|_not_text| malformed(what))
    }

    fn elf<H: FileHeader<Endian = Endianness>>(self) -> Result<Elf, ElfError> {
        let header = H::parse(self.cache).map_err(|_unread| malformed("header"))?;
        let endian = header.endian();
        let endian = endian.map_err(|_unknown| malformed("class or byte order"))?;
        let mut elf = Elf {
            machine: Machine {
                number: header.e_machine(endian),
                bits: if header.is_class_64() { 64 } else { 32 },
                big_endian: header.is_big_endian(),
            },
            form: match header.e_type(endian) {
                ET_EXEC | ET_DYN => ElfKind::Linked,
                ET_REL => ElfKind::Object,
                ET_CORE => ElfKind::Core,
                _ => ElfKind::Unknown,
            },
            interpreter: None,
            needed: Vec::new(),
            soname: None,
            rpath: None,
            runpath: None,
            no_default_folders: false,
            glibc: None,
        };
        let segments = header.program_headers(endian, self.cache);
        let segments = segments.map_err(|_unread| malformed("program headers"))?;
        let mut interpreters = segments.iter();
        if let Some(segment) = interpreters.find(|segment| segment.p_type(endian) == PT_INTERP) {
            let offset = segment.p_offset(endian).into();
            elf.interpreter = Some(self.string(offset, "interpreter")?);
        }
        self.dynamic::<H>(segments, endian, &mut elf)?;
        Ok(elf)
    }

    fn dynamic<H: FileHeader<Endian = Endianness>>(
        self,
        segments: &[H::ProgramHeader],
        endian: Endianness,
        elf: &mut Elf,
    ) -> Result<(), ElfError> {
        const WHAT: &str = "dynamic segment";
        let mut dynamic = segments.iter();
        let dynamic = dynamic.find(|segment| segment.p_type(endian) == elf::PT_DYNAMIC);
        let Some(segment) = dynamic else {
            return Ok(());
        };
        if segment.p_filesz(endian).into() > TABLE_MAX {
            return Err(malformed(WHAT));
        }
        let entries = segment.dynamic(endian, self.cache);
        let entries = entries.map_err(|_unread| malformed(WHAT))?;
        let entries = entries.unwrap_or_default().iter();
        let entries: Vec<(elf::DynamicTag, u64)> = entries
            .map(|entry| (entry.tag(endian), entry.val(endian)))
            .take_while(|(tag, _)| *tag != elf::DT_NULL)
            .collect();
        let value = |wanted: elf::DynamicTag| {
            let entry = entries.iter().find(|(tag, _)| *tag == wanted);
            entry.map(|(_, value)| *value)
        };
        let Some(strings) = value(DT_STRTAB) else {
            return Ok(());
        };
        let strings = file_offset::<H>(segments, endian, strings);
        let strings = strings.ok_or(malformed("string table"))?;
        let string = |offset: u64, what| {
            let offset = strings.checked_add(offset).ok_or(malformed(what))?;
            self.string(offset, what)
        };
        for (_, offset) in entries.iter().filter(|(tag, _)| *tag == DT_NEEDED) {
            elf.needed.push(string(*offset, "needed library")?);
        }
        let optional = |tag, what| value(tag).map(|offset| string(offset, what)).transpose();
        elf.soname = optional(DT_SONAME, "soname")?;
        elf.runpath = optional(DT_RUNPATH, "RUNPATH")?;
        if elf.runpath.is_none() {
            elf.rpath = optional(DT_RPATH, "RPATH")?;
        }
        let flags = value(DT_FLAGS_1).unwrap_or(0);
        elf.no_default_folders = flags & elf::DF_1_NODEFLIB.0 != 0;
        if let (Some(address), Some(count)) = (value(DT_VERNEED), value(DT_VERNEEDNUM)) {
            let table = file_offset::<H>(segments, endian, address);
            let table = table.ok_or(malformed("version table"))?;
            elf.glibc = self.newest_glibc(table, count, endian, &string)?;
        }
        Ok(())
    }

    /// The table has no length of its own: its entries are chained, from library to library and, of each,
    /// from version to version.
    fn newest_glibc(
        self,
        table: u64,
        count: u64,
        endian: Endianness,
        string: &dyn Fn(u64, &'static str) -> Result<String, ElfError>,
    ) -> Result<Option<Glibc>, ElfError> {
        const WHAT: &str = "version table";
        let next = |place: u64, further: u32| {
            let next = place.checked_add(further.into());
            next.ok_or(malformed(WHAT))
        };
        let (mut library_at, mut newest, mut seen) = (table, None, 0);
        for _library in 0..count.min(VERSIONS_MAX) {
            let library = self.cache.read_at::<elf::Verneed<Endianness>>(library_at);
            let library = library.map_err(|()| malformed(WHAT))?;
            let mut version_at = next(library_at, library.vn_aux.get(endian))?;
            for _version in 0..library.vn_cnt.get(endian) {
                seen += 1;
                if seen > VERSIONS_MAX {
                    return Err(malformed(WHAT));
                }
                let version = self.cache.read_at::<elf::Vernaux<Endianness>>(version_at);
                let version = version.map_err(|()| malformed(WHAT))?;
                // The linker does without a weak one.
                if version.vna_flags.get(endian).0 & VER_FLG_WEAK.0 == 0 {
                    let name = string(version.vna_name.get(endian).into(), WHAT)?;
                    newest = newest.max(Glibc::from_symbol_version(&name));
                }
                version_at = next(version_at, version.vna_next.get(endian))?;
            }
            match library.vn_next.get(endian) {
                0 => break,
                further => library_at = next(library_at, further)?,
            }
        }
        Ok(newest)
    }
}

/// Where in the file a loaded address comes from.
fn file_offset<H: FileHeader<Endian = Endianness>>(
    segments: &[H::ProgramHeader],
    endian: Endianness,
    address: u64,
) -> Option<u64> {
    segments
        .iter()
        .filter(|segment| segment.p_type(endian) == PT_LOAD)
        .find_map(|segment| {
            let inside = address.checked_sub(segment.p_vaddr(endian).into())?;
            let offset: u64 = segment.p_offset(endian).into();
            (inside < segment.p_filesz(endian).into()).then(|| offset.checked_add(inside))?
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
        assert_eq!(elf.form, ElfKind::Linked);
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
        assert_eq!(elf.form, ElfKind::Object);
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
