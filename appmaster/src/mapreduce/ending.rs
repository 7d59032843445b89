//! After the last task, or the first reason not to go on: the output appears or is given up, nothing is left on
//! the nodes, and everybody is told.

use holding::Finished;
use job::exit::Exit;
use job::history::JobState;
use job::wire;
use job::wire::job_event::Event as ToClient;
use policy::Millis;
use policy::lifecycle::KillReason;
use policy::schedule::AttemptOutcome;
use proto_hadoop::yarn::FinalApplicationStatus;

use super::folder::{FolderDone, FolderWork};
use super::hearing::OfJob;
use super::{ContainerUse, LifeState, MapReduce, MapReduceEffect, MapReduceEvent, sentences};
use crate::lent_events::LentEvent;
use crate::work::Do;

/// For launchers to end what runs of the job.
const LEAVE: Millis = Millis(15_000);

/// How a job ends.
#[derive(Clone, Debug, PartialEq, Eq)]
enum MapReduceVerdict {
    Success,
    Failure { code: u8, sentence: String },
    Killed(KillReason),
}

impl MapReduceVerdict {
    const fn code(&self) -> u8 {
        match self {
            Self::Success => Exit::Success.code(),
            Self::Failure { code, .. } => *code,
            Self::Killed(KillReason::Interrupted) => Exit::Interrupted.code(),
            // As the shell says of a program that writes into a closed pipe.
            Self::Killed(KillReason::NoReader) => 128 + 13,
            Self::Killed(KillReason::ClientLost | KillReason::Terminated) => Exit::Killed.code(),
        }
    }

    const fn state(&self) -> wire::FinalState {
        match self {
            Self::Success => wire::FinalState::Succeeded,
            Self::Failure { .. } => wire::FinalState::Failed,
            Self::Killed(_) => wire::FinalState::Killed,
        }
    }

    const fn history(&self) -> JobState {
        match self {
            Self::Success => JobState::Succeeded,
            Self::Failure { .. } => JobState::Failed,
            Self::Killed(_) => JobState::Killed,
        }
    }

    fn sentence(&self) -> String {
        match self {
            Self::Success => String::new(),
            Self::Failure { sentence, .. } => sentence.clone(),
            Self::Killed(reason) => sentences::killed(*reason).to_owned(),
        }
    }
}

/// A job that ends.
#[derive(Debug)]
pub(super) struct Ending {
    verdict: MapReduceVerdict,
    /// The output folder is being filled, or left.
    works: bool,
    /// What is to be done there once no container has anything of the job.
    gives_up: bool,
    /// What became of the job is kept, or on its way there.
    keeps: bool,
    /// When containers that still have something of it are not waited for any more.
    leave_by: Millis,
    told: bool,
    farewell: bool,
}

impl Ending {
    pub(super) fn wakes_at(&self) -> Option<Millis> {
        (!self.told && !self.works).then_some(self.leave_by)
    }

    pub(super) const fn is_farewell(&self) -> bool {
        self.farewell
    }
}

impl MapReduce {
    /// Every result is there.
    pub(super) fn done(&mut self) {
        let results = std::mem::take(&mut self.results);
        let commit = FolderWork::Commit(results.into_values().collect());
        self.want(MapReduceEffect::Folder(commit));
        self.commit_began = Some(self.now);
        self.end(MapReduceVerdict::Success, true, false);
    }

    /// The job cannot end well.
    pub(super) fn fail(&mut self, sentence: String) {
        let verdict = MapReduceVerdict::Failure { code: 1, sentence };
        self.end(verdict, false, true);
    }

    /// No node can ever run it.
    pub(super) fn impossible(&mut self, sentence: String) {
        let code = Exit::Impossible.code();
        self.end(MapReduceVerdict::Failure { code, sentence }, false, true);
    }

    /// The output folder cannot be had: nothing was written there.
    pub(super) fn refused(&mut self, sentence: String) {
        let code = Exit::Staging.code();
        self.end(MapReduceVerdict::Failure { code, sentence }, false, false);
    }

    /// Somebody wants it ended, or nobody wants its end any more.
    pub(super) fn kill(&mut self, reason: KillReason) {
        self.break_off(MapReduceVerdict::Killed(reason));
    }

    /// Nobody answers as the ResourceManager, and another ApplicationMaster may begin.
    pub(super) fn cut_off(&mut self, silent: Millis) {
        self.break_off(MapReduceVerdict::Failure {
            code: Exit::Lost.code(),
            sentence: sentences::cut_off(silent),
        });
    }

    fn break_off(&mut self, verdict: MapReduceVerdict) {
        match &self.step {
            // Whether the folder is the job's is not known yet: it is heard, and given up then.
            LifeState::SettingUp => self.end(verdict, true, true),
            LifeState::Running => self.end(verdict, false, true),
            LifeState::Ending(_) => {}
        }
    }

