//! When the loop wakes though nothing happens.
//!
//! All that is due is done when it rings, so what is due by then is due no more. A part that names such a time all the
//! same is at fault, and would have the loop turn for ever and do nothing else: it is done again once in a while, and
//! said once.

use policy::Millis;

/// So often in a row what was done is done again at once.
const IN_A_ROW: u32 = 8;
/// From then on, between two times.
const BACK_OFF: Millis = Millis(1_000);

/// The loop's alarm.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    /// When it rang last.
    rang: Option<Millis>,
    /// It has rung since it was set.
    has_rung: bool,
    /// How often in a row what was done then was due still.
    in_vain: u32,
    /// That it is put off for the first time is not said yet.
    is_to_be_said: bool,
}

impl Alarm {
    /// It rings at `now`: all that is due by then is done.
    pub(super) const fn rings(&mut self, now: Millis) {
        self.rang = Some(now);
        self.has_rung = true;
    }

    /// Sets it: the first of all is due at `due`. When it rings; `None`: never.
    pub(super) fn set(&mut self, due: Option<Millis>) -> Option<Millis> {
        let has_rung = std::mem::take(&mut self.has_rung);
        let (Some(at), Some(rang)) = (due, self.rang.filter(|rang| due <= Some(*rang))) else {
            self.in_vain = 0;
            return due;
        };
        if has_rung {
            self.in_vain = self.in_vain.saturating_add(1);
            self.is_to_be_said = self.in_vain == IN_A_ROW;
        }
        match self.in_vain < IN_A_ROW {
            true => Some(at),
            false => Some(rang.plus(BACK_OFF)),
        }
    }

    /// The time by which all was done that is due still, when it is put off for the first time because of it.
    pub(super) fn fault(&mut self) -> Option<Millis> {
        let is_to_be_said = std::mem::take(&mut self.is_to_be_said);
        self.rang.filter(|_| is_to_be_said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loop with a part that is due at `due` after it rang, for so many turns: when it rang, and what was said.
    fn turns(alarm: &mut Alarm, due: impl Fn(Millis) -> Millis, turns: u32) -> (Millis, u32) {
        let (mut now, mut said) = (Millis(5), 0);
        for _ in 0..turns {
            now = now.max(alarm.set(Some(due(now))).unwrap());
            said += u32::from(alarm.fault().is_some());
            said += u32::from(alarm.fault().is_some());
            alarm.rings(now);
        }
        (now, said)
    }

    #[test]
    fn it_rings_when_the_first_is_due_also_where_that_is_past() {
        let mut alarm = Alarm::default();
        assert_eq!(alarm.set(None), None);
        assert_eq!(alarm.set(Some(Millis(7))), Some(Millis(7)));
        alarm.rings(Millis(9));
        assert_eq!(alarm.set(Some(Millis(20))), Some(Millis(20)));
        // Something has happened, and is due at once.
        assert_eq!(alarm.set(Some(Millis(12))), Some(Millis(12)));
        assert_eq!(alarm.set(None), None);
    }

    #[test]
    fn what_goes_on_is_never_put_off() {
        let mut alarm = Alarm::default();
        let (now, said) = turns(&mut alarm, |now| now.plus(Millis(1)), 1_000);
        assert_eq!((now, said), (Millis(1_005), 0));
    }

    #[test]
    fn what_is_due_for_ever_is_done_once_a_second_and_said_once() {
        let faults: [fn(Millis) -> Millis; 2] = [|_| Millis(3), |now| now];
        for past in faults {
            let mut alarm = Alarm::default();
            let (now, said) = turns(&mut alarm, past, IN_A_ROW);
            assert_eq!((now, said), (Millis(5), 0));
            let (now, said) = turns(&mut alarm, past, 4);
            assert_eq!((now, said), (Millis(4_005), 1));
            // News does not bring it forward, and nothing is said again.
            assert_eq!(alarm.set(Some(past(Millis(4_005)))), Some(Millis(5_005)));
            assert_eq!(alarm.fault(), None);
            // It is mended: what is due is done in time, and another fault is said.
            assert_eq!(alarm.set(Some(Millis(4_100))), Some(Millis(4_100)));
            alarm.rings(Millis(4_100));
            let (_, said) = turns(&mut alarm, |_| Millis(3), IN_A_ROW + 2);
            assert_eq!(said, 1);
        }
    }
}
