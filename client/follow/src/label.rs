//! `--label`, `-prepend-pattern`: every line of output begins with a label of the rank that wrote it.
//!
//! Lines are kept whole: a rank's line is held back until its end has come. A line longer than
//! [`LINE_MAX`] is written in pieces of that length, each a labelled line of its own, and so is what
//! is held when that is more than [`HELD_MAX`] for all ranks together. A last line without an end
//! gets one.

use std::collections::BTreeMap;

use job::wire::Stream;

/// Bytes of a line that stay together.
const LINE_MAX: usize = job::CHUNK_MAX;
/// Bytes that are held for all ranks together.
const HELD_MAX: usize = 16 * 1024 * 1024;

/// The lines that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    /// By rank and stream; never empty, at most [`LINE_MAX`].
    held: BTreeMap<(u32, i32), Vec<u8>>,
    held_bytes: usize,
}

impl Labels {
    /// Takes what `rank` wrote, and gives what can be shown now, each line behind `label`.
    pub(crate) fn add(
        &mut self,
        rank: u32,
        stream: Stream,
        mut data: &[u8],
        label: &str,
    ) -> Vec<u8> {
        let key = (rank, i32::from(stream));
        let mut line = self.held.remove(&key).unwrap_or_default();
        self.held_bytes -= line.len();
        let mut shown = Vec::with_capacity(data.len() + 16);
        while !data.is_empty() {
            // The end of a line that is exactly as long as is allowed is seen with it.
            let room = &data[..data.len().min(LINE_MAX + 1 - line.len())];
            let end = room.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or_else(|| room.len().min(LINE_MAX - line.len()));
            line.extend_from_slice(&data[..taken]);
            data = &data[taken + usize::from(end.is_some())..];
            if end.is_some() || (line.len() == LINE_MAX && !data.is_empty()) {
                show(&mut shown, label, &line);
                line.clear();
            }
        }
        if self.held_bytes + line.len() > HELD_MAX {
            show(&mut shown, label, &line);
        } else if !line.is_empty() {
            self.held_bytes += line.len();
            self.held.insert(key, line);
        }
        shown
    }

    /// What never ended, by rank; `label` is that of a rank.
    pub(crate) fn rest(&mut self, label: &dyn Fn(u32) -> String) -> Vec<(u32, Stream, Vec<u8>)> {
        self.held_bytes = 0;
        let held = std::mem::take(&mut self.held).into_iter();
        held.map(|((rank, stream), line)| {
            let mut shown = Vec::new();
            show(&mut shown, &label(rank), &line);
            let stream = Stream::try_from(stream).unwrap_or(Stream::Stdout);
            (rank, stream, shown)
        })
        .collect()
    }
}

fn show(shown: &mut Vec<u8>, label: &str, line: &[u8]) {
    shown.extend_from_slice(label.as_bytes());
    shown.extend_from_slice(line);
    shown.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(rank: u32) -> String {
        format!("[{rank}] ")
    }

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn lines_come_whole_with_their_rank() {
        let mut labels = Labels::default();
        let mut add = |rank, data: &str| {
            text(labels.add(rank, Stream::Stdout, data.as_bytes(), &label(rank)))
        };
        assert_eq!(add(0, "one\ntw"), "[0] one\n");
        assert_eq!(add(11, "\n"), "[11] \n");
        assert_eq!(add(0, "o\n\nthree"), "[0] two\n[0] \n");
        assert_eq!(add(1, "x"), "");
        assert_eq!(
            text(labels.add(0, Stream::Stderr, b"e\n", "[0] ")),
            "[0] e\n"
        );
        let rest: Vec<String> = labels
            .rest(&label)
            .into_iter()
            .map(|(_, _, b)| text(b))
            .collect();
        assert_eq!(rest, ["[0] three\n", "[1] x\n"]);
        assert!(labels.rest(&label).is_empty());
    }

    #[test]
    fn a_line_that_is_too_long_comes_in_pieces() {
        let mut labels = Labels::default();
        let long = "a".repeat(LINE_MAX);
        assert_eq!(
            text(labels.add(3, Stream::Stdout, format!("{long}\nb\n").as_bytes(), "[3] ")),
            format!("[3] {long}\n[3] b\n")
        );
        assert_eq!(
            text(labels.add(
                3,
                Stream::Stdout,
                format!("{long}{long}c\n").as_bytes(),
                "[3] "
            )),
            format!("[3] {long}\n[3] {long}\n[3] c\n")
        );
        assert_eq!(labels.held_bytes, 0);
    }

    #[test]
    fn what_is_held_is_bounded() {
        let mut labels = Labels::default();
        let piece = vec![b'a'; LINE_MAX - 1];
        for rank in 0..2000 {
            labels.add(rank, Stream::Stdout, &piece, "");
            assert!(labels.held_bytes <= HELD_MAX);
        }
        let held: usize = labels.held.values().map(Vec::len).sum();
        assert_eq!(held, labels.held_bytes);
    }
}
