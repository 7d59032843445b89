//! What a session holds and runs, and what its jobs wait for.

mod attempt;
mod progress;

use std::time::Duration;

use job::wire;
use job::wire::session_job::State;
use proto_hadoop::ApplicationId;
use serde::Serialize;
use terminal::Foreign;
use terminal::table::{Column, span, table};

pub use attempt::{BoundAttempt, attempts};
pub use progress::TaskProgress;

use crate::error::SessionError;
use crate::reach::{Reached, answer};
use crate::record::SessionRecord;

/// Where jobs wait that name no queue: no word is lost about it.
const DEFAULT_QUEUE: &str = "default";

/// What a session said of itself when it was asked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// By which its user calls it.
    pub name: String,
    /// What it is to YARN.
    pub application: String,
    /// As it was started with.
    pub policy: String,
    /// By the order in which they came.
    pub containers: Vec<SessionContainer>,
    /// Those that are not over, by number.
    pub jobs: Vec<JobStatus>,
    /// Jobs that have ended.
    pub ended: u32,
    /// Containers that are asked of YARN.
    pub asked: u32,
    /// Why there are not more; empty: there are as many as wanted.
    pub asking: String,
    /// It takes no further job.
    pub is_stopping: bool,
    /// Detached jobs that have ended, the last ones, whose output is kept.
    pub kept: Vec<EndedJob>,
    /// Whose launchers do not reach each other at their ports, a sentence for each two.
    pub unreached: Vec<String>,
    /// Why what it decides is not recorded any more; empty: it is, or is not to be.
    pub record_ended: String,
    /// What the policy was told of jobs and containers.
    pub told: u64,
    /// How long it took to decide after all of it, microseconds.
    pub deciding_us: u64,
}

/// A detached job that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndedJob {
    /// Its number in the session, from 1.
    pub job: u32,
    /// By which lists call it.
    pub id: String,
    /// Its program.
    pub name: String,
    /// What the command would have returned that followed it.
    pub exit_code: i32,
    /// Why it has failed; empty for a success.
    pub sentence: String,
    /// It was a MapReduce job.
    pub has_tasks: bool,
}

/// What the session holds on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionContainer {
    /// YARN's id.
    pub container: String,
    /// Its node.
    pub host: String,
    /// Processes that can run there at the same time.
    pub slots: u32,
    /// Slots that jobs have.
    pub lent: u32,
    /// Why it goes as soon as no job uses it; empty: it stays.
    pub leaves: String,
}

/// A job that is not over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobStatus {
    /// Its number in the session, from 1.
    pub job: u32,
    /// By which lists call it: `s42.7`.
    pub id: String,
    /// Its program.
    pub name: String,
    /// Whose it is.
    pub user: String,
    /// Higher goes first, where the policy looks at it.
    pub priority: i32,
    /// "waiting", "running" or "ending".
    pub state: &'static str,
    /// Slots that it wants or has.
    pub slots: u32,
    /// Since it was submitted, milliseconds.
    pub age_ms: u64,
    /// Why it waits; empty: it does not.
    pub waits: String,
    /// No client follows it.
    pub detached: bool,
    /// Where it waits, for policies that share out between queues.
    pub queue: String,
    /// Where it has slots, in the order of the containers.
    pub shares: Vec<Share>,
    /// How far its tasks are; `None`: it has none.
    pub tasks: Option<TaskProgress>,
    /// Attempts that run and are bound to cores.
    pub attempts: Vec<BoundAttempt>,
}

/// Slots that a job has on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// The node.
    pub host: String,
    /// Ranks or tasks that it has there.
    pub slots: u32,
}

impl JobStatus {
    /// Its program, what it waits for, and whether somebody follows it, in words.
    #[must_use]
    pub fn words(&self) -> String {
        let name = Foreign::name(&self.name);
        let name = match self.detached {
            true => format!("{name} (detached)"),
            false => name.to_string(),
        };
        match (self.state, self.waits.as_str()) {
            ("running", _) => name,
            (state, "") => format!("{name}: {state}"),
            (_, waits) => format!("{name}: {waits}"),
        }
    }
}