    fn end(&mut self, verdict: MapReduceVerdict, works: bool, gives_up: bool) {
        if matches!(self.step, LifeState::Ending(_)) {
            return;
        }
        tracing::info!(
            "verdict: {}",
            match verdict.sentence().as_str() {
                "" => "success",
                sentence => sentence,
            }
        );
        self.want(MapReduceEffect::NoMore);
        for (container, place) in &mut self.places {
            if *place != ContainerUse::Leaving {
                *place = ContainerUse::Leaving;
                self.todo.push(Do::Leave(container.clone()));
            }
        }
        self.step = LifeState::Ending(Ending {
            verdict,
            works,
            gives_up,
            keeps: false,
            leave_by: self.now.plus(LEAVE),
            told: false,
            farewell: false,
        });
        self.go_on();
    }

    /// One piece of news after the verdict.
    pub(super) fn hear_ending(&mut self, heard: OfJob) {
        match heard {
            OfJob::Tasks(event) => self.hear_late(event),
            OfJob::Container(event) => match event {
                LentEvent::Left(container)
                | LentEvent::LauncherLost(container)
                | LentEvent::Ended { container, .. }
                | LentEvent::NotStarted(container)
                | LentEvent::Misbehaved { container, .. } => {
                    self.places.remove(&container);
                }
                // It was told to leave meanwhile.
                LentEvent::Joined { .. } | LentEvent::NotFetched { .. } => {}
            },
            OfJob::Finished(finished) => self.finished(finished),
            OfJob::Tick => {}
        }
        self.go_on();
    }

    fn hear_late(&mut self, event: MapReduceEvent) {
        match event {
            // Decided before the policies knew of the end.
            MapReduceEvent::Placed(start) => self.want(MapReduceEffect::Over {
                attempt: start.attempt,
                how: AttemptOutcome::Killed,
                phases: Vec::new(),
            }),
            MapReduceEvent::Folder(done) => self.folder_done(done),
            MapReduceEvent::Kept(kept) => self.kept(kept),
            // Nothing of its tasks is wanted any more.
            MapReduceEvent::Said { .. }
            | MapReduceEvent::SlotsCome
            | MapReduceEvent::NoNode(_)
            | MapReduceEvent::Move(_)
            | MapReduceEvent::Stop { .. }
            | MapReduceEvent::Leaves { .. }
            | MapReduceEvent::Homes(_)
            | MapReduceEvent::FolderWaits(_) => {}
        }
    }

    fn folder_done(&mut self, done: FolderDone) {
        let LifeState::Ending(ending) = &mut self.step else {
            return;
        };
        ending.works = false;
        match done {
            // It was killed in between; the folder is its own if it was made.
            FolderDone::SetUp(made) => ending.gives_up = made.is_ok(),
            FolderDone::Committed(Ok(())) => {}
            FolderDone::Committed(Err(sentence)) => {
                let code = Exit::Staging.code();
                ending.verdict = MapReduceVerdict::Failure { code, sentence };
            }
            FolderDone::GivenUp(Ok(())) => {}
            FolderDone::GivenUp(Err(sentence)) => {
                self.notice(format!(
                    "some of what the job has written is left: {sentence}"
                ));
            }
        }
    }

    fn kept(&mut self, kept: Result<(), String>) {
        if let LifeState::Ending(ending) = &mut self.step {
            ending.works = false;
        }
        if let Err(sentence) = kept {
            self.notice(format!("what became of the job is not kept: {sentence}"));
        }
    }

    /// Does what has become possible.
    fn go_on(&mut self) {
        let (now, places) = (self.now, self.places.len());
        let LifeState::Ending(ending) = &mut self.step else {
            return;
        };
        if ending.works || ending.told {
            return;
        }
        if places > 0 && now < ending.leave_by {
            return;
        }
        if std::mem::take(&mut ending.gives_up) {
            ending.works = true;
            return self.want(MapReduceEffect::Folder(FolderWork::GiveUp));
        }
        let verdict = ending.verdict.clone();
        if !std::mem::replace(&mut ending.keeps, true)
            && let Some(folder) = self.description.history.clone()
        {
            ending.works = true;
            let history = self.history(verdict.history(), verdict.sentence());
            return self.want(MapReduceEffect::Keep(folder, Box::new(history)));
        }
        ending.told = true;
        self.todo.push(Do::CloseOutput);
        self.tell(&verdict);
        self.todo.push(Do::Unregister {
            status: match verdict.state() {
                wire::FinalState::Succeeded => FinalApplicationStatus::Succeeded,
                wire::FinalState::Failed => FinalApplicationStatus::Failed,
                wire::FinalState::Killed => FinalApplicationStatus::Killed,
            },
            diagnostics: verdict.sentence(),
        });
    }

    fn tell(&mut self, verdict: &MapReduceVerdict) {
        let report = serde_json::to_string(&self.report()).unwrap_or_default();
        self.outbox.push_last(Some(ToClient::Verdict(wire::Verdict {
            exit_code: i32::from(verdict.code()),
            state: verdict.state().into(),
            sentence: verdict.sentence(),
            timing: Some(wire::Timing::default()),
            appmaster_memory: Some(wire::Memory::default()),
            tasks: report,
            ..wire::Verdict::default()
        })));
    }

    fn finished(&mut self, finished: Finished) {
        let taken = ToClient::Unregistered(wire::Unregistered {});
        self.outbox
            .push_last(finished.unregistered.then_some(taken));
        if let LifeState::Ending(ending) = &mut self.step {
            ending.farewell = true;
        }
    }
}
