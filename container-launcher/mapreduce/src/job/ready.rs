//! A job that can be run, on command lines and in tests.

use std::marker::PhantomData;
use std::process::ExitCode;

use super::Spec;
use crate::app::App;
use crate::datum::Value;
use crate::output::{OutputFormat, WriterOf};
use crate::test::Test;

/// A job that can be run: its output are records of `K` and `V`.
pub struct Ready<K, V> {
    pub(crate) spec: Spec,
    of: PhantomData<fn(K, V)>,
}

impl<K, V> std::fmt::Debug for Ready<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.spec.planned)
    }
}

impl<K: Value, V: Value> Ready<K, V> {
    pub(super) const fn new(spec: Spec) -> Self {
        Self {
            spec,
            of: PhantomData,
        }
    }

    /// Writes output as `O` does, instead of as text.
    #[must_use]
    pub fn output<O: OutputFormat<K, V>>(mut self) -> Self {
        self.spec.output = WriterOf::new::<O, K, V>();
        self.spec.planned.output = self.spec.output.name.to_owned();
        if self.spec.reduce.is_none() {
            self.spec.direct = self.spec.output.clone();
        }
        self
    }

    /// Writes what maps emit as `O` does where a run has no reduces; `DK` and `DV` are the mapper's types.
    #[must_use]
    pub fn output_of_maps<DK: Value, DV: Value, O: OutputFormat<DK, DV>>(mut self) -> Self {
        self.spec.direct = WriterOf::new::<O, DK, DV>();
        self
    }

    /// What the program does: `PROGRAM [OPTIONS] IN... OUT`. The first statement of `main`, and its result.
    #[must_use]
    pub fn main(self) -> ExitCode {
        let name = self.spec.planned.name.clone();
        App::new(&name).job(self).main()
    }

    /// A run in this process, on input that a test gives.
    #[must_use]
    pub fn test(self) -> Test {
        Test::new(self.spec)
    }
}
