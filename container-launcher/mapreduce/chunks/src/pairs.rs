//! Maps that emit pairs of a key and a value from kernels, which go to the job's reduces as those of any map.
//!
//! ```text
//!  words:  count | bound | key value | key value | …        count: pairs that threads have emitted of the chunk
//! ```
//!
//! The streams of an engine hand the pairs of each chunk to the map's own thread, which puts them into the map's output:
//! there they are dealt to reduces, sorted, and fetched by the reduces of other nodes.

use std::fmt::Write as _;
use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{SyncSender, sync_channel};

use gerbil_gpu::Grid;
use gerbil_mapreduce::{Context, Emit, EncodeAs, Key, Mapper, Partitioner, Result, Value};

use crate::attempt::{Attempt, ended};
use crate::{ChunkInput, ChunkKernel, FilePiece};

/// Words in front of the pairs.
const HEADING: usize = 2;

mod sealed {
    pub trait Sealed {}
}

/// A number that kernels emit: `u32`, `u64` or `f32`, which the dialect calls `uint`, `ulong` and `float`.
pub trait PairNumber: Value + EncodeAs<Self> + Copy + Send + sealed::Sealed {
    /// What the dialect calls it.
    const TYPE: &'static str;
    /// How it is stored: a statement for each of its words, of which `emit_to` is the first.
    const STORED: &'static [&'static str];

    /// The number that was stored so.
    fn of_words(words: &[u32]) -> Self;
}

/// A number that kernels emit as a key.
pub trait PairKey: PairNumber + Key {
    /// What is left of it, divided by so many.
    fn remainder(self, by: u32) -> u32;
}

impl sealed::Sealed for u32 {}
impl sealed::Sealed for u64 {}
impl sealed::Sealed for f32 {}

impl PairNumber for u32 {
    const TYPE: &'static str = "uint";
    const STORED: &'static [&'static str] = &["*emit_to = emit_it"];

    fn of_words(words: &[u32]) -> Self {
        words.first().copied().unwrap_or_default()
    }
}

impl PairNumber for u64 {
    const TYPE: &'static str = "ulong";
    const STORED: &'static [&'static str] = &[
        "*emit_to = (uint)emit_it",
        "*emit_to = (uint)(emit_it >> 32)",
    ];

    fn of_words(words: &[u32]) -> Self {
        let [low, high] = words.first_chunk().copied().unwrap_or_default();
        Self::from(high) << 32 | Self::from(low)
    }
}

impl PairNumber for f32 {
    const TYPE: &'static str = "float";
    const STORED: &'static [&'static str] = &["*(GLOBAL float *)emit_to = emit_it"];

    fn of_words(words: &[u32]) -> Self {
        Self::from_bits(u32::of_words(words))
    }
}

impl PairKey for u32 {
    fn remainder(self, by: u32) -> u32 {
        self.checked_rem(by).unwrap_or_default()
    }
}

impl PairKey for u64 {
    fn remainder(self, by: u32) -> u32 {
        let rest = self.checked_rem(by.into()).unwrap_or_default();
        u32::try_from(rest).unwrap_or_default()
    }
}

/// A mapper whose kernel emits pairs.
///
/// # Safety
///
/// The kernel is C, which nobody checks. Of the parameters
///
/// ```text
/// KERNEL(name)(GLOBAL const … *chunk, ulong bytes, GLOBAL const float *constants, GLOBAL uint *words)
/// ```
///
/// it must read no more than `bytes` of `chunk` and the [constants](Self::constants), with the threads of
/// [`grid`](Self::grid), and do nothing with `words` but `EMIT(words, key, value)`.
#[expect(unsafe_code, reason = "nobody checks what a kernel does")]
pub unsafe trait PairMapper: Sync + Sized + 'static {
    /// The keys that are emitted.
    type Key: PairKey;
    /// The values that are emitted.
    type Value: PairNumber;

    /// Bytes of a record: chunks, and so splits, have whole ones.
    const RECORD: u64;

    /// Called once before the first chunk.
    ///
    /// # Errors
    /// The user's own.
    fn setup(&mut self, context: &mut Context) -> Result<()> {
        let _ = context;
        Ok(())
    }

    /// The kernel, in [`gerbil_gpu`]'s dialect and `EMIT`.
    fn source(&self) -> String;

    /// Its name.
    fn name(&self) -> &str;

    /// What all threads read.
    fn constants(&self) -> &[f32] {
        &[]
    }

    /// How many pairs its threads emit of a chunk of so many bytes at the most: no more than of a longer one. Where they emit
    /// more the attempt fails.
    fn bound(&self, bytes: u64) -> u32;

    /// By how many threads.
    ///
    /// # Errors
    ///
    /// They are more than a launch may have, or the chunk is not what it should be.
    fn grid(&self, bytes: u64) -> io::Result<Grid>;
}

