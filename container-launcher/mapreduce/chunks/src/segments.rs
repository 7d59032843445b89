//! Reduces whose values a kernel reduces: those of many keys at a time, each key's in a segment of its own.
//!
//! ```text
//!  values:   a a a | b b | c | d d …      as they come, sorted by their keys
//!  ends:           3     5   6              of segments: the kernel makes one value of each
//! ```
//!
//! Where a key has more values than fit, those that are there are reduced to one, with which its next segment begins.

use std::io;

use gerbil_gpu::{Argument, Buffer, Device, Grid, Number, Program};
use gerbil_mapreduce::{Context, EncodeAs, Error, Key, Output, Reducer, Result, Value, Values};
use gerbil_task::settings::OPENCL_PROCESSORS;

use crate::attempt::{device, refused};
use crate::input::{CHUNK_SETTING, chunk};

/// What reduces the values of a key to one of their kind; it must not matter how they are bracketed.
///
/// # Safety
///
/// The kernel is C, which nobody checks. Of the parameters
///
/// ```text
/// KERNEL(name)(GLOBAL const … *values, GLOBAL const uint *ends, uint segments, GLOBAL … *reduced)
/// ```
///
/// it must read no more than the first `segments` of `ends`, and of `values` those before the last of these ends; segment `s`
/// begins where `s - 1` ends, the first one at 0. With the threads of [`grid`](Self::grid) it must write the first `segments`
/// of `reduced`, and nothing else.
#[expect(unsafe_code, reason = "nobody checks what a kernel does")]
pub unsafe trait ChunkReducer: Sized + 'static {
    /// The values, which are `uint`, `ulong` or `float` in the kernel.
    type Value: Number + Value + EncodeAs<Self::Value> + for<'a> Value<View<'a> = Self::Value>;

    /// The kernel, in [`gerbil_gpu`]'s dialect.
    fn source(&self) -> String;

    /// Its name.
    fn name(&self) -> &str;

    /// By how many threads so many segments are reduced: one for each, unless it says otherwise.
    ///
    /// # Errors
    ///
    /// They are more than a launch may have.
    fn grid(&self, segments: u32) -> io::Result<Grid> {
        Grid::of(segments.into()).map_err(io::Error::other)
    }
}

/// The [`Reducer`] that a [`ChunkReducer`] is: `….reduce(|| Segmented::new(Mine::default()))`.
pub struct Segmented<K, R: ChunkReducer> {
    reducer: R,
    batch: Batch<K, R::Value>,
    opened: Option<(Device, Program)>,
}

impl<K, R: ChunkReducer> std::fmt::Debug for Segmented<K, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "segments for {}", self.reducer.name())
    }
}

impl<K, R: ChunkReducer> Segmented<K, R> {
    /// With a kernel.
    #[must_use]
    pub const fn new(reducer: R) -> Self {
        Self {
            reducer,
            batch: Batch::new(),
            opened: None,
        }
    }
}

/// Segments that wait to be reduced: pure.
#[derive(Debug)]
struct Batch<K, V> {
    most: usize,
    values: Vec<V>,
    /// Of the segments; the last one's key may get on.
    keys: Vec<K>,
    ends: Vec<u32>,
}

impl<K, V: Copy> Batch<K, V> {
    const fn new() -> Self {
        Self {
            most: usize::MAX,
            values: Vec::new(),
            keys: Vec::new(),
            ends: Vec::new(),
        }
    }

    const fn is_full(&self) -> bool {
        self.values.len() >= self.most
    }

    /// A segment begins.
    fn begin(&mut self, key: K) {
        self.keys.push(key);
        self.ends.push(self.end());
    }

    /// The last segment has one more.
    fn push(&mut self, value: V) {
        self.values.push(value);
        let end = self.end();
        if let Some(last) = self.ends.last_mut() {
            *last = end;
        }
    }

    fn end(&self) -> u32 {
        u32::try_from(self.values.len()).unwrap_or(u32::MAX)
    }

    /// What was reduced of each; the last one stays, with its value, where its key gets on.
    fn reduced(&mut self, values: Vec<V>, gets_on: bool) -> Vec<(K, V)> {
        self.values.clear();
        self.ends.clear();
        let mut done: Vec<(K, V)> = self.keys.drain(..).zip(values).collect();
        if gets_on && let Some((key, value)) = done.pop() {
            self.begin(key);
            self.push(value);
        }
        done
    }
}

/// A key that is kept while its values are.
pub trait SegmentKey: Key + EncodeAs<Self> + for<'a> Value<View<'a> = Self> + Copy {}

impl<K: Key + EncodeAs<Self> + for<'a> Value<View<'a> = Self> + Copy> SegmentKey for K {}

