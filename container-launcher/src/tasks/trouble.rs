//! What went wrong with a task's files, while its process knows only that a pipe has ended.

use std::sync::{Arc, OnceLock};

/// The first sentence that was kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Trouble(Arc<OnceLock<String>>);

impl Trouble {
    /// Keeps a sentence, unless there is one.
    pub(super) fn keep(&self, sentence: String) {
        // The first is the cause of what follows it.
        let _later = self.0.set(sentence).is_err();
    }

    pub(super) fn told(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}