/// A job's short name: job 7 of application 42 is `s42.7`.
#[must_use]
pub fn short(application: ApplicationId, job: u32) -> String {
    format!("s{}.{job}", application.id)
}

impl Reached {
    /// Looks.
    ///
    /// # Errors
    ///
    /// It does not answer.
    pub async fn status(&mut self, kept: &SessionRecord) -> Result<Status, SessionError> {
        let asked = self.client.status(wire::StatusRequest {});
        let said = answer(&kept.name, asked).await?;
        Ok(Status::new(kept.owned.application, said))
    }
}

impl Status {
    fn new(application: ApplicationId, said: wire::SessionStatus) -> Self {
        let containers = said.containers.into_iter().map(|held| SessionContainer {
            container: held.container,
            host: held.host,
            slots: held.slots,
            lent: held.lent,
            leaves: held.leaves,
        });
        let jobs = said.jobs.into_iter().map(|job| JobStatus {
            state: match job.state() {
                State::Waiting => "waiting",
                State::Running => "running",
                State::Ending => "ending",
            },
            id: short(application, job.job),
            job: job.job,
            name: job.name,
            user: job.user,
            priority: job.priority,
            slots: job.slots,
            age_ms: job.age_ms,
            waits: job.waits,
            detached: job.detached,
            queue: job.queue,
            shares: job
                .shares
                .into_iter()
                .map(|share| Share {
                    host: share.host,
                    slots: share.slots,
                })
                .collect(),
            tasks: job.tasks.map(Into::into),
            attempts: job.attempts.into_iter().map(Into::into).collect(),
        });
        let kept = said.kept.into_iter().map(|ended| EndedJob {
            id: short(application, ended.job),
            job: ended.job,
            name: ended.name,
            exit_code: ended.exit_code,
            sentence: ended.sentence,
            has_tasks: ended.has_tasks,
        });
        Self {
            application: application.to_string(),
            containers: containers.collect(),
            jobs: jobs.collect(),
            name: said.name,
            policy: said.policy,
            ended: said.ended,
            asked: said.asked,
            asking: said.asking,
            is_stopping: said.is_stopping,
            kept: kept.collect(),
            unreached: said.unreached,
            record_ended: said.record_ended,
            told: said.told,
            deciding_us: said.deciding_us,
        }
    }

    /// Slots that jobs have, and all.
    #[must_use]
    pub fn slots(&self) -> (u32, u32) {
        let sum = |of: fn(&SessionContainer) -> u32| {
            let all = self.containers.iter().map(of);
            all.fold(0, u32::saturating_add)
        };
        (sum(|held| held.lent), sum(|held| held.slots))
    }

    /// How many jobs are in this state.
    #[must_use]
    pub fn count(&self, state: &str) -> usize {
        self.jobs.iter().filter(|job| job.state == state).count()
    }

    /// Who has the slots of a node: `s42.5:4 s42.6`, where no number is one slot.
    fn holders(&self, host: &str) -> String {
        let there = self.jobs.iter().flat_map(|job| {
            let here = job.shares.iter().filter(|share| share.host == host);
            here.map(|share| match share.slots {
                1 => job.id.clone(),
                slots => format!("{}:{slots}", job.id),
            })
        });
        there.collect::<Vec<_>>().join(" ")
    }

