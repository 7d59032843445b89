//! What a barrier brings to every launcher: written once, however many launchers there are.

use prost::Message as _;
use prost::bytes::{Bytes, BytesMut};

use crate::wire::{Fence, FenceDone, KeyValue, Puts};

/// Most bytes of keys and values of one piece. A launcher whose link is slow keeps one piece, written
/// out a second time, and not all of them.
const PIECE: usize = 256 * 1024;

impl Fence {
    /// In place of a group, where the ranks of a fence are of several: they are numbers in the job.
    pub const ACROSS: u32 = u32::MAX;
}

impl FenceDone {
    /// The orders that bring these values, at least one. Their clones share the bytes.
    #[must_use]
    pub fn pieces(group: u32, puts: Vec<(String, String)>) -> Vec<Self> {
        let mut pieces = Vec::new();
        let mut piece = Puts::default();
        let mut bytes = 0;
        for (key, value) in puts {
            bytes += key.len() + value.len();
            piece.puts.push(KeyValue { key, value });
            if bytes >= PIECE {
                pieces.push(std::mem::take(&mut piece));
                bytes = 0;
            }
        }
        if pieces.is_empty() || !piece.puts.is_empty() {
            pieces.push(piece);
        }
        let last = pieces.len() - 1;
        let written = pieces.into_iter().enumerate().map(|(index, piece)| Self {
            puts: Bytes::from(piece.encode_to_vec()),
            group,
            more: index < last,
            ..Self::default()
        });
        written.collect()
    }

    /// The orders that bring what PMIx servers told in a fence of `ranks`, at least one. Their clones share the bytes.
    #[must_use]
    pub fn of_servers<'a>(
        group: u32,
        ranks: &[u32],
        told: impl IntoIterator<Item = &'a Bytes>,
    ) -> Vec<Self> {
        let mut pieces = Vec::new();
        let mut piece = BytesMut::new();
        for mut told in told.into_iter().cloned() {
            while !told.is_empty() {
                let room = PIECE.saturating_sub(piece.len()).min(told.len());
                piece.extend_from_slice(&told.split_to(room));
                if piece.len() >= PIECE {
                    pieces.push(piece.split().freeze());
                }
            }
        }
        if pieces.is_empty() || !piece.is_empty() {
            pieces.push(piece.freeze());
        }
        let last = pieces.len().saturating_sub(1);
        let written = pieces.into_iter().enumerate().map(|(index, puts)| Self {
            puts,
            group,
            more: index < last,
            pmix: true,
            ranks: ranks.to_vec(),
        });
        written.collect()
    }

    /// The values of this piece; `None`: they are not what [`FenceDone::pieces`] writes.
    #[must_use]
    pub fn values(&self) -> Option<Vec<(String, String)>> {
        let piece = Puts::decode(self.puts.clone()).ok()?;
        let values = piece.puts.into_iter().map(|put| (put.key, put.value));
        Some(values.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_bounded_shared_and_whole() {
        let none = FenceDone::pieces(0, Vec::new());
        assert_eq!(none.len(), 1);
        assert_eq!(none[0].values(), Some(Vec::new()));
        let puts: Vec<(String, String)> = (0..1000)
            .map(|i| (format!("key-{i}"), "v".repeat(1000)))
            .collect();
        let pieces = FenceDone::pieces(3, puts.clone());
        assert_eq!(pieces.len(), 4);
        assert!(pieces.iter().all(|piece| piece.puts.len() < PIECE + 40_000));
        let more: Vec<bool> = pieces.iter().map(|piece| piece.more).collect();
        assert_eq!(more, [true, true, true, false]);
        assert_eq!(pieces[0].clone().puts.as_ptr(), pieces[0].puts.as_ptr());
        let back = pieces.iter().flat_map(|piece| piece.values().unwrap());
        assert_eq!(back.collect::<Vec<_>>(), puts);
        let broken = FenceDone {
            puts: Bytes::from_static(b"\xff"),
            ..FenceDone::default()
        };
        assert_eq!(broken.values(), None);
    }

    #[test]
    fn what_servers_told_comes_in_their_order_and_in_bounded_pieces() {
        let none = FenceDone::of_servers(0, &[], []);
        assert_eq!((none.len(), none[0].more), (1, false));
        let told = [vec![1; 10], vec![2; 2 * PIECE], vec![], vec![3; 5]].map(Bytes::from);
        let pieces = FenceDone::of_servers(2, &[4, 5], &told);
        let sizes: Vec<usize> = pieces.iter().map(|piece| piece.puts.len()).collect();
        assert_eq!(sizes, [PIECE, PIECE, 15]);
        let more: Vec<bool> = pieces.iter().map(|piece| piece.more).collect();
        assert_eq!(more, [true, true, false]);
        assert!(
            pieces
                .iter()
                .all(|piece| piece.ranks == [4, 5] && piece.pmix)
        );
        assert_eq!(
            pieces
                .iter()
                .flat_map(|piece| piece.puts.to_vec())
                .collect::<Vec<_>>(),
            told.concat()
        );
    }
}
