//! Disks that have too much on them.

use super::Tasks;

impl Tasks {
    /// Ends a task where a disk has too much on it, and another only when the first is gone with what it had. What was
    /// gathered and nobody reads yet goes before any.
    pub(super) fn look_at_disks(&mut self) {
        let Some(room) = self.room.as_ref().filter(|room| room.is_limited()) else {
            return;
        };
        let mut all = self.attempts.values();
        if all.any(|of| of.killed.is_some() && of.begun.is_some()) {
            return;
        }
        let watched = self.attempts.iter().filter(|(_, of)| of.watch.is_some());
        let tasks = watched.filter_map(|(&number, of)| Some((number, of.begun.as_ref()?.pid())));
        let tasks: Vec<(u32, i32)> = tasks.collect();
        let Some((number, why)) = room.victim(&tasks) else {
            return;
        };
        if self.copies.close(None) {
            return crate::say(&format!("what was gathered ahead goes: {why}"));
        }
        if let Some(attempt) = self.attempts.get_mut(&number) {
            attempt.kill(format!("{} was ended: {why}", attempt.title()));
        }
    }
}
