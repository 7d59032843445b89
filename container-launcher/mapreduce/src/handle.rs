//! What the other threads of a task count and say.
//!
//! A [`Context`](crate::Context) speaks with the launcher and stays with the thread that is handed records. Other threads
//! leave what they have to say where that one takes it over: after each record, and after `setup` and `cleanup`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gerbil_task::Page;

use crate::context::increment;
use crate::counting::Counting;

/// What was counted and said, until the thread of the context takes it over.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    is_news: AtomicBool,
    said: Mutex<Said>,
}

#[derive(Debug, Default)]
struct Said {
    counting: Counting,
    /// The last one; it takes the place of one that nobody has heard.
    status: Option<String>,
}

impl Beside {
    #[inline]
    pub(crate) fn is_news(&self) -> bool {
        self.is_news.load(Ordering::Relaxed)
    }

    /// All of it, once.
    pub(crate) fn take(&self) -> (Counting, Option<String>) {
        let mut said = self.lock();
        self.is_news.store(false, Ordering::Relaxed);
        let Said { counting, status } = &mut *said;
        (std::mem::take(counting), status.take())
    }

    fn lock(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, what: impl FnOnce(&mut Said)) {
        let mut said = self.lock();
        what(&mut said);
        self.is_news.store(true, Ordering::Relaxed);
    }
}

/// Counters, signs of life and status for a task's other threads, from [`Context::handle`](crate::Context::handle).
///
/// What is counted after `cleanup` is not heard: a task joins its threads there.
#[derive(Clone, Debug)]
pub struct Handle {
    beside: Arc<Beside>,
    page: Page,
}

impl Handle {
    pub(crate) const fn new(beside: Arc<Beside>, page: Page) -> Self {
        Self { beside, page }
    }

    /// Adds to a counter, as [`Context::count`](crate::Context::count) does.
    pub fn count(&self, group: &str, counter: &str, by: impl TryInto<i64>) {
        let by = increment(by);
        self.page.alive();
        self.beside
            .say(|said| said.counting.count(group, counter, by));
    }

    /// Adds one to a counter of the framework's.
    #[cfg(feature = "fpga")]
    pub(crate) fn add_one(&self, group: &str, counter: &str) {
        self.page.alive();
        self.beside.say(|said| said.counting.add(group, counter, 1));
    }

    /// Says in one line what the task is at, as [`Context::status`](crate::Context::status) does; it is sent with the
    /// next record.
    pub fn status(&self, text: &str) {
        self.page.alive();
        self.beside.say(|said| said.status = Some(text.to_owned()));
    }

    /// A sign of life, as [`Context::progress`](crate::Context::progress) is one.
    pub fn progress(&self) {
        self.page.alive();
    }
}
