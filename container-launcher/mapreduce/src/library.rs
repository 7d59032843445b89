//! Reducers and combiners that many jobs want.

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