    /// The same in words, line after line.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let (lent, slots) = self.slots();
        let mut lines = vec![format!(
            "session {} is {}, policy {}{}",
            self.name,
            self.application,
            self.policy,
            match self.is_stopping {
                true => "; it takes no further job",
                false => "",
            }
        )];
        lines.push(format!(
            "{} with {}, {lent} of them in use",
            count(self.containers.len(), "container"),
            count(usize::try_from(slots).unwrap_or(usize::MAX), "slot"),
        ));
        if !self.record_ended.is_empty() {
            lines.push(Foreign::sentence(&self.record_ended).to_string());
        }
        if self.asked > 0 || !self.asking.is_empty() {
            let asked = count(
                usize::try_from(self.asked).unwrap_or(usize::MAX),
                "container",
            );
            lines.push(match self.asking.as_str() {
                "" => format!("{asked} asked of YARN"),
                why => format!("{asked} asked of YARN: {}", Foreign::sentence(why)),
            });
        }
        if !self.containers.is_empty() {
            let columns = [
                Column::Left("host"),
                Column::Right("slots"),
                Column::Right("used"),
                Column::Left("to"),
                Column::Left("container"),
            ];
            let row = |held: &SessionContainer| {
                vec![
                    held.host.clone(),
                    held.slots.to_string(),
                    held.lent.to_string(),
                    self.holders(&held.host),
                    held.container.clone(),
                ]
            };
            lines.extend(table(2, &columns, self.containers.iter().map(row)));
            let leaving = self.containers.iter();
            let leaving = leaving.filter(|held| !held.leaves.is_empty());
            lines.extend(leaving.map(|held| {
                let (host, leaves) = (Foreign::name(&held.host), Foreign::sentence(&held.leaves));
                format!("  {host} leaves: {leaves}")
            }));
            lines.extend(
                self.unreached
                    .iter()
                    .map(|words| format!("  {}", Foreign::sentence(words))),
            );
        }
        lines.push(format!(
            "{}, {} waiting, {} ended",
            match self.jobs.len() - self.count("waiting") {
                0 => "no job runs".to_owned(),
                1 => "1 job runs".to_owned(),
                several => format!("{several} jobs run"),
            },
            self.count("waiting"),
            self.ended
        ));
        if !self.jobs.is_empty() {
            let has_queues = self.jobs.iter().any(|job| job.queue != DEFAULT_QUEUE);
            let mut columns = vec![Column::Left("job"), Column::Left("user")];
            columns.extend(has_queues.then_some(Column::Left("queue")));
            columns.extend([
                Column::Right("slots"),
                Column::Right("age"),
                Column::Left("program"),
            ]);
            let row = |job: &JobStatus| {
                let mut row = vec![job.id.clone(), job.user.clone()];
                row.extend(has_queues.then(|| job.queue.clone()));
                row.extend([
                    job.slots.to_string(),
                    span(Duration::from_millis(job.age_ms)),
                    job.words(),
                ]);
                row
            };
            lines.extend(table(2, &columns, self.jobs.iter().map(row)));
        }
        if !self.kept.is_empty() {
            lines.push("detached jobs that have ended (gerbil logs JOB)".to_owned());
            let columns = [
                Column::Left("job"),
                Column::Right("code"),
                Column::Left("program"),
            ];
            let row = |ended: &EndedJob| {
                let program = match ended.sentence.as_str() {
                    "" => Foreign::name(&ended.name).to_string(),
                    why => format!("{}: {why}", Foreign::name(&ended.name)),
                };
                vec![ended.id.clone(), ended.exit_code.to_string(), program]
            };
            lines.extend(table(2, &columns, self.kept.iter().map(row)));
        }
        lines
    }
}