/// The [`Mapper`] that a [`PairMapper`] is: `Job::new(…).map(|| Paired(Mine::default()))`. Pairs come in any order.
#[derive(Debug)]
pub struct Paired<M>(pub M);

/// Deals keys to reduces by what is left of them, divided by how many reduces there are: `partition(|| ByRemainder)`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByRemainder;

impl<K: PairKey + for<'a> Value<View<'a> = K>> Partitioner<K> for ByRemainder {
    fn partition(&mut self, key: K, partitions: u32) -> Result<u32> {
        Ok(key.remainder(partitions))
    }
}

/// Words of a pair.
fn width<M: PairMapper>() -> usize {
    M::Key::STORED.len().saturating_add(M::Value::STORED.len())
}

/// What `EMIT` is for such pairs.
fn emits<M: PairMapper>() -> String {
    let mut text = format!(
        "#define EMIT(words, key, value) do {{ \\\n\
         uint emit_at = ADD(words, 1u); \\\n\
         if (emit_at < (words)[1]) {{ \\\n\
         GLOBAL uint *emit_to = (words) + {HEADING} + (ulong)emit_at * {}; \\\n",
        width::<M>()
    );
    for (kind, it, stored) in [
        (M::Key::TYPE, "key", M::Key::STORED),
        (M::Value::TYPE, "value", M::Value::STORED),
    ] {
        // A string takes all that is written.
        write!(text, "{{ {kind} emit_it = ({it}); ").unwrap_or_default();
        for statement in stored {
            write!(text, "{statement}; emit_to++; ").unwrap_or_default();
        }
        text.push_str("} \\\n");
    }
    text.push_str("} } while (0)\n#line 1\n");
    text
}

/// Hands what a kernel emits to the map's thread.
struct Sending<'a, M> {
    kernel: &'a M,
    to: SyncSender<Vec<u32>>,
}

// SAFETY: `EMIT` writes behind the heading, and no more pairs than its second word says, which are all that `words` has
// room for; else it is the kernel that it holds.
#[expect(unsafe_code, reason = "nobody checks what a kernel does")]
unsafe impl<M: PairMapper> ChunkKernel for Sending<'_, M> {
    fn source(&self) -> String {
        emits::<M>() + &self.kernel.source()
    }

    fn name(&self) -> &str {
        self.kernel.name()
    }

    fn constants(&self) -> &[f32] {
        self.kernel.constants()
    }

    fn words(&self, bytes: u64) -> usize {
        let pairs = usize::try_from(self.kernel.bound(bytes)).unwrap_or(usize::MAX);
        pairs.saturating_mul(width::<M>()).saturating_add(HEADING)
    }

    fn heading(&self, bytes: u64) -> Vec<u32> {
        vec![0, self.kernel.bound(bytes)]
    }

    fn made(&self, bytes: u64, heading: &[u32]) -> io::Result<usize> {
        let (emitted, bound) = (u32::of_words(heading), self.kernel.bound(bytes));
        if emitted > bound {
            return Err(io::Error::other(format!(
                "the kernel {} has emitted {emitted} pairs of a chunk of {bytes} bytes, and its bound is {bound}",
                self.name()
            )));
        }
        let pairs = usize::try_from(emitted).unwrap_or(usize::MAX);
        Ok(pairs.saturating_mul(width::<M>()).saturating_add(HEADING))
    }

    fn grid(&self, bytes: u64) -> io::Result<Grid> {
        self.kernel.grid(bytes)
    }

    fn emit(&self, _offset: u64, _bytes: u64, words: &[u32]) -> io::Result<()> {
        let pairs = words.get(HEADING..).unwrap_or_default();
        let sent = self.to.send(pairs.to_vec()).ok();
        sent.ok_or_else(|| io::Error::other("nobody takes what the kernel emits any more"))
    }
}

