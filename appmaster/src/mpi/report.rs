//! The ApplicationMaster's part of the job report, which travels with the verdict.

use holding::Finished;
use job::container_exit::ContainerExit;
use job::report::{Phases, RankReport, Report, Sample};
use job::wire;
use policy::Rank;

use crate::mpi::Mpi;

/// Largest report, bytes: two thirds of the largest message, the rest of which is the verdict's.
const REPORT_MAX: usize = job::transport::MESSAGE_MAX / 3 * 2;

impl Mpi {
    /// YARN's id of the job.
    pub(crate) fn application(&self) -> String {
        self.attempt.application.to_string()
    }

    /// The report of a job that has ended with `verdict`, as JSON.
    pub(crate) fn report(&self, verdict: &wire::Verdict, finished: Finished) -> String {
        let description = &self.description;
        let ranks = verdict.ranks.iter().map(|report| {
            let number = Rank(report.rank);
            let seen = SeenRank {
                peak_resident_kib: self.usages.peak_resident_kib(number),
                cpu_ms: self.usages.cpu_ms(number),
                samples: self.usages.of(number),
            };
            rank(report, &seen)
        });
        let report = Report {
            application: self.application(),
            program: description
                .programs
                .first()
                .map(|program| program.file.clone())
                .unwrap_or_default(),
            processes: description.processes(),
            mode: description.demand.mode.to_string(),
            exit_code: verdict.exit_code,
            sentence: verdict.sentence.clone(),
            degraded: self.story.degraded.clone(),
            phases: phases(&self.timing),
            placement: self.story.placed.clone(),
            grants: self.story.grants.clone(),
            allocates: finished.allocates,
            asking_allocates: finished.asking,
            ranks: ranks.collect(),
            appmaster_resident_kib: verdict.appmaster_memory.map_or(0, |m| m.resident_kib),
            uploaded_bytes: 0,
        };
        written(report, REPORT_MAX)
    }
}

/// What was seen of a rank while it ran.
struct SeenRank<'a> {
    peak_resident_kib: u64,
    cpu_ms: u64,
    samples: &'a [Sample],
}

/// The kernel's own count at the end of a rank holds, where there is one: samples miss what happens
/// between them.
fn rank(report: &wire::RankReport, seen: &SeenRank<'_>) -> RankReport {
    use wire::rank_ended::How;
    let end = report.end.unwrap_or_default();
    let (exit_code, signal) = match end.how {
        Some(How::ExitCode(code)) => (Some(code), None),
        Some(How::Signal(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    RankReport {
        rank: report.rank,
        group: report.group,
        group_rank: report.group_rank,
        host: report.host.clone(),
        exit_code,
        signal,
        container_exit: report.container_exit.map(ContainerExit::from),
        peak_resident_kib: end.max_rss_kib.max(seen.peak_resident_kib),
        cpu_ms: (end.cpu_us / 1000).max(seen.cpu_ms),
        waiting_share: end.waiting_share,
        samples: seen.samples.to_vec(),
    }
}

/// The client fills in what only it knows.
fn phases(timing: &wire::Timing) -> Phases {
    Phases {
        appmaster_started_us: timing.appmaster_started_us,
        registered_us: timing.registered_us,
        asked_us: timing.asked_us,
        granted_us: timing.granted_us,
        joined_us: timing.joined_us,
        processes_started_us: timing.started_us,
        ended_us: timing.ended_us,
        ..Phases::default()
    }
}

/// As JSON of at most `most` bytes: without samples, and then without the nodes of the placement,
/// where it is larger; empty when even that does not do.
fn written(mut report: Report, most: usize) -> String {
    let whole = json(&report);
    if whole.len() <= most {
        return whole;
    }
    for rank in &mut report.ranks {
        rank.samples.clear();
    }
    let without_samples = json(&report);
    if without_samples.len() <= most {
        return without_samples;
    }
    report.placement = None;
    report.grants.clear();
    let least = json(&report);
    if least.len() <= most {
        least
    } else {
        String::new()
    }
}

fn json(report: &Report) -> String {
    serde_json::to_string(report).unwrap_or_else(|error| {
        tracing::warn!("cannot write the job report: {error}");
        String::new()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(how: Option<wire::rank_ended::How>) -> wire::RankReport {
        wire::RankReport {
            rank: 3,
            host: "n1".into(),
            end: Some(wire::RankEnded {
                rank: 3,
                how,
                max_rss_kib: 900,
                cpu_us: 1_234_567,
                waiting_share: Some(0.25),
                ..wire::RankEnded::default()
            }),
            ..wire::RankReport::default()
        }
    }

    #[test]
    fn a_rank_has_the_larger_of_what_was_sampled_and_what_the_kernel_counted() {
        use wire::rank_ended::How;
        let samples = [Sample {
            at_ms: 1000,
            resident_kib: 2000,
            cpu_ms: 990,
        }];
        let seen = SeenRank {
            peak_resident_kib: 2000,
            cpu_ms: 990,
            samples: &samples,
        };
        let report = rank(&ended(Some(How::Signal(9))), &seen);
        assert_eq!((report.exit_code, report.signal), (None, Some(9)));
        assert_eq!((report.peak_resident_kib, report.cpu_ms), (2000, 1234));
        assert_eq!(report.waiting_share, Some(0.25));
        assert_eq!(report.container_exit, None);
        assert_eq!(report.samples, samples);
        let report = rank(&ended(Some(How::ExitCode(0))), &seen);
        assert_eq!((report.exit_code, report.signal), (Some(0), None));

        // It was never heard of again.
        let lost = wire::RankReport {
            end: None,
            container_exit: Some(-100),
            ..ended(None)
        };
        let report = rank(&lost, &seen);
        let exit = report.container_exit.map(|exit| exit.to_string());
        assert_eq!(exit.unwrap(), "-100 (taken back, or its node lost)");
        assert_eq!((report.exit_code, report.peak_resident_kib), (None, 2000));
    }

    #[test]
    fn a_report_that_is_too_large_gives_up_samples_first() {
        let report = Report {
            ranks: vec![RankReport {
                samples: vec![Sample::default(); 100],
                ..RankReport::default()
            }],
            ..Report::default()
        };
        let read = |text: &str| serde_json::from_str::<Report>(text).unwrap();
        assert_eq!(read(&written(report.clone(), 10_000)), report);
        let smaller = read(&written(report.clone(), 2_000));
        assert!(smaller.ranks.len() == 1 && smaller.ranks[0].samples.is_empty());
        assert_eq!(written(report, 10), "");
    }
}