impl<K: SegmentKey, R: ChunkReducer> Segmented<K, R> {
    /// Reduces all that is there, and emits what is whole.
    fn flush(&mut self, out: &mut Output<'_, K, R::Value>, gets_on: bool) -> Result<()> {
        if self.batch.keys.is_empty() {
            return Ok(());
        }
        let values = self.launch(out).map_err(refused)?;
        out.count("gpu", "SEGMENTS", self.batch.keys.len());
        out.progress();
        for (key, value) in self.batch.reduced(values, gets_on) {
            out.emit(&key, &value)?;
        }
        Ok(())
    }

    #[expect(unsafe_code, reason = "a kernel is C")]
    fn launch(&mut self, context: &Context) -> io::Result<Vec<R::Value>> {
        let (device, program) = match &mut self.opened {
            Some(opened) => opened,
            place => {
                let processors = context.settings().parse_if(OPENCL_PROCESSORS);
                let processors = processors.ok().flatten().unwrap_or(false);
                let device = Device::open(&device().0, processors).map_err(io::Error::other)?;
                let program = device
                    .compile(&self.reducer.source())
                    .map_err(io::Error::other)?;
                place.insert((device, program))
            }
        };
        let batch = &self.batch;
        let values = device.upload(&batch.values).map_err(io::Error::other)?;
        let ends = device.upload(&batch.ends).map_err(io::Error::other)?;
        let reduced: Buffer<R::Value> = device.zeros(batch.keys.len()).map_err(io::Error::other)?;
        let segments = u32::try_from(batch.keys.len()).map_err(io::Error::other)?;
        let arguments = [
            values.argument(),
            ends.argument(),
            Argument::U32(segments),
            reduced.argument(),
        ];
        let grid = self.reducer.grid(segments)?;
        // SAFETY: as the reducer's trait promises, of memory that is as long as it says.
        unsafe { device.launch(program, self.reducer.name(), grid, &arguments) }
            .map_err(io::Error::other)?;
        device.download(&reduced).map_err(io::Error::other)
    }
}

impl<K: SegmentKey, R: ChunkReducer> Reducer<K, R::Value> for Segmented<K, R> {
    type Key = K;
    type Value = R::Value;

    const NEED: Option<&'static str> = Some("gpu");

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        let bytes = chunk(context.settings())?;
        let most = usize::try_from(bytes)? / size_of::<R::Value>();
        // Ends have 32 bits.
        if u32::try_from(most).is_err() {
            return Err(Error::new(format!(
                "{CHUNK_SETTING}={bytes}: a reduce counts the values of a chunk by 32 bits"
            )));
        }
        self.batch.most = most;
        Ok(())
    }

    fn reduce(
        &mut self,
        key: K,
        values: &mut Values<'_, K, R::Value>,
        out: &mut Output<'_, K, R::Value>,
    ) -> Result<()> {
        if self.batch.is_full() {
            self.flush(out, false)?;
        }
        self.batch.begin(key);
        while let Some(value) = values.next()? {
            if self.batch.is_full() {
                self.flush(out, true)?;
            }
            self.batch.push(value);
        }
        Ok(())
    }

    fn cleanup(&mut self, out: &mut Output<'_, K, R::Value>) -> Result<()> {
        self.flush(out, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of segments, as a kernel makes them.
    fn sums(batch: &Batch<char, u32>) -> Vec<u32> {
        let ends = batch.ends.iter().map(|end| usize::try_from(*end).unwrap());
        let mut begin = 0;
        ends.map(|end| {
            let sum = batch.values[begin..end].iter().sum();
            begin = end;
            sum
        })
        .collect()
    }

    #[test]
    fn a_key_with_more_values_than_fit_gets_on_with_what_they_are_together() {
        let mut batch = Batch::new();
        batch.most = 4;
        let mut found = Vec::new();
        for (key, values) in [('a', vec![1, 2, 3]), ('b', vec![4; 9]), ('c', vec![7])] {
            if batch.is_full() {
                let made = sums(&batch);
                found.extend(batch.reduced(made, false));
            }
            batch.begin(key);
            for value in values {
                if batch.is_full() {
                    let made = sums(&batch);
                    found.extend(batch.reduced(made, true));
                    assert_eq!((batch.keys.len(), batch.ends.as_slice()), (1, &[1][..]));
                }
                batch.push(value);
            }
        }
        let made = sums(&batch);
        found.extend(batch.reduced(made, false));
        assert_eq!(found, [('a', 6), ('b', 36), ('c', 7)]);
        assert!(batch.keys.is_empty() && batch.values.is_empty());
    }
}
