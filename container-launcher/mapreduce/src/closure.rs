//! Small jobs of closures, which capture nothing either.

use std::marker::PhantomData;

use crate::datum::{Key, Value};
use crate::emit::Output;
use crate::error::Result;
use crate::input::TextLines;
use crate::job::{Job, Mapped, Ready};
use crate::map::Mapper;
use crate::reduce::{Reducer, Values};

/// A mapper of lines that is a closure.
pub struct LineMapper<K, V, F> {
    map: F,
    of: PhantomData<fn(K, V)>,
}

impl<K, V, F> std::fmt::Debug for LineMapper<K, V, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a closure that maps lines")
    }
}

impl<K, V, F> Mapper for LineMapper<K, V, F>
where
    K: Key,
    V: Value,
    F: Fn(&[u8], &mut Output<'_, K, V>) -> Result<()> + 'static,
{
    type Input = TextLines;
    type Key = K;
    type Value = V;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Output<'_, K, V>) -> Result<()> {
        (self.map)(line, out)
    }
}

/// A reducer that is a closure.
pub struct ClosureReducer<K, V, F> {
    reduce: F,
    of: PhantomData<fn(K, V)>,
}

impl<K, V, F> std::fmt::Debug for ClosureReducer<K, V, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a closure that reduces")
    }
}

impl<K, V, A, B, F> Reducer<K, V> for ClosureReducer<A, B, F>
where
    K: Key,
    V: Value,
    A: Value,
    B: Value,
    F: Fn(K::View<'_>, &mut Values<'_, K, V>, &mut Output<'_, A, B>) -> Result<()> + 'static,
{
    type Key = A;
    type Value = B;

    fn reduce(
        &mut self,
        key: K::View<'_>,
        values: &mut Values<'_, K, V>,
        out: &mut Output<'_, A, B>,
    ) -> Result<()> {
        (self.reduce)(key, values, out)
    }
}

impl Job {
    /// With a closure that is called with each line of the input.
    ///
    /// ```
    /// # use gerbil_mapreduce::prelude::*;
    /// let job = Job::new("longest")
    ///     .map_lines::<Text, u64, _>(|line, out| out.emit("longest", &(line.len() as u64)))
    ///     .reduce_with::<Text, u64, _>(|key, values, out| {
    ///         let longest = values.fold(0, |longest, length| Ok(length.max(longest)))?;
    ///         out.emit(key, &longest)
    ///     });
    /// # drop(job);
    /// ```
    #[must_use]
    pub fn map_lines<K, V, F>(self, map: F) -> Mapped<LineMapper<K, V, F>>
    where
        K: Key,
        V: Value,
        F: Fn(&[u8], &mut Output<'_, K, V>) -> Result<()> + Copy + 'static,
    {
        const { assert!(size_of::<F>() == 0, "the closure captures something") };
        self.map(move || LineMapper {
            map,
            of: PhantomData,
        })
    }
}

impl<M: Mapper> Mapped<M> {
    /// With one input more, as [`and`](Self::and), and a closure that is called with each of its lines.
    #[must_use]
    pub fn and_lines<F>(
        self,
        name: &'static str,
        default: Option<&'static str>,
        meaning: &'static str,
        map: F,
    ) -> Self
    where
        F: Fn(&[u8], &mut Output<'_, M::Key, M::Value>) -> Result<()> + Copy + 'static,
    {
        const { assert!(size_of::<F>() == 0, "the closure captures something") };
        self.and(name, default, meaning, move || LineMapper {
            map,
            of: PhantomData,
        })
    }

    /// With a closure that is called with each key and its values.
    #[must_use]
    pub fn reduce_with<K, V, F>(self, reduce: F) -> Ready<K, V>
    where
        K: Value,
        V: Value,
        F: Fn(
                <M::Key as Value>::View<'_>,
                &mut Values<'_, M::Key, M::Value>,
                &mut Output<'_, K, V>,
            ) -> Result<()>
            + Copy
            + 'static,
    {
        const { assert!(size_of::<F>() == 0, "the closure captures something") };
        self.reduce(move || ClosureReducer {
            reduce,
            of: PhantomData::<fn(K, V)>,
        })
    }
}
