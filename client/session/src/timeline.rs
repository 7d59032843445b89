//! What the jobs of a session had of its slots, and when: a Gantt chart.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gantt::{Axis, Bar, date, svg};
use job::wire;
use job::wire::session_span::{How, Stage};
use proto_hadoop::ApplicationId;
use serde::Serialize;

use crate::error::SessionError;
use crate::reach::{Reached, answer};
use crate::record::SessionRecord;
use crate::status::short;

/// As far back as the session remembers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timeline {
    /// By which its user calls the session.
    pub name: String,
    /// What it is to YARN.
    pub application: String,
    /// When it was asked, in seconds since it began.
    pub now_s: f64,
    /// Spans of slots that it does not remember.
    pub left_out: u64,
    /// A bar a slot that a job had, in the order of the slots.
    pub bars: Vec<Bar>,
}

impl Reached {
    /// Looks.
    ///
    /// # Errors
    ///
    /// It does not answer.
    pub async fn timeline(&mut self, kept: &SessionRecord) -> Result<Timeline, SessionError> {
        let asked = self.client.timeline(wire::TimelineRequest {});
        let said = answer(&kept.name, asked).await?;
        let application = kept.owned.application;
        Ok(Timeline {
            name: kept.name.to_string(),
            application: application.to_string(),
            now_s: seconds(said.now_ms),
            left_out: said.left_out,
            bars: bars(application, said.spans, said.now_ms),
        })
    }
}

impl Timeline {
    /// The names of its jobs.
    #[must_use]
    pub fn jobs(&self) -> BTreeSet<&str> {
        self.bars.iter().map(|bar| bar.job.as_str()).collect()
    }

