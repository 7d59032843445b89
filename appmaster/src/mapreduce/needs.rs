//! What tasks need that only some nodes have, as it was said and as it turns out.

use std::collections::BTreeMap;

use gerbil_task::settings::{NEEDS_MAP, NEEDS_REDUCE, goes_on_without};
use job::StageTerms;
use policy::elements::{ElementNeed, FPGA, GPU, counted_by, is_function, is_taken_whole};
use policy::lending::Lack;
use policy::schedule::{AttemptIx, AttemptOutcome, Stage};

use super::attempts::PlacedAttempt;
use super::{MapReduce, MapReduceEffect, sentences};

/// What a stage needs of its nodes once the processor computes what functions of accelerators would; `None`: it needs
/// none, or the job does not go on without.
fn on_processors(goes_on: bool, needs: &[ElementNeed]) -> Option<Vec<ElementNeed>> {
    let (functions, others): (Vec<_>, Vec<_>) =
        (needs.iter().cloned()).partition(|need| is_function(&need.name));
    (goes_on && !functions.is_empty()).then_some(others)
}

/// Leases of one task that may end under it without that counting.
const LOST_LEASES: u32 = 3;

/// What a task is taken to need that found no device of the kind that its process has named: whatever else that
/// says, a GPU.
fn need_of(device: &str) -> &str {
    match counted_by(device) {
        Some(element) => element,
        None if device == FPGA || is_taken_whole(device) => device,
        None => GPU,
    }
}

impl MapReduce {
    /// What holds for every task of a stage.
    pub(super) const fn terms(&self, stage: Stage) -> &StageTerms {
        match stage {
            Stage::Map => &self.description.map,
            Stage::Reduce | Stage::Gang => &self.description.reduce,
        }
    }

    const fn terms_mut(&mut self, stage: Stage) -> &mut StageTerms {
        match stage {
            Stage::Map => &mut self.description.map,
            Stage::Reduce | Stage::Gang => &mut self.description.reduce,
        }
    }

    /// Whether it ends, or goes on without, where no node has what it needs, instead of waiting for one.
    pub(crate) const fn wants_nodes_now(&self) -> bool {
        matches!(self.step, super::LifeState::Running) && !self.description.wait_for_nodes
    }

    /// No node has what tasks of a stage need: the processor computes it, or the job cannot run. Of a stage that finds
    /// no device without its need, either, it is not believed a second time.
    pub(super) fn no_node(&mut self, lack: &Lack) {
        let stage = lack.stage;
        let settings = &self.description.settings;
        let goes_on = goes_on_without(|name| settings.get(name).map(String::as_str))
            && !self.on_processors.contains(&stage);
        let needs = on_processors(goes_on, &self.terms(stage).needs);
        let Some(needs) = needs else {
            return self.impossible(::sentences::lack(lack));
        };
        self.notice(::sentences::on_processors(lack));
        self.on_processors.insert(stage);
        self.terms_mut(stage).needs.clone_from(&needs);
        self.want(MapReduceEffect::Needed { stage, needs });
    }

    /// An attempt waits for devices that others hold, as its launcher says; the first of a stage is shown.
    pub(super) fn stands_in_line(&mut self, attempt: &PlacedAttempt, status: &str) {
        if self.in_line.insert(attempt.stage) {
            let title = sentences::title(attempt.stage, attempt.task, &self.machine);
            let (number, host) = (attempt.number, &attempt.host);
            self.notice(format!(
                "{title}, attempt {number}, node {host}: {status}; gerbil fpga ps says there who"
            ));
        }
    }

    /// An attempt found no device, and nobody knew that it needs one: that is no fault of its own. The first of a
    /// stage tells it for all.
    pub(super) fn found_no_device(
        &mut self,
        ix: AttemptIx,
        attempt: &PlacedAttempt,
        device: &str,
        sentence: String,
    ) {
        let title = sentences::title(attempt.stage, attempt.task, &self.machine);
        let words = format!("{title}, attempt {}: {sentence}", attempt.number);
        tracing::warn!("{words}");
        self.no_device_attempts = self.no_device_attempts.saturating_add(1);
        self.failures
            .insert((attempt.stage, attempt.task), sentence);
        if self.terms(attempt.stage).needs.is_empty() {
            self.need(attempt.stage, need_of(device), &words);
        }
        self.over(ix, AttemptOutcome::NoDevice);
    }

    /// The device that an attempt was given, or was to be given, is gone: that is no fault of its own, and its launcher
    /// has said what is left on the node. A task under which leases end again and again may be why they do: from then
    /// on that counts.
    pub(super) fn lost_device(
        &mut self,
        ix: AttemptIx,
        attempt: &PlacedAttempt,
        has_begun: bool,
        sentence: String,
    ) {
        if has_begun {
            let lost = self.lost_leases.entry((attempt.stage, attempt.task));
            let lost = lost.or_insert(0);
            *lost = lost.saturating_add(1);
            if *lost > LOST_LEASES {
                let sentence =
                    format!("{sentence}; it counts, as {LOST_LEASES} of this task before");
                return self.failed(ix, attempt, sentence);
            }
        }
        let title = sentences::title(attempt.stage, attempt.task, &self.machine);
        let words = format!("{title}, attempt {}: {sentence}", attempt.number);
        tracing::warn!("{words}");
        if self.no_device_attempts == 0 {
            self.notice(format!(
                "{words}; it does not count: the task is queued again where a device is"
            ));
        }
        self.no_device_attempts = self.no_device_attempts.saturating_add(1);
        self.failures
            .insert((attempt.stage, attempt.task), sentence);
        self.over(ix, AttemptOutcome::NoDevice);
    }

    /// Tasks of this stage are queued again as ones that need such a device; `words` tell how that was found.
    fn need(&mut self, stage: Stage, found: &str, words: &str) {
        let (terms, setting, tasks) = match stage {
            Stage::Map => (&mut self.description.map, NEEDS_MAP, "maps"),
            Stage::Reduce | Stage::Gang => (&mut self.description.reduce, NEEDS_REDUCE, "reduces"),
        };
        let needs = vec![ElementNeed::one(found)];
        terms.needs.clone_from(&needs);
        let label = self.description.settings.get(setting);
        let label = label.map(|label| format!(" instead of {label}, as they are labelled"));
        self.notice(format!(
            "{words}; it does not count: {tasks} are queued again as ones that need {found}{}, which -D \
             {setting}={found} says at once",
            label.unwrap_or_default()
        ));
        self.want(MapReduceEffect::Needed { stage, needs });
        self.found_needs.insert(stage, vec![found.to_owned()]);
    }

    /// What stages turned out to need, by their names.
    pub(super) fn found_needs(&self) -> BTreeMap<String, Vec<String>> {
        let found = self.found_needs.iter();
        let name = |stage: &Stage| match stage {
            Stage::Map => "map".to_owned(),
            Stage::Reduce | Stage::Gang => "reduce".to_owned(),
        };
        found
            .map(|(stage, needs)| (name(stage), needs.clone()))
            .collect()
    }
}
