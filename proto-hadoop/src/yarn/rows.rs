//! A list out of an answer, some rows of which may be odd.

use std::ops::{Deref, DerefMut};

/// The rows that could be read, and how many could not. It is used as the list itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows<T> {
    pub(crate) rows: Vec<T>,
    /// Rows of the answer that lack what they cannot be used without, a node without a name for
    /// instance.
    pub unread: usize,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> From<Vec<T>> for Rows<T> {
    fn from(rows: Vec<T>) -> Self {
        Self { rows, unread: 0 }
    }
}

impl<T> From<Rows<T>> for Vec<T> {
    fn from(rows: Rows<T>) -> Self {
        rows.rows
    }
}

impl<T> Deref for Rows<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.rows
    }
}

impl<T> DerefMut for Rows<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.rows
    }
}

impl<T> IntoIterator for Rows<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Rows<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.iter()
    }
}
