//! Small shared libraries made by hand, for tests of what is read of them.

use std::fs;
use std::path::Path;

/// What a crafted library says.
#[derive(Clone, Debug, Default)]
pub struct Crafted<'a> {
    pub needed: &'a [&'a str],
    pub soname: Option<&'a str>,
    pub rpath: Option<&'a str>,
    pub runpath: Option<&'a str>,
    /// Versions wanted of libc.so.6.
    pub versions: &'a [&'a str],
}

impl Crafted<'_> {
    /// Writes it for the machine that runs the test, with the folders above it.
    pub fn write(&self, path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, self.bytes()).unwrap();
    }

    /// ELF, 64 bits, little-endian: header, two segments, dynamic segment, versions, strings.
    fn bytes(&self) -> Vec<u8> {
        let mut strings = vec![0_u8];
        let mut string = |text: &str| {
            let place = strings.len() as u64;
            strings.extend_from_slice(text.as_bytes());
            strings.push(0);
            place
        };
        let mut entries: Vec<(u64, u64)> = Vec::new();
        for name in self.needed {
            entries.push((1, string(name)));
        }
        for (tag, text) in [(14, self.soname), (15, self.rpath), (29, self.runpath)] {
            entries.extend(text.map(|text| (tag, string(text))));
        }
        let libc = string("libc.so.6");
        let versions: Vec<u64> = self
            .versions
            .iter()
            .map(|version| string(version))
            .collect();
        let dynamic = 64 + 2 * 56;
        let table = dynamic + 16 * (entries.len() as u64 + 4);
        let strings_at = table + 16 * (1 + versions.len() as u64);
        let end = strings_at + strings.len() as u64;
        entries.push((5, strings_at));
        entries.push((0x6fff_fffe, table));
        entries.push((0x6fff_ffff, u64::from(!versions.is_empty())));
        entries.push((0, 0));

        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        let mut out = vec![0_u8; 64];
        out[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        out[16] = 3;
        out[18..20].copy_from_slice(&own[18..20]);
        out[32] = 64;
        out[54] = 56;
        out[56] = 2;
        for (kind, from, to) in [(1_u64, 0, end), (2, dynamic, table)] {
            // Type and flags, offset, two addresses, two lengths, alignment.
            for word in [kind, from, from, from, to - from, to - from, 8] {
                out.extend(word.to_le_bytes());
            }
        }
        for (tag, value) in entries {
            out.extend(tag.to_le_bytes());
            out.extend(value.to_le_bytes());
        }
        let half = |number: usize| u16::try_from(number).unwrap().to_le_bytes();
        let word = |number: u64| u32::try_from(number).unwrap().to_le_bytes();
        out.extend([half(1), half(versions.len())].concat());
        out.extend([word(libc), word(16), word(0)].concat());
        for (index, version) in versions.iter().enumerate() {
            let next = if index + 1 < versions.len() { 16 } else { 0 };
            out.extend([word(0), word(0), word(*version), word(next)].concat());
        }
        out.extend(strings);
        out
    }
}
