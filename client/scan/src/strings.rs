//! Known strings in parts of a file, read piece by piece.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::time::Instant;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::tables::{Element, STRINGS};

/// Bytes that are read at a time.
const PIECE: usize = 256 * 1024;
/// Most bytes of one file that are looked at.
const ALL_MAX: u64 = 192 << 20;
/// Longer than any string: what a piece takes over from the one before.
const OVERLAP: usize = 32;

/// A part of a file: where it begins, and how long it is.
pub type ByteRange = (u64, u64);

/// Those of the known strings that `parts` of `file` have, each once.
#[must_use]
pub fn strings(file: &File, parts: &[ByteRange], by: Instant) -> Vec<(&'static str, Element)> {
    let patterns = STRINGS.iter().map(|(text, _)| text);
    let searcher = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostFirst)
        .build(patterns);
    let Ok(searcher) = searcher else {
        return Vec::new();
    };
    let mut found = vec![false; STRINGS.len()];
    let mut piece = vec![0_u8; PIECE];
    let mut left = ALL_MAX;
    for (offset, length) in parts {
        // As much as is taken over of the piece before lies at the beginning.
        let (mut at, mut kept) = (*offset, 0_usize);
        let end = offset.saturating_add((*length).min(left));
        left = left.saturating_sub(*length);
        while at < end && Instant::now() < by {
            let wanted = usize::try_from(end - at).unwrap_or(usize::MAX);
            let room = piece.len() - kept;
            let Some(into) = piece.get_mut(kept..kept + wanted.min(room)) else {
                break;
            };
            let Ok(read @ 1..) = file.read_at(into, at) else {
                break;
            };
            at = at.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
            let filled = kept + read;
            let looked_at = piece.get(..filled).unwrap_or_default();
            for hit in searcher.find_iter(looked_at) {
                if let Some(known) = found.get_mut(hit.pattern().as_usize()) {
                    *known = true;
                }
            }
            kept = filled.min(OVERLAP);
            piece.copy_within(filled - kept..filled, 0);
        }
    }
    let found = STRINGS.iter().zip(found);
    found
        .filter(|(_, is_there)| *is_there)
        .map(|(known, _)| *known)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use super::*;

    #[test]
    fn strings_are_found_wherever_pieces_end() {
        let by = Instant::now() + Duration::from_secs(60);
        for at in [0, PIECE - 7, PIECE - 1, PIECE, 2 * PIECE - OVERLAP - 3] {
            let mut file = tempfile::tempfile().unwrap();
            let mut bytes = vec![b'x'; 3 * PIECE];
            bytes[at..at + 14].copy_from_slice(b"cuLaunchKernel");
            file.write_all(&bytes).unwrap();
            let all = bytes.len() as u64;
            let found = strings(&file, &[(0, all)], by);
            assert_eq!(found, [("cuLaunchKernel", Element::Gpu)], "{at}");
            // Not in the parts that are looked at, which may reach behind the end.
            let behind = (at + 1) as u64;
            assert_eq!(strings(&file, &[(behind, u64::MAX)], by), []);
        }
        assert!(STRINGS.iter().all(|(text, _)| text.len() <= OVERLAP));
    }
}