    /// The chart, from the first of what is remembered until the last, drawn at a time in ms since 1970.
    #[must_use]
    pub fn svg(&self, at_ms: u64) -> String {
        let began_ms = Duration::try_from_secs_f64(self.now_s).map_or(0, |now| {
            at_ms.saturating_sub(u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
        });
        let title = format!(
            "Which job had which slot of session {} ({}), and when; 0 s is {}",
            self.name,
            self.application,
            date(began_ms)
        );
        let begins = self.bars.iter().map(|bar| bar.begin_s);
        let from_s = begins.fold(self.now_s, f64::min);
        let ends = self.bars.iter().map(|bar| bar.end_s);
        let to_s = ends.fold(from_s, f64::max);
        svg(&title, &self.bars, self.jobs(), Axis { from_s, to_s })
    }
}

/// A bar a slot. A span that tells its slot has it. Which of its slots a container has lent to others does not matter
/// but a picture's: each has the first ones that are free.
fn bars(application: ApplicationId, spans: Vec<wire::SessionSpan>, now_ms: u64) -> Vec<Bar> {
    let mut by_host: BTreeMap<String, Vec<wire::SessionSpan>> = BTreeMap::new();
    for span in spans {
        by_host.entry(span.host.clone()).or_default().push(span);
    }
    // The next process of each gang, by the job and when it began.
    let mut processes: BTreeMap<(u32, u64), u32> = BTreeMap::new();
    let (mut bars, mut first) = (Vec::new(), 0_u32);
    for (host, mut spans) in by_host {
        sort::by_key(&mut spans, |span| (span.began_ms, span.job, span.task));
        // When each slot of the host is free again.
        let mut free: Vec<u64> = Vec::new();
        let told = spans.iter().filter(|span| span.slot > 0);
        let told = told.map(|span| (span.container.clone(), span.slot));
        let told: BTreeSet<(String, u32)> = sort::set(told);
        let told: BTreeMap<(String, u32), usize> = sort::map(told.into_iter().zip(0..));
        // Whoever tells no slot has none of those.
        free.resize(told.len(), u64::MAX);
        for span in spans {
            let ended = match span.how() {
                How::Running => u64::MAX,
                _ => span.ended_ms,
            };
            for _ in 0..span.slots {
                let own = told.get(&(span.container.clone(), span.slot)).copied();
                let place = own.or_else(|| free.iter().position(|at| *at <= span.began_ms));
                let place = place.unwrap_or_else(|| {
                    free.push(0);
                    free.len() - 1
                });
                if let Some(at) = free.get_mut(place).filter(|_| own.is_none()) {
                    *at = ended;
                }
                let task = match span.stage() {
                    Stage::Gang => {
                        let next = processes.entry((span.job, span.began_ms)).or_default();
                        let task = *next;
                        *next = task.saturating_add(1);
                        task
                    }
                    Stage::Map | Stage::Reduce => span.task,
                };
                bars.push(Bar {
                    job: format!("{} {}", short(application, span.job), span.name),
                    stage: match span.stage() {
                        Stage::Gang => "gang",
                        Stage::Map => "map",
                        Stage::Reduce => "reduce",
                    },
                    task,
                    node: host.clone(),
                    slot: first.saturating_add(u32::try_from(place).unwrap_or(u32::MAX)),
                    begin_s: seconds(span.began_ms),
                    end_s: seconds(ended.min(now_ms.max(span.ended_ms))),
                    how: match span.how() {
                        How::Running => "running",
                        How::Done => "done",
                        How::Failed => "failed",
                        How::Killed => "killed",
                        How::Lost => "lost",
                        How::Moved => "moved",
                    },
                });
            }
        }
        first = first.saturating_add(u32::try_from(free.len()).unwrap_or(u32::MAX));
    }
    sort::by(&mut bars, |one, other| {
        let begins = one.begin_s.total_cmp(&other.begin_s);
        one.slot.cmp(&other.slot).then(begins)
    });
    bars
}

/// The nearest that there is, so that it is written with three digits after the point and no more.
fn seconds(ms: u64) -> f64 {
    Duration::from_millis(ms).div_duration_f64(Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_three_digits() {
        for ms in (0..100_000_u64).step_by(7) {
            let written = seconds(ms).to_string();
            let digits = written
                .split_once('.')
                .map_or(0, |(_, digits)| digits.len());
            assert!(digits <= 3, "{ms} ms: {written}");
        }
    }

    #[test]
    fn spans_get_slots_that_are_free_and_hosts_have_slots_of_their_own() {
        let span = |job, host: &str, slots, began_ms, ended_ms, how: How| wire::SessionSpan {
            job,
            name: "p".into(),
            host: host.into(),
            slots,
            began_ms,
            ended_ms,
            how: how.into(),
            ..wire::SessionSpan::default()
        };
        let map = wire::SessionSpan {
            stage: Stage::Map.into(),
            task: 9,
            ..span(3, "n1", 1, 1500, 1800, How::Failed)
        };
        let spans = vec![
            span(1, "n1", 1, 0, 1000, How::Done),
            span(1, "n2", 1, 0, 1000, How::Done),
            map,
            span(2, "n1", 1, 500, 0, How::Running),
            span(4, "n2", 2, 1000, 1200, How::Lost),
        ];
        let application = "application_1700000000000_0042".parse().unwrap();
        let timeline = Timeline {
            name: "s".into(),
            application: "a".into(),
            now_s: 2.0,
            left_out: 0,
            bars: bars(application, spans, 2000),
        };
        let bars = timeline.bars.iter().map(|bar| {
            let Bar {
                job,
                stage,
                task,
                node,
                slot,
                how,
                ..
            } = bar;
            format!(
                "{node} {slot} {job} {stage} {task} {} {} {how}",
                bar.begin_s, bar.end_s
            )
        });
        let wanted = [
            "n1 0 s42.1 p gang 0 0 1 done",
            "n1 0 s42.3 p map 9 1.5 1.8 failed",
            "n1 1 s42.2 p gang 0 0.5 2 running",
            "n2 2 s42.1 p gang 1 0 1 done",
            "n2 2 s42.4 p gang 0 1 1.2 lost",
            "n2 3 s42.4 p gang 1 1 1.2 lost",
        ];
        assert_eq!(bars.collect::<Vec<_>>(), wanted);
        assert_eq!(timeline.jobs().len(), 4);
        let svg = timeline.svg(1_700_000_002_000);
        assert_eq!(svg.matches("<rect").count(), 6);
        assert!(svg.contains("0 s is 2023-11-14 22:13:20 UTC"), "{svg}");
        assert!(
            svg.contains("s42.3 p map 9: 1.50 to 1.80 s, failed"),
            "{svg}"
        );
    }

    /// A task that was moved has a bar in each of its slots.
    #[test]
    fn a_span_that_tells_its_slot_has_it() {
        let span = |task, slot, began_ms, ended_ms, how: How| wire::SessionSpan {
            job: 1,
            stage: Stage::Map.into(),
            task,
            host: "n1".into(),
            slots: 1,
            began_ms,
            ended_ms,
            how: how.into(),
            container: "c1".into(),
            slot,
            ..wire::SessionSpan::default()
        };
        let spans = vec![
            span(0, 4, 0, 1000, How::Moved),
            span(0, 2, 1000, 2000, How::Done),
            span(1, 4, 1000, 3000, How::Done),
        ];
        let application = "application_1700000000000_0042".parse().unwrap();
        let bars = bars(application, spans, 3000).into_iter();
        let bars = bars.map(|bar| (bar.slot, bar.task, bar.begin_s, bar.how));
        let expected = [
            (0, 0, 1.0, "done"),
            (1, 0, 0.0, "moved"),
            (1, 1, 1.0, "done"),
        ];
        assert_eq!(bars.collect::<Vec<_>>(), expected);
    }
}
