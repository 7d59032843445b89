//! How long nothing is asked for after YARN's scheduler has wanted something back for another application.
//!
//! That application may have asked for it on another node, and asks elsewhere when it sees room. A session that asks
//! again at once has the room back before that, is to give it back again, and so on; and a job that begins in such a
//! container loses another run.

use policy::Millis;

/// From when all that was wanted back is gone.
const PAUSE: Millis = Millis(10_000);
/// It doubles when something is wanted back again soon, up to this.
const LONGEST: Millis = Millis(120_000);
/// What is wanted back and still there after so long is wanted no more.
const TAKEN: Millis = Millis(60_000);

/// Until when nothing is asked for.
#[derive(Debug)]
pub(super) struct Pause {
    until: Millis,
    /// From when all is gone.
    span: Millis,
    /// Something is not gone yet.
    waits: bool,
}

impl Pause {
    pub(super) const fn none() -> Self {
        Self {
            until: Millis(0),
            span: PAUSE,
            waits: false,
        }
    }

    pub(super) const fn until(&self) -> Millis {
        self.until
    }

    pub(super) fn is_over(&self, now: Millis) -> bool {
        now >= self.until
    }

    /// Something is wanted back.
    pub(super) fn begin(&mut self, now: Millis) {
        if self.is_over(now) {
            let is_first = self.until == Millis(0);
            self.span = match !is_first && now < self.until.plus(TAKEN) {
                true => self.span.plus(self.span).min(LONGEST),
                false => PAUSE,
            };
        }
        self.until = self.until.max(now.plus(TAKEN));
        self.waits = true;
    }

    /// All that was wanted back is gone.
    pub(super) fn gone(&mut self, now: Millis) {
        if std::mem::replace(&mut self.waits, false) && !self.is_over(now) {
            self.until = now.plus(self.span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lasts_until_all_is_gone_and_somewhat_longer_each_time() {
        let mut pause = Pause::none();
        let mut now = Millis(0);
        pause.gone(now);
        assert!(pause.is_over(now));
        for span in [10, 20, 40, 80, 120, 120] {
            let span = Millis(span * 1_000);
            pause.begin(now);
            now = now.plus(Millis(20_000));
            // More is wanted meanwhile.
            pause.begin(now);
            assert_eq!(pause.until(), now.plus(TAKEN));
            pause.gone(now);
            pause.gone(now.plus(Millis(1)));
            assert_eq!(pause.until(), now.plus(span));
            now = pause.until().plus(Millis(2_000));
            assert!(pause.is_over(now));
        }
        now = pause.until().plus(TAKEN);
        pause.begin(now);
        pause.gone(now);
        assert_eq!(pause.until(), now.plus(PAUSE));
    }
}
