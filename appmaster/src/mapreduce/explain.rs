//! What a client is told that wants to know why each task is where it is, and what is counted of that for all.

use gerbil_task::add;
use job::explain::{Explained, HomeMoved, Locality, TaskEnded, TaskPlaced};
use job::history::{AttemptEnd, TaskStage};
use job::wire::job_event::Event as ToClient;
use policy::schedule::{Level, Stage};

use super::MapReduce;
use super::attempts::PlacedAttempt;

/// Where Hadoop counts what a job does.
const JOB_COUNTER: &str = "org.apache.hadoop.mapreduce.JobCounter";

/// Hosts that are told of one input.
const HOSTS: usize = 8;

impl MapReduce {
    /// An attempt has a slot, whose node is so near to the task's input.
    pub(super) fn explain_placed(&mut self, attempt: &PlacedAttempt, level: Level, is_copy: bool) {
        let (stage, task) = self.named(attempt);
        let index = usize::try_from(attempt.task.0).unwrap_or(usize::MAX);
        let hosts = match attempt.stage {
            Stage::Map => {
                let split = self.description.splits.get(index);
                split.map_or_else(Vec::new, |split| split.hosts.clone())
            }
            Stage::Reduce | Stage::Gang => self.homes.input(task).hosts,
        };
        let is_map = attempt.stage == Stage::Map;
        let input = (is_map || !hosts.is_empty()).then_some(match level {
            _ if hosts.is_empty() => Locality::Nowhere,
            Level::Node => Locality::Node,
            Level::Rack => Locality::Rack,
            Level::Any => Locality::Elsewhere,
        });
        if self.description.explain {
            self.explain(&Explained::TaskPlaced(TaskPlaced {
                at_ms: self.now.0,
                job: self.orders.job().to_owned(),
                stage,
                task,
                attempt: attempt.number,
                host: attempt.host.clone(),
                container: attempt.container.0.clone(),
                slot: attempt.slot,
                input,
                input_hosts: hosts.iter().take(HOSTS).cloned().collect(),
                is_copy,
            }));
        }
        self.count_one(match is_map {
            false => "TOTAL_LAUNCHED_REDUCES",
            true => "TOTAL_LAUNCHED_MAPS",
        });
        match input.filter(|_| is_map) {
            None => {}
            Some(Locality::Node) => self.count_one("DATA_LOCAL_MAPS"),
            Some(Locality::Rack) => self.count_one("RACK_LOCAL_MAPS"),
            Some(Locality::Elsewhere | Locality::Nowhere) => self.count_one("OTHER_LOCAL_MAPS"),
        }
    }

    /// An attempt that was started is over.
    pub(super) fn explain_ended(
        &mut self,
        attempt: &PlacedAttempt,
        end: AttemptEnd,
        (took_ms, output_bytes): (u64, u64),
        sentence: &str,
    ) {
        let (stage, task) = self.named(attempt);
        match (end, stage) {
            (AttemptEnd::Failed, TaskStage::Map) => self.count_one("NUM_FAILED_MAPS"),
            (AttemptEnd::Failed, TaskStage::Reduce) => self.count_one("NUM_FAILED_REDUCES"),
            _ => {}
        }
        if self.description.explain {
            self.explain(&Explained::TaskEnded(TaskEnded {
                at_ms: self.now.0,
                job: self.orders.job().to_owned(),
                stage,
                task,
                attempt: attempt.number,
                host: attempt.host.clone(),
                end,
                took_ms,
                output_bytes,
                sentence: sentence.to_owned(),
            }));
        }
    }

    /// A partition is gathered elsewhere.
    pub(super) fn explain_moved(&mut self, moved: HomeMoved) {
        if self.description.explain {
            self.explain(&Explained::HomeMoved(moved));
        }
    }

    fn explain(&mut self, explained: &Explained) {
        match serde_json::to_string(explained) {
            Ok(line) => self.outbox.push(ToClient::Explained(line)),
            Err(error) => tracing::warn!("cannot write down {explained:?}: {error}"),
        }
    }

    fn count_one(&mut self, counter: &str) {
        let one = [(counter.to_owned(), 1)].into();
        add(&mut self.counters, [(JOB_COUNTER.to_owned(), one)].into());
    }
}
