//! How long nothing is asked for after YARN's scheduler has wanted something back for somebody else.
//!
//! He may have asked for it on another node, and asks elsewhere when he sees room. Whoever asks again at once has the
//! room back before that, is to give it back again, and so on; and a job that begins in such a container loses
//! another run.

use policy::Millis;

/// From when all that was wanted back is gone.
const REST: Millis = Millis(10_000);
/// It doubles when something is wanted back again soon, up to this.
const LONGEST: Millis = Millis(120_000);
/// What is wanted back and still there after so long is wanted no more.
const TAKEN: Millis = Millis(60_000);

/// Until when nothing is asked for.
#[derive(Debug)]
pub(super) struct Rest {
    until: Millis,
    /// From when all is gone.
    span: Millis,
    /// Something is not gone yet.
    waits: bool,
}

impl Rest {
    pub(super) const fn none() -> Self {
        Self {
            until: Millis(0),
            span: REST,
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
                false => REST,
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
        let mut rest = Rest::none();
        let mut now = Millis(0);
        rest.gone(now);
        assert!(rest.is_over(now));
        for span in [10, 20, 40, 80, 120, 120] {
            let span = Millis(span * 1_000);
            rest.begin(now);
            now = now.plus(Millis(20_000));
            // More is wanted meanwhile.
            rest.begin(now);
            assert_eq!(rest.until(), now.plus(TAKEN));
            rest.gone(now);
            rest.gone(now.plus(Millis(1)));
            assert_eq!(rest.until(), now.plus(span));
            now = rest.until().plus(Millis(2_000));
            assert!(rest.is_over(now));
        }
        now = rest.until().plus(TAKEN);
        rest.begin(now);
        rest.gone(now);
        assert_eq!(rest.until(), now.plus(REST));
    }
}
