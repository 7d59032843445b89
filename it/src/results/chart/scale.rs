//! From values to places in the picture, and the round numbers that an axis shows.

/// Labels of an axis, about.
const TICKS: f64 = 6.0;

/// Values onto a stretch of the picture.
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) logarithmic: bool,
    pub(super) from: f64,
    pub(super) to: f64,
}

impl Scale {
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = match self.logarithmic {
            true => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        self.from + share * (self.to - self.from)
    }

    pub(super) fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let mut ticks = Vec::new();
            let mut decade = 10_f64.powf(self.low.log10().floor());
            let steps: &[f64] = match self.high / self.low > 2000.0 {
                true => &[1.0],
                false => &[1.0, 2.0, 5.0],
            };
            while decade <= self.high {
                ticks.extend(steps.iter().map(|step| decade * step));
                decade *= 10.0;
            }
            ticks.retain(|tick| (self.low * 0.999..=self.high * 1.001).contains(tick));
            return ticks;
        }
        let step = step(self.high - self.low);
        let mut ticks = Vec::new();
        let mut tick = (self.low / step).ceil() * step;
        while tick <= self.high + step * 1e-6 {
            ticks.push(tick);
            tick += step;
        }
        ticks
    }
}

/// 1, 2 or 5 times a power of ten, about a sixth of `span`.
fn step(span: f64) -> f64 {
    let rough = (span / TICKS).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(rough.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    let fits = factors.into_iter().find(|factor| factor * power >= rough);
    fits.unwrap_or(10.0) * power
}

pub(super) fn number(value: f64) -> String {
    if value >= 10.0 || value.fract().abs() < 1e-9 {
        format!("{value:.0}")
    } else if value >= 1.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        let scale = |low, high, logarithmic| Scale {
            low,
            high,
            logarithmic,
            from: 0.0,
            to: 100.0,
        };
        assert_eq!(
            scale(0.0, 11.0, false).ticks(),
            [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        );
        assert_eq!(scale(8.0, 143.0, true).ticks(), [10.0, 20.0, 50.0, 100.0]);
        assert!((scale(1.0, 100.0, true).place(10.0) - 50.0).abs() < 1e-9);
    }
}