/// As `1 container`, `3 containers`.
fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        several => format!("{several} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> ApplicationId {
        "application_1700000000000_0042".parse().unwrap()
    }

    fn job(number: u32, name: &str, state: State, slots: u32, waits: &str) -> wire::SessionJob {
        wire::SessionJob {
            job: number,
            name: name.into(),
            user: "ada".into(),
            priority: 0,
            state: state.into(),
            slots,
            age_ms: 65_000,
            waits: waits.into(),
            detached: number == 7,
            queue: "default".into(),
            shares: match state {
                State::Running => [("n2", 4), ("n3", 1)]
                    .map(|(host, slots)| wire::SessionShare {
                        host: host.into(),
                        slots,
                    })
                    .into(),
                _ => Vec::new(),
            },
            tasks: None,
            attempts: Vec::new(),
        }
    }

    fn said() -> wire::SessionStatus {
        let held = |number: u32, lent| wire::SessionContainer {
            container: format!("container_1700000000000_0042_01_00000{number}"),
            host: format!("n{number}"),
            slots: 4,
            lent,
            leaves: match number {
                3 => "node n3 is being decommissioned".into(),
                _ => String::new(),
            },
        };
        wire::SessionStatus {
            name: "default".into(),
            policy: "fifo".into(),
            containers: vec![held(2, 4), held(3, 1)],
            jobs: vec![
                job(5, "cpi", State::Running, 5, ""),
                job(
                    7,
                    "heat",
                    State::Waiting,
                    4,
                    "waits for 4 slots: 3 free, job 5 holds 5",
                ),
            ],
            ended: 4,
            asked: 1,
            asking: "the queue default has no more room".into(),
            is_stopping: false,
            kept: vec![wire::EndedJob {
                job: 3,
                name: "lmp".into(),
                exit_code: 9,
                sentence: "rank 0 on n2 exited with code 9".into(),
                has_tasks: false,
            }],
            unreached: vec!["n3 cannot reach n2:41000 (connection timed out)".into()],
            told: 12,
            deciding_us: 90,
            record_ended: String::new(),
        }
    }

    #[test]
    fn a_status_says_what_is_held_what_runs_and_why_something_waits() {
        let lines = Status::new(id(), said()).lines().join("\n");
        let wanted = "\
session default is application_1700000000000_0042, policy fifo
2 containers with 8 slots, 5 of them in use
1 container asked of YARN: the queue default has no more room
  host  slots  used  to       container
  n2        4     4  s42.5:4  container_1700000000000_0042_01_000002
  n3        4     1  s42.5    container_1700000000000_0042_01_000003
  n3 leaves: node n3 is being decommissioned
  n3 cannot reach n2:41000 (connection timed out)
1 job runs, 1 waiting, 4 ended
  job    user  slots   age  program
  s42.5  ada       5  65 s  cpi
  s42.7  ada       4  65 s  heat (detached): waits for 4 slots: 3 free, job 5 holds 5
detached jobs that have ended (gerbil logs JOB)
  job    code  program
  s42.3     9  lmp: rank 0 on n2 exited with code 9";
        assert_eq!(lines, wanted);
    }

    #[test]
    fn queues_are_told_where_jobs_name_them() {
        let mut said = said();
        said.jobs.truncate(1);
        said.jobs[0].queue = "prod".into();
        let lines = Status::new(id(), said).lines();
        let row = lines.iter().position(|line| line.contains("queue  slots"));
        assert_eq!(
            lines[row.unwrap() + 1],
            "  s42.5  ada   prod       5  65 s  cpi"
        );
    }

    #[test]
    fn a_session_without_anything_is_told_shortly() {
        let empty = wire::SessionStatus {
            name: "a".into(),
            policy: "fair".into(),
            is_stopping: true,
            record_ended: "its record ends: file:/r: the disk is full".into(),
            ..wire::SessionStatus::default()
        };
        let lines = Status::new(id(), empty).lines();
        assert_eq!(
            lines,
            [
                "session a is application_1700000000000_0042, policy fair; it takes no further job",
                "0 containers with 0 slots, 0 of them in use",
                "its record ends: file:/r: the disk is full",
                "no job runs, 0 waiting, 0 ended",
            ]
        );
    }

    #[test]
    fn other_programs_read_the_same() {
        let json = serde_json::to_value(Status::new(id(), said())).unwrap();
        assert_eq!(json["containers"][0]["lent"], 4);
        assert_eq!(
            (&json["told"], &json["deciding_us"]),
            (&12.into(), &90.into())
        );
        assert_eq!(json["jobs"][1]["id"], "s42.7");
        assert_eq!(json["jobs"][1]["state"], "waiting");
        assert_eq!(json["jobs"][1]["detached"], true);
        assert_eq!(json["jobs"][0]["shares"][1]["host"], "n3");
        assert_eq!(json["kept"][0]["exit_code"], 9);
        assert_eq!(json["is_stopping"], false);
    }
}
