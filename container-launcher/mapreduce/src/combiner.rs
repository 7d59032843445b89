//! A combiner that is a reducer, run by a map's collector.

use std::fs::File;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use crate::context::{Context, Ground};
use crate::counting::Counting;
use crate::datum::{Key, Value};
use crate::emit::{Output, Sink};
use crate::error::{Context as _, Error, Result};
use crate::handle::Handle;
use crate::input::Open;
use crate::order::Order;
use crate::reduce::{GroupState, Reducer, Values};
use crate::sentence::quoted;
use crate::sort::collect::Fold;
use crate::sort::combine::{Combine, Run};

/// How a map's records are combined, of types that are gone.
#[derive(Clone)]
pub(crate) enum Combining {
    /// Two values at a time.
    Fold(Arc<dyn Fn() -> Box<dyn Fold>>),
    /// A key with its values at a time.
    Groups(Arc<dyn Fn(Context, Order) -> Box<dyn Combine>>),
}

impl Combining {
    /// What two values at a time are combined by.
    pub(crate) fn fold(&self) -> Option<Box<dyn Fold>> {
        match self {
            Self::Fold(make) => Some(make()),
            Self::Groups(_) => None,
        }
    }

    /// What groups are combined by, for the map of this context whose keys come in `order`.
    pub(crate) fn groups(&self, context: &mut Context, order: Order) -> Option<Box<dyn Combine>> {
        match self {
            Self::Fold(_) => None,
            Self::Groups(make) => Some(make(context.of_combiner(), order)),
        }
    }
}

/// Makes a combiner for each run, and hands it groups.
pub(crate) struct Groups<K, V, R, F> {
    make: F,
    context: Context,
    order: Order,
    of: PhantomData<fn(K, V) -> R>,
}

impl<K, V, R, F> Groups<K, V, R, F> {
    pub(crate) const fn new(make: F, context: Context, order: Order) -> Self {
        Self {
            make,
            context,
            order,
            of: PhantomData,
        }
    }
}

impl<K, V, R, F> Combine for Groups<K, V, R, F>
where
    K: Key,
    V: Value,
    R: Reducer<K, V, Key = K, Value = V>,
    F: Fn() -> R,
{
    fn combine(&mut self, run: &mut Run<'_>, sink: &mut Sink) -> Result<u64> {
        let order = self.order;
        let page = self.context.page.clone();
        let mut combiner = (self.make)();
        let setup = combiner.setup(&mut self.context);
        setup
            .and_then(|()| self.context.counted())
            .context(|| "setup")?;
        let mut out = Output::new(&mut self.context, sink);
        let (mut key, mut records) = (Vec::new(), 0);
        let mut more = run.advance()?;
        while more {
            key.clear();
            key.extend_from_slice(run.key());
            let mut values = Values {
                run: run.again(),
                group: &key,
                by_first: false,
                order,
                state: GroupState::First,
                records: 0,
                before: None,
                page: &page,
                scratch: None,
                is_broken: false,
                of: PhantomData::<fn(K, V)>,
            };
            let done = combiner
                .reduce(K::decode(order.key(&key))?, &mut values, &mut out)
                .and_then(|()| out.counted());
            done.map_err(|error| {
                let mut shown = Vec::new();
                let shown = match K::text(order.key(&key), &mut shown) {
                    Ok(()) => quoted(&String::from_utf8_lossy(&shown)),
                    Err(_) => "?".to_owned(),
                };
                error.context(format!("key {shown}"))
            })?;
            records += values.records;
            // Values that the combiner did not ask for.
            while values.step()? {}
            more = values.state == GroupState::Next;
        }
        let cleanup = combiner.cleanup(&mut out);
        cleanup.and_then(|()| out.counted()).context(|| "cleanup")?;
        Ok(records)
    }

    fn counted(&mut self) -> Counting {
        std::mem::take(&mut self.context.counting)
    }
}

/// What a combiner finds of its map: no files, and what it says goes by the map.
struct OfMap(Handle);

impl Context {
    /// For a combiner, which runs within what the map's own context is lent to.
    pub(crate) fn of_combiner(&mut self) -> Self {
        let ground = Box::new(OfMap(self.handle()));
        Self {
            settings: self.settings.clone(),
            params: self.params.clone(),
            counting: Counting::default(),
            page: self.page.clone(),
            ground,
            stage: self.stage,
            number: self.number,
            attempt: self.attempt,
            input: String::new(),
            split: self.split.clone(),
            beside: None,
        }
    }
}

fn no_files<T>() -> Result<T> {
    Err(Error::new(
        "a combiner has no files of its task: what it emits goes to the reduces",
    ))
}

impl Ground for OfMap {
    fn input(&mut self, _: u32) -> Open {
        Rc::new(|_| no_files())
    }

    fn source(&mut self, _: u32) -> Result<File> {
        no_files()
    }

    fn output(&mut self, _: &str) -> Result<File> {
        no_files()
    }

    fn status(&mut self, text: &str) -> Result<()> {
        self.0.status(text);
        Ok(())
    }
}
