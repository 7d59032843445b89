//! Reducers and combiners that many jobs want.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::datum::{EncodeAs, Key, VInt, VLong, Value};
use crate::emit::Output;
use crate::error::Result;
use crate::reduce::{Combiner, Reducer, Values};

/// Adds numbers up: Hadoop's `IntSumReducer` and `LongSumReducer`, as combiner and as reducer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum;

macro_rules! sum {
    ($($type:ty as $number:ty: |$left:ident, $right:ident| $sum:expr),+ $(,)?) => {$(
        impl Combiner<$type> for Sum {
            #[inline]
            fn combine(&mut self, $left: $number, $right: $number) -> Result<$number> {
                Ok($sum)
            }
        }

        impl<K: Key> Reducer<K, $type> for Sum {
            type Key = K;
            type Value = $type;

            fn reduce(
                &mut self,
                _: K::View<'_>,
                values: &mut Values<'_, K, $type>,
                out: &mut Output<'_, K, $type>,
            ) -> Result<()> {
                // Groups of a part of the key go out under the first whole one.
                let first = values.by_first.then(|| values.run.key().to_vec());
                let mut sum = <$number>::default();
                while let Some(value) = values.next()? {
                    let ($left, $right) = (sum, value);
                    sum = $sum;
                }
                let mut encoded = Vec::new();
                let key = first.as_deref().unwrap_or(values.group);
                out.pass(values.order.key(key), EncodeAs::<$type>::bytes(&sum, &mut encoded)?)
            }
        }
    )+};
}

sum! {
    u64 as u64: |left, right| left.wrapping_add(right),
    i64 as i64: |left, right| left.wrapping_add(right),
    u32 as u32: |left, right| left.wrapping_add(right),
    i32 as i32: |left, right| left.wrapping_add(right),
    f64 as f64: |left, right| left + right,
    VInt as i32: |left, right| left.wrapping_add(right),
    VLong as i64: |left, right| left.wrapping_add(right),
}

/// Emits every record as it came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

impl<K: Key, V: Value> Reducer<K, V> for Identity {
    type Key = K;
    type Value = V;

    fn reduce(
        &mut self,
        _: K::View<'_>,
        values: &mut Values<'_, K, V>,
        out: &mut Output<'_, K, V>,
    ) -> Result<()> {
        while values.step()? {
            out.pass(values.order.key(values.run.key()), values.run.value())?;
        }
        Ok(())
    }
}

/// Emits each key with the number of its values: Spark's `countByKey`. Where a mapper can emit ones, [`Sum`] is faster, for
/// it is a combiner.
///
/// ```
/// # use gerbil_mapreduce::prelude::*;
/// let job = Job::new("by length")
///     .map_lines::<u32, Text, _>(|line, out| out.emit(&u32::try_from(line.len())?, line))
///     .reduce(|| Count);
/// assert_eq!(job.test().input("to\nbe\nor\nnot\n").run()?.text(), "2\t3\n3\t1\n");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Count;

impl<K: Key, V: Value> Reducer<K, V> for Count {
    type Key = K;
    type Value = u64;

    fn reduce(
        &mut self,
        _: K::View<'_>,
        values: &mut Values<'_, K, V>,
        out: &mut Output<'_, K, u64>,
    ) -> Result<()> {
        let key = first_key(values);
        let mut count = 0_u64;
        while values.step()? {
            count += 1;
        }
        let mut encoded = Vec::new();
        out.pass(&key, EncodeAs::<u64>::bytes(&count, &mut encoded)?)
    }
}

/// Emits each key once, with its first value: Spark's `distinct`, of keys. It is a combiner of groups, too.
///
/// ```
/// # use gerbil_mapreduce::prelude::*;
/// let job = Job::new("distinct")
///     .map_lines::<Text, (), _>(|line, out| out.emit(line, &()))
///     .combine_groups(|| Distinct)
///     .reduce(|| Distinct);
/// assert_eq!(job.test().input("b\na\nb\n").run()?.text(), "a\nb\n");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Distinct;

impl<K: Key, V: Value> Reducer<K, V> for Distinct {
    type Key = K;
    type Value = V;

    fn reduce(
        &mut self,
        _: K::View<'_>,
        values: &mut Values<'_, K, V>,
        out: &mut Output<'_, K, V>,
    ) -> Result<()> {
        // What is left of the group is passed over by who asked for it.
        if values.step()? {
            out.pass(values.order.key(values.run.key()), values.run.value())?;
        }
        Ok(())
    }
}

/// Emits the `N` greatest values of each key, the greatest first: Spark's `top` and `topByKey`. Values are compared as keys
/// are: of a [`Reverse`](crate::Reverse) these are the least. It is a combiner of groups, too, and keeps `N` values in memory.
///
/// ```
/// # use gerbil_mapreduce::prelude::*;
/// let job = Job::new("longest")
///     .map_lines::<(), (u64, Text), _>(|line, out| out.emit(&(), &(line.len() as u64, line)))
///     .combine_groups(|| Top::<2>)
///     .reduce(|| Top::<2>);
/// assert_eq!(job.test().input("a\nabc\nab\n").run()?.text(), "3\tabc\n2\tab\n");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Top<const N: usize>;

impl<K: Key, V: Key, const N: usize> Reducer<K, V> for Top<N> {
    type Key = K;
    type Value = V;

    fn reduce(
        &mut self,
        _: K::View<'_>,
        values: &mut Values<'_, K, V>,
        out: &mut Output<'_, K, V>,
    ) -> Result<()> {
        let key = first_key(values);
        let mut greatest: BinaryHeap<Reverse<Vec<u8>>> = BinaryHeap::new();
        while values.step()? {
            let value = values.run.value();
            if greatest.len() < N {
                greatest.push(Reverse(value.to_vec()));
            } else if let Some(mut least) = greatest.peek_mut()
                && value > least.0.as_slice()
            {
                least.0.clear();
                least.0.extend_from_slice(value);
            }
        }
        let greatest = greatest.into_sorted_vec();
        let mut values = greatest.iter();
        values.try_for_each(|Reverse(value)| out.pass(&key, value))
    }
}

/// The first whole key of a group, under which it goes out.
fn first_key<K: Key, V: Value>(values: &Values<'_, K, V>) -> Vec<u8> {
    values.order.key(values.run.key()).to_vec()
}
