//! What became of the time: when disk, copies and kernels were active, and how near that is to the least possible.
//!
//! Source: SPMario, footnote 1: utilization is active time / total time. Active is whatever has at least one chunk; the
//! total is from the first read's begin to the last chunk's end.
//!
//! The bound is the time of what is active longest: no order of the same reads, copies and kernels ends sooner.

use std::fmt;

use crate::{Overlap, Span};

/// When what was done with a chunk, by this machine's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkTimes {
    /// Of which task of its engine.
    pub task: u32,
    /// Its first byte in the file.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
    /// It was read.
    pub io: Span,
    /// It was copied to the device.
    pub h2d: Span,
    /// It was computed.
    pub kernel: Span,
    /// What came of it was copied back.
    pub d2h: Span,
}

/// What a chunk needs, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The disk that chunks are read from.
    Disk,
    /// HDFS, where chunks are read from it.
    Hdfs,
    /// Copies to the device and back.
    Copy,
    /// The device's kernels.
    Kernel,
    /// Copies and kernels, of which a device does one at a time.
    Device,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Disk => "the disk",
            Self::Hdfs => "HDFS",
            Self::Copy => "the copy",
            Self::Kernel => "the kernel",
            Self::Device => "the device",
        })
    }
}

/// Of all chunks of a run, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Makespan {
    /// How many there are.
    pub chunks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// From the first read's begin to the last chunk's end.
    pub span: u64,
    /// From the first read's begin to the last one's end.
    pub io_span: u64,
    /// What chunks were read from.
    pub reader: Resource,
    /// It was active.
    pub io: u64,
    /// Copies to the device and back were.
    pub transfer: u64,
    /// Kernels were.
    pub kernel: u64,
    /// How long a chunk was read, on the mean.
    pub io_chunk: u64,
    /// What was active longest.
    pub bound_by: Resource,
    /// How long that was active.
    pub bound: u64,
}

impl Makespan {
    /// Of these, of one engine or of several on one disk and one device.
    #[must_use]
    pub fn of(chunks: &[ChunkTimes], overlap: Overlap) -> Self {
        let reads = || chunks.iter().map(|chunk| chunk.io);
        let copies = || chunks.iter().flat_map(|chunk| [chunk.h2d, chunk.d2h]);
        let kernels = || chunks.iter().map(|chunk| chunk.kernel);
        let all = || reads().chain(copies()).chain(kernels());
        let (io, transfer, kernel) = (active(reads()), active(copies()), active(kernels()));
        let (bound_by, bound) = match overlap {
            Overlap::Overlap if transfer > kernel => (Resource::Copy, transfer),
            Overlap::Overlap => (Resource::Kernel, kernel),
            Overlap::Serial => (Resource::Device, active(copies().chain(kernels()))),
        };
        let (bound_by, bound) = match io >= bound {
            true => (Resource::Disk, io),
            false => (bound_by, bound),
        };
        let count = u64::try_from(chunks.len()).unwrap_or(u64::MAX);
        let read: u64 = reads().map(|span| span.length()).sum();
        Self {
            chunks: count,
            bytes: chunks.iter().map(|chunk| chunk.bytes).sum(),
            span: extent(all()),
            io_span: extent(reads()),
            reader: Resource::Disk,
            io,
            transfer,
            kernel,
            io_chunk: read.checked_div(count).unwrap_or(0),
            bound_by,
            bound,
        }
    }

    /// The same of chunks that were read from something else than a disk.
    #[must_use]
    pub fn read_from(mut self, reader: Resource) -> Self {
        if self.bound_by == self.reader {
            self.bound_by = reader;
        }
        self.reader = reader;
        self
    }

    /// What a job counts of each of its engines: milliseconds, and which was whose bound.
    #[must_use]
    pub fn counters(&self) -> [(&'static str, u64); 6] {
        let ms = |ns: u64| ns / 1_000_000;
        let bound = match self.bound_by {
            Resource::Disk => "BOUND_BY_DISK",
            Resource::Hdfs => "BOUND_BY_HDFS",
            Resource::Copy => "BOUND_BY_COPY",
            Resource::Kernel => "BOUND_BY_KERNEL",
            Resource::Device => "BOUND_BY_DEVICE",
        };
        [
            ("CHUNKS", self.chunks),
            ("ENGINE_MS", ms(self.span)),
            ("READ_MS", ms(self.io)),
            ("COPY_MS", ms(self.transfer)),
            ("KERNEL_MS", ms(self.kernel)),
            (bound, 1),
        ]
    }

    /// The bound / the span: 1 where nothing waits that is the bound. 1 of nothing.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        share(self.bound, self.span)
    }

    /// For what share of the span kernels are active.
    #[must_use]
    pub fn gpu_utilization(&self) -> f64 {
        share(self.kernel, self.span)
    }

    /// For what share of the span the disk is.
    #[must_use]
    pub fn io_utilization(&self) -> f64 {
        share(self.io, self.span)
    }
}