impl<M: PairMapper> Mapper for Paired<M> {
    type Input = ChunkInput;
    type Key = M::Key;
    type Value = M::Value;

    const NEED: Option<&'static str> = Some("gpu");

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        self.0.setup(context)
    }

    fn map(&mut self, _offset: u64, piece: &FilePiece, out: &mut Emit<'_, Self>) -> Result<()> {
        let kernel = &self.0;
        let attempt = Attempt::new(kernel.name(), M::RECORD, piece, out)?;
        // A stream waits where the map's output does not keep up, and so do its buffers, and the disk.
        let (to, made) = sync_channel(attempt.streams());
        let done = std::thread::scope(|scope| {
            let engine = scope.spawn(|| attempt.run(&Sending { kernel, to }));
            let taken = made.iter().try_for_each(|pairs| take::<M>(&pairs, out));
            drop(made);
            let done = engine.join().unwrap_or_else(|panic| resume_unwind(panic));
            taken.and_then(|()| done.map_err(ended))
        })?;
        attempt.tell(&done, out)
    }
}

/// Puts the pairs of a chunk into the map's output.
fn take<M: PairMapper>(pairs: &[u32], out: &mut Emit<'_, Paired<M>>) -> Result<()> {
    for pair in pairs.chunks_exact(width::<M>()) {
        let (key, value) = pair.split_at(M::Key::STORED.len());
        out.emit(&M::Key::of_words(key), &M::Value::of_words(value))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Odd(u32);

    // SAFETY: nobody launches it.
    #[expect(unsafe_code, reason = "a kernel is C")]
    unsafe impl PairMapper for Odd {
        type Key = u64;
        type Value = f32;

        const RECORD: u64 = 4;

        fn source(&self) -> String {
            "KERNEL(odd)".to_owned()
        }

        fn name(&self) -> &str {
            "odd"
        }

        fn bound(&self, _bytes: u64) -> u32 {
            self.0
        }

        fn grid(&self, bytes: u64) -> io::Result<Grid> {
            Grid::of(bytes).map_err(io::Error::other)
        }
    }

    #[test]
    fn as_many_words_are_taken_as_pairs_were_emitted_and_too_many_are_an_error() {
        let (to, made) = sync_channel(1);
        let kernel = Sending {
            kernel: &Odd(4),
            to,
        };
        assert_eq!(kernel.words(100), 2 + 4 * 3);
        assert_eq!(kernel.heading(100), [0, 4]);
        assert_eq!(kernel.made(100, &[0, 4]).unwrap(), 2);
        assert_eq!(kernel.made(100, &[4, 4]).unwrap(), 14);
        assert_eq!(
            kernel.made(100, &[5, 4]).unwrap_err().to_string(),
            "the kernel odd has emitted 5 pairs of a chunk of 100 bytes, and its bound is 4"
        );
        kernel.emit(0, 100, &[1, 4, 7, 8, 9]).unwrap();
        assert_eq!(made.recv().unwrap(), [7, 8, 9]);
        drop(made);
        assert!(kernel.emit(0, 100, &[0, 4]).is_err());
    }

    #[test]
    fn numbers_are_what_their_words_say_and_keys_are_dealt_by_what_is_left() {
        assert_eq!(u64::of_words(&[2, 1]), (1 << 32) + 2);
        assert_eq!(u32::of_words(&[7]), 7);
        assert_eq!(
            f32::of_words(&[1.5_f32.to_bits()]).to_bits(),
            1.5_f32.to_bits()
        );
        let place = |key| Partitioner::<u64>::partition(&mut ByRemainder, key, 3).unwrap();
        assert_eq!([0, 1, 2, 3, u64::MAX].map(place), [0, 1, 2, 0, 0]);
        assert_eq!((u32::MAX - 1).remainder(4), 2);
    }

    /// An error in a kernel is told with the kernel's own lines.
    #[test]
    fn a_pair_has_as_many_words_as_its_numbers() {
        let text = emits::<Odd>();
        assert!(text.contains("(words) + 2 + (ulong)emit_at * 3;"), "{text}");
        assert!(text.ends_with("#line 1\n"), "{text}");
    }
}
