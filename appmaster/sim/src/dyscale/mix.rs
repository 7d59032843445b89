//! Table 1: a thousand jobs as Facebook had them, three times as large.
//!
//! How long tasks take is drawn for each job: of a job all maps are alike, and all reduces. The paper gives the
//! distributions, and does not say whether they are of jobs or of tasks; drawn for each task ([`Draw::Task`]), jobs of many
//! tasks all take the same time.

use policy::schedule::JobClass;

use crate::chance::Chance;
use crate::workload::{AlikeTasks, WorkloadJob};

/// Maps, reduces, and how many of a hundred jobs are so.
const BINS: [(u32, u32, u32); 10] = [
    (1, 0, 38),
    (2, 0, 16),
    (10, 3, 14),
    (50, 0, 8),
    (100, 0, 6),
    (200, 50, 6),
    (400, 0, 4),
    (800, 180, 4),
    (2_400, 360, 2),
    (4_800, 0, 2),
];
/// The first bins are interactive jobs.
const INTERACTIVE: usize = 5;
/// Logarithms of milliseconds on a core of type 1: mean and deviation.
const MAP: (f64, f64) = (9.9511, 1.6764);
const REDUCE: (f64, f64) = (12.375, 1.6262);

/// What a mix is drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// How many jobs.
    pub jobs: u32,
    /// What Table 1's maps are multiplied by.
    pub maps: u32,
    /// The same of its reduces, which the paper does not state.
    pub reduces: u32,
    /// For what times are drawn.
    pub draw: Draw,
}

/// For what the time of a task is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Draw {
    /// For each job.
    #[default]
    Job,
    /// For each task.
    Task,
}

impl Default for Mix {
    fn default() -> Self {
        Self {
            jobs: 1000,
            maps: 3,
            reduces: 3,
            draw: Draw::Job,
        }
    }
}

impl Mix {
    /// The jobs of a seed, with exponential gaps of this mean between them, in seconds; `None`: each has all the time to
    /// itself.
    #[must_use]
    pub fn draw(self, seed: u64, gap: Option<f64>) -> Vec<WorkloadJob> {
        let mut chance = Chance::seeded(seed);
        // Of its own, so that jobs are the same, and come at the same times, however tasks are drawn.
        let mut each = Chance::seeded(!seed);
        let mut bins: Vec<usize> = Vec::new();
        for (bin, (.., share)) in BINS.iter().enumerate() {
            let count = self.jobs.saturating_mul(*share).div_ceil(100);
            bins.extend(std::iter::repeat_n(
                bin,
                usize::try_from(count).unwrap_or(0),
            ));
        }
        chance.shuffle(&mut bins);
        bins.truncate(usize::try_from(self.jobs).unwrap_or(usize::MAX));
        let mut at = 0.0;
        let drawn = bins.into_iter().enumerate().map(|(number, bin)| {
            let (maps, reduces, _) = BINS.get(bin).copied().unwrap_or_default();
            // Drawn whether or not there are reduces, so that a mix differs from another in what is scaled alone.
            let map = chance.log_normal(MAP.0, MAP.1) / 1000.0;
            let reduce = chance.log_normal(REDUCE.0, REDUCE.1) / 1000.0;
            let pause = chance.exponential(1.0);
            let submit_s = at;
            at += gap.map_or(ALONE, |gap| gap * pause);
            let maps = maps.saturating_mul(self.maps);
            let reduces = reduces.saturating_mul(self.reduces);
            let mut tasks = |count, of, alike| match self.draw {
                Draw::Job => AlikeTasks::of(count, alike),
                Draw::Task => each_drawn(&mut each, count, of),
            };
            let class = JobClass::BOTH[usize::from(bin >= INTERACTIVE)];
            WorkloadJob {
                name: format!("j{number}"),
                submit_s,
                user: String::new(),
                queue: class.queue().to_owned(),
                priority: 0,
                deadline_s: None,
                maps: Some(tasks(maps, MAP, map)),
                reduces: (reduces > 0).then(|| tasks(reduces, REDUCE, reduce)),
                ranks: None,
            }
        });
        drawn.collect()
    }
}

/// Tasks of which each takes what is drawn for it.
fn each_drawn(chance: &mut Chance, count: u32, (mean, deviation): (f64, f64)) -> AlikeTasks {
    let seconds = (0..count).map(|_| chance.log_normal(mean, deviation) / 1000.0);
    AlikeTasks::each(seconds.collect())
}

/// Seconds that a job has to itself where each is alone: longer than any takes, and a thousand of them are no more than
/// the clock can count.
pub(super) const ALONE: f64 = 1.0e7;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_alike_or_drawn_each_by_itself() {
        let of = |draw| {
            Mix {
                draw,
                jobs: 50,
                ..Mix::default()
            }
            .draw(1, Some(50.0))
        };
        let (by_job, by_task) = (of(Draw::Job), of(Draw::Task));
        for (job, other) in by_job.iter().zip(&by_task) {
            assert_eq!((job.submit_s, &job.queue), (other.submit_s, &other.queue));
            let (alike, each) = (job.maps.as_ref().unwrap(), other.maps.as_ref().unwrap());
            assert_eq!(alike.count, each.count);
            assert!(alike.each_seconds.is_empty());
            let first = each.each_seconds[0];
            assert!(
                each.each_seconds[1..]
                    .iter()
                    .all(|other| (other - first).abs() > 1e-9)
            );
        }
    }

    #[test]
    fn a_mix_is_the_tables_and_a_seeds() {
        let mix = Mix::default();
        let jobs = mix.draw(1, Some(50.0));
        assert_eq!(jobs.len(), 1000);
        let of = |queue: &str| jobs.iter().filter(|job| job.queue == queue).count();
        assert_eq!((of("interactive"), of("batch")), (820, 180));
        let count = |stage: Option<&AlikeTasks>| stage.map_or(0, |tasks| tasks.count);
        let maps: u32 = jobs.iter().map(|job| count(job.maps.as_ref())).sum();
        // 2 % of 4,800 and 2,400 each, 4 % of 800, and so on.
        assert_eq!(maps, 3 * 216_100);
        let largest = jobs
            .iter()
            .filter(|job| count(job.maps.as_ref()) == 3 * 4_800);
        assert_eq!(largest.count(), 20);
        let times = |seed| -> Vec<f64> {
            let jobs = mix.draw(seed, Some(50.0));
            jobs.iter().map(|job| job.submit_s).collect()
        };
        assert_eq!(times(1), times(1));
        assert_ne!(times(1), times(2));
        // The same jobs come twice as late.
        let (near, far) = (mix.draw(1, Some(50.0)), mix.draw(1, Some(100.0)));
        assert!(near.iter().zip(&far).all(|(near, far)| {
            (near.submit_s * 2.0 - far.submit_s).abs() < 1e-6
                && near.maps.as_ref().map(|m| m.seconds) == far.maps.as_ref().map(|m| m.seconds)
        }));
    }
}