impl fmt::Display for Makespan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |ns| std::time::Duration::from_nanos(ns).as_secs_f64();
        write!(
            f,
            "{} chunks in {:.3} s, of which {} reads {:.3} s, copies take {:.3} s and kernels {:.3} s; the bound is {}, \
             {:.3} of the time",
            self.chunks,
            seconds(self.span),
            self.reader,
            seconds(self.io),
            seconds(self.transfer),
            seconds(self.kernel),
            self.bound_by,
            self.efficiency(),
        )
    }
}

fn share(part: u64, whole: u64) -> f64 {
    let ns = |ns| std::time::Duration::from_nanos(ns).as_secs_f64();
    if whole == 0 {
        1.0
    } else {
        ns(part) / ns(whole)
    }
}

/// How long at least one of the spans goes on.
fn active(spans: impl Iterator<Item = Span>) -> u64 {
    let mut ordered: Vec<Span> = spans.collect();
    ordered.sort_unstable();
    let (mut sum, mut until) = (0_u64, 0);
    for span in ordered {
        sum = sum.saturating_add(span.end.saturating_sub(span.begin.max(until)));
        until = until.max(span.end);
    }
    sum
}

/// From the first one's begin to the last one's end.
fn extent(spans: impl Iterator<Item = Span> + Clone) -> u64 {
    let begin = spans.clone().map(|span| span.begin).min();
    let end = spans.map(|span| span.end).max();
    end.unwrap_or(0).saturating_sub(begin.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(begin: u64, end: u64) -> Span {
        Span { begin, end }
    }

    /// Two chunks: the second is read while the first is copied and computed.
    fn two() -> [ChunkTimes; 2] {
        let first = ChunkTimes {
            bytes: 4096,
            io: span(100, 200),
            h2d: span(200, 230),
            kernel: span(230, 290),
            d2h: span(290, 300),
            ..ChunkTimes::default()
        };
        let second = ChunkTimes {
            bytes: 100,
            io: span(200, 280),
            h2d: span(290, 320),
            kernel: span(320, 380),
            d2h: span(380, 380),
            ..first
        };
        [first, second]
    }

    #[test]
    fn what_is_active_twice_counts_once_and_the_longest_is_the_bound() {
        let found = Makespan::of(&two(), Overlap::Overlap);
        let wanted = Makespan {
            chunks: 2,
            bytes: 4196,
            span: 280,
            io_span: 180,
            reader: Resource::Disk,
            io: 180,
            // Of the two that go on at 290 one counts.
            transfer: 60,
            kernel: 120,
            io_chunk: 90,
            bound_by: Resource::Disk,
            bound: 180,
        };
        assert_eq!(found, wanted);
        let shares = [
            found.efficiency(),
            found.gpu_utilization(),
            found.io_utilization(),
        ];
        assert_eq!(
            shares.map(|share| format!("{share:.3}")),
            ["0.643", "0.429", "0.643"]
        );
        assert_eq!(
            found.to_string(),
            "2 chunks in 0.000 s, of which the disk reads 0.000 s, copies take 0.000 s and kernels 0.000 s; the bound is \
             the disk, 0.643 of the time"
        );
    }

    #[test]
    fn a_device_that_does_one_thing_at_a_time_is_bound_by_both() {
        let mut chunks = two();
        chunks[1].kernel = span(320, 480);
        let bound = |overlap| {
            let of = Makespan::of(&chunks, overlap);
            (of.bound_by, of.bound)
        };
        assert_eq!(bound(Overlap::Overlap), (Resource::Kernel, 220));
        assert_eq!(bound(Overlap::Serial), (Resource::Device, 280));
    }

    #[test]
    fn what_chunks_are_read_from_is_named_and_counted() {
        let found = Makespan::of(&two(), Overlap::Overlap).read_from(Resource::Hdfs);
        assert_eq!(
            found.to_string(),
            "2 chunks in 0.000 s, of which HDFS reads 0.000 s, copies take 0.000 s and kernels 0.000 s; the bound is HDFS, \
             0.643 of the time"
        );
        assert_eq!(found.counters()[5], ("BOUND_BY_HDFS", 1));
        let mut chunks = two();
        chunks[1].kernel = span(320, 480_000_000);
        let found = Makespan::of(&chunks, Overlap::Overlap).read_from(Resource::Hdfs);
        assert_eq!(found.bound_by, Resource::Kernel);
        let [count, .., kernel, bound] = found.counters();
        assert_eq!((count, kernel), (("CHUNKS", 2), ("KERNEL_MS", 479)));
        assert_eq!(bound, ("BOUND_BY_KERNEL", 1));
    }

    #[test]
    fn nothing_took_no_time() {
        let none = Makespan::of(&[], Overlap::Serial);
        assert_eq!((none.span, none.io_chunk, none.chunks), (0, 0, 0));
        assert!(none.efficiency() >= 1.0);
    }
}
