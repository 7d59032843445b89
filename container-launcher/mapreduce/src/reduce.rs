//! Reducers, combiners and the values that they are handed.

use std::marker::PhantomData;
use std::sync::Arc;

use gerbil_task::Page;

use crate::context::Context;
use crate::datum::{Key, Value};
use crate::emit::Output;
use crate::error::Result;
use crate::order::Order;
use crate::sort::combine::Run;
use crate::sort::scratch::Scratch;

/// What is done with each key and its values.
pub trait Reducer<K: Key, V: Value>: Sized + 'static {
    /// The keys that are emitted.
    type Key: Value;
    /// The values that are emitted.
    type Value: Value;

    /// What its node must have, as [`Mapper::NEED`](crate::Mapper::NEED).
    const NEED: Option<&'static str> = None;

    /// Called once before the first key.
    ///
    /// # Errors
    /// The user's own.
    fn setup(&mut self, context: &mut Context) -> Result<()> {
        let _ = context;
        Ok(())
    }

    /// Called with each key, in their order; values come in the order of maps and of what these emitted.
    ///
    /// # Errors
    /// The user's own, and those of `values` and `out`.
    fn reduce(
        &mut self,
        key: K::View<'_>,
        values: &mut Values<'_, K, V>,
        out: &mut Output<'_, Self::Key, Self::Value>,
    ) -> Result<()>;

    /// Called once after the last key.
    ///
    /// # Errors
    /// The user's own, and those of `out`.
    fn cleanup(&mut self, out: &mut Output<'_, Self::Key, Self::Value>) -> Result<()> {
        let _ = out;
        Ok(())
    }
}

/// Joins two values of one key, early and as often as it pays; it must not matter how they are bracketed.
pub trait Combiner<V: Value>: 'static {
    /// What the node of the maps must have, beside what the mapper needs.
    const NEED: Option<&'static str> = None;

    /// What `left` and `right` are together.
    ///
    /// # Errors
    /// The user's own.
    fn combine(&mut self, left: V::View<'_>, right: V::View<'_>) -> Result<V::Owned>;
}

/// The values of one key, one after the other; there may be more of them than any memory holds.
pub struct Values<'a, K, V> {
    pub(crate) run: Run<'a>,
    /// The key of the group, or as much of it as makes the group.
    pub(crate) group: &'a [u8],
    /// Whether the group is made by the first part of a tuple.
    pub(crate) by_first: bool,
    pub(crate) order: Order,
    pub(crate) state: GroupState,
    /// Values of this group so far.
    pub(crate) records: u64,
    /// Values of all groups before it, where they are how far the task is.
    pub(crate) before: Option<u64>,
    /// Each value shows there that the reduce gets on, however many a group has and however long they take.
    pub(crate) page: &'a Page,
    /// Where a reduce may keep what it has no memory for.
    pub(crate) scratch: Option<&'a Arc<Scratch>>,
    /// What the maps have left could not be read on.
    pub(crate) is_broken: bool,
    pub(crate) of: PhantomData<fn(K, V)>,
}

/// Where a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupState {
    /// The run stands on the group's first record, which was not handed out.
    First,
    /// The run stands on a record of the group that was handed out.
    Within,
    /// The run stands on the first record of the next group.
    Next,
    /// There is nothing more.
    End,
}

impl<K: Key, V: Value> Values<'_, K, V> {
    /// Goes on, and tells whether there is another value.
    #[inline]
    pub(crate) fn step(&mut self) -> Result<bool> {
        match self.state {
            GroupState::First => self.state = GroupState::Within,
            GroupState::Within => {
                let more = self.run.advance();
                self.is_broken = more.is_err();
                if !more? {
                    self.state = GroupState::End;
                    return Ok(false);
                }
                let key = self.run.key();
                let same = if self.by_first {
                    key.starts_with(self.group) && K::first_length(key)? == self.group.len()
                } else {
                    key == self.group
                };
                if !same {
                    self.state = GroupState::Next;
                    return Ok(false);
                }
            }
            GroupState::Next | GroupState::End => return Ok(false),
        }
        self.records += 1;
        match self.before {
            Some(before) => self.page.done(before + self.records),
            None => self.page.alive(),
        }
        Ok(true)
    }

    /// The next value.
    ///
    /// # Errors
    /// What was stored is no such value, or cannot be read.
    #[expect(
        clippy::should_implement_trait,
        reason = "values are borrowed until the next one, as no iterator's are"
    )]
    #[inline]
    pub fn next(&mut self) -> Result<Option<V::View<'_>>> {
        Ok(if self.step()? {
            Some(V::decode(self.run.value())?)
        } else {
            None
        })
    }

    /// The next value, with the whole key that it came with: those of a group by the first part of a tuple
    /// differ in the rest.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn next_pair(&mut self) -> Result<Option<(K::View<'_>, V::View<'_>)>> {
        Ok(if self.step()? {
            let key = self.order.key(self.run.key());
            Some((K::decode(key)?, V::decode(self.run.value())?))
        } else {
            None
        })
    }

    /// Joins all values that are left, in their order.
    ///
    /// # Errors
    /// As [`next`](Self::next), and those of `join`.
    pub fn fold<T>(
        &mut self,
        start: T,
        mut join: impl FnMut(T, V::View<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut sum = start;
        while let Some(value) = self.next()? {
            sum = join(sum, value)?;
        }
        Ok(sum)
    }
}

impl<K, V> std::fmt::Debug for Values<'_, K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "values, {} so far", self.records)
    }
}
