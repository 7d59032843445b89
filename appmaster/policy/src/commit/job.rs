//! A job's results become its output, or nothing does.

use super::layout::{
    AttemptName, OUT, SUCCESS, WRITTEN, Writer, aside, chosen, chosen_by, job_folder, writer_of,
};
use super::leaving::Leaving;
use super::manifest::Manifest;
use super::moves::Moves;
use super::{CallAnswer, Op};

/// What an ApplicationMaster has heard of an attempt whose result counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskResult {
    /// The attempt.
    pub attempt: AttemptName,
    /// The names of its files; none: nobody has told them.
    pub names: Option<Vec<String>>,
}

/// One ApplicationMaster's part in committing a job, or in giving it up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobCommit {
    job: String,
    /// Tells this ApplicationMaster's choice from another's.
    attempt: u32,
    wanted: Wanted,
    /// Further attempts whose results count, of whose files the names are not known.
    unlisted: Vec<AttemptName>,
    /// Files of first attempts that have to be there.
    known: Vec<String>,
    /// The choice that is followed.
    manifest: Manifest,
    /// Below the job's folder, what becomes the output.
    at: String,
    step: JobStep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Wanted {
    /// What first attempts have written is the output as it is.
    All,
    /// Some of it is not, and the manifest names what comes in its place.
    Chosen,
    /// Nothing, unless the output is whole, or was chosen.
    Nothing,
}

/// Why it is looked how things stand.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Doubt {
    /// A call was lost, or came too late for another's.
    Unheard,
    /// Something has the output's name, that may be this output.
    Taken,
    /// A file is not there, unless all of it is elsewhere by now.
    Missing(String),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum JobStep {
    ListAttempts,
    Draft,
    /// What the draft says, where that is said by a name.
    Say(String),
    /// From here on nobody begins a file where the output comes together.
    Choose,
    Find(Doubt),
    ReadManifest,
    ListFiles,
    Move(Moves),
    MakeSuccess,
    Publish,
    /// Whether a commit has come so far that only the name is missing.
    LookWhole,
    Abandon,
    LookPublished,
    Leave(Leaving),
    Over(JobVerdict),
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobVerdict {
    /// All output is there, and `_SUCCESS`.
    Committed,
    /// The job was given up; nothing of it is there.
    GivenUp,
    /// A result is gone by somebody else's hand.
    Missing(String),
    /// Somebody else has put something where the output was to be. It is whole.
    Taken {
        /// Where the output is, a path as those of [`Op`].
        whole: String,
    },
    /// The manifest holds what no manifest of this job would.
    Unreadable,
}

impl JobCommit {
    /// Commits `job`. `attempt` numbers the ApplicationMaster; `results` are of each task that has written files, and of
    /// each whose first attempt's are not to count.
    #[must_use]
    pub fn commit(job: &str, attempt: u32, results: &[TaskResult]) -> Self {
        let (mut known, mut unlisted) = (Vec::new(), Vec::new());
        let mut manifest = Manifest::default();
        for TaskResult { attempt, names } in results {
            match (attempt.number, names) {
                (0, names) => known.extend(names.iter().flatten().cloned()),
                (_, Some(names)) => manifest.0.push((*attempt, names.clone())),
                (_, None) => unlisted.push(*attempt),
            }
        }
        let (wanted, step) = match (unlisted.is_empty(), manifest.0.is_empty()) {
            (true, true) => (Wanted::All, JobStep::ListFiles),
            (true, false) => (Wanted::Chosen, JobStep::Draft),
            (false, _) => (Wanted::Chosen, JobStep::ListAttempts),
        };
        Self {
            job: job.to_owned(),
            attempt,
            wanted,
            unlisted,
            known,
            manifest,
            at: WRITTEN.to_owned(),
            step,
        }
    }

    /// Gives `job` up, unless another has chosen its output, or made it whole: then goes on with that.
    #[must_use]
    pub fn give_up(job: &str, attempt: u32) -> Self {
        Self {
            job: job.to_owned(),
            attempt,
            wanted: Wanted::Nothing,
            unlisted: Vec::new(),
            known: Vec::new(),
            manifest: Manifest::default(),
            at: WRITTEN.to_owned(),
            step: JobStep::Find(Doubt::Unheard),
        }
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", job_folder(&self.job))
    }

    /// Where the output comes together.
    fn folder(&self) -> String {
        self.path(&self.at)
    }

    fn manifest_of(&self, attempt: u32) -> String {
        self.path(&format!(".manifest-{attempt}"))
    }

    /// Numbers of the calls that may be under way at once, each as a [`call`](Self::call), in the order in which they
    /// are to begin; none when it is over. A number stands for one call after the other until it is no longer named.
    #[must_use]
    pub fn open(&self) -> Vec<usize> {
        match &self.step {
            JobStep::Move(moves) => moves.open(),
            JobStep::Over(_) => Vec::new(),
            _ => vec![0],
        }
    }

    /// The call to make, where they are made one after the other; none when it is over.
    #[must_use]
    pub fn next(&self) -> Option<Op> {
        self.call(self.first())
    }

    fn first(&self) -> usize {
        self.open().first().copied().unwrap_or(0)
    }

    /// The call that `number` of [`open`](Self::open) stands for.
    #[must_use]
    pub fn call(&self, number: usize) -> Option<Op> {
        let job = job_folder(&self.job);
        Some(match &self.step {
            JobStep::ListAttempts | JobStep::Find(_) => Op::List(job),
            JobStep::Draft => {
                let draft = self.manifest_of(self.attempt);
                match self.manifest.to_name() {
                    Some(_) => Op::MakeFolder(draft),
                    None => Op::Create(draft, self.manifest.to_text()),
                }
            }
            JobStep::Say(name) => {
                Op::MakeFolder(format!("{}/{name}", self.manifest_of(self.attempt)))
            }
            JobStep::Choose => Op::Rename(self.path(WRITTEN), self.path(&chosen(self.attempt))),
            JobStep::ReadManifest => {
                Op::Read(self.manifest_of(chosen_by(&self.at).unwrap_or_default()))
            }
            JobStep::ListFiles => Op::List(self.folder()),
            JobStep::Move(moves) => return moves.call(number, &job, &self.folder()),
            JobStep::MakeSuccess => {
                Op::Create(format!("{}/_SUCCESS", self.folder()), String::new())
            }
            JobStep::Publish => Op::Rename(self.folder(), OUT.to_owned()),
            JobStep::LookWhole => Op::Look(format!("{}/_SUCCESS", self.path(WRITTEN))),
            JobStep::Abandon => Op::Rename(job, aside(&self.job)),
            JobStep::LookPublished => Op::Look(SUCCESS.to_owned()),
            JobStep::Leave(leaving) => return leaving.next(&self.job),
            JobStep::Over(_) => return None,
        })
    }

    /// How it ended, once it has.
    #[must_use]
    pub fn verdict(&self) -> Option<&JobVerdict> {
        match &self.step {
            JobStep::Over(verdict) => Some(verdict),
            _ => None,
        }
    }

    /// What the call of [`next`](Self::next) came to.
    pub fn answered(&mut self, answer: CallAnswer) {
        self.answered_to(self.first(), answer);
    }

    /// What the call of `number` came to.
    pub fn answered_to(&mut self, number: usize, answer: CallAnswer) {
        use CallAnswer::{Content, Done, Exists, Lost, Names, NotThere};
        let unheard = JobStep::Find(Doubt::Unheard);
        let step = std::mem::replace(&mut self.step, unheard.clone());
        self.step = match (step, answer) {
            (JobStep::Move(mut moves), answer) => {
                moves.answered(number, answer);
                moved(moves)
            }
            (JobStep::Leave(mut leaving), answer) => {
                leaving.answered(answer);
                match (leaving.is_over(), leaving.is_published()) {
                    (false, _) => JobStep::Leave(leaving),
                    (true, true) => JobStep::Over(JobVerdict::Committed),
                    (true, false) => JobStep::Over(JobVerdict::GivenUp),
                }
            }
            (JobStep::Choose, Done) => {
                self.at = chosen(self.attempt);
                JobStep::ListFiles
            }
            (JobStep::Publish, Done) => JobStep::Leave(Leaving::published()),
            // By whom it was, and whether it was.
            (JobStep::Choose, _) | (JobStep::Publish, Lost | NotThere) => unheard,
            // Asked again: looking changes nothing, a draft is this one's alone, what is there is there, and what is gone
            // is gone.
            (step, Lost) => step,
            (JobStep::ListAttempts, Names(names)) => {
                self.listed(&names);
                JobStep::Draft
            }
            (JobStep::Draft, Done | Exists) => match self.manifest.to_name() {
                Some(name) => JobStep::Say(name),
                None => JobStep::Choose,
            },
            (JobStep::Say(_), Done | Exists) => JobStep::Choose,
            (JobStep::Find(doubt), Names(names)) => self.found(doubt, &names),
            (JobStep::Find(_), _) => JobStep::Abandon,
            (JobStep::ReadManifest, Content(text)) => match Manifest::from_text(&text) {
                Some(manifest) => {
                    self.manifest = manifest;
                    JobStep::ListFiles
                }
                None => JobStep::Over(JobVerdict::Unreadable),
            },
            (JobStep::ReadManifest, _) => JobStep::Find(Doubt::Missing(".manifest".to_owned())),
            (JobStep::ListFiles, Names(names)) => self.files(&names),
            (JobStep::MakeSuccess, Done | Exists) => JobStep::Publish,
            (JobStep::Publish, Exists) => JobStep::Find(Doubt::Taken),
            (JobStep::LookWhole, Done) => JobStep::Publish,
            (JobStep::LookWhole, _) => JobStep::Abandon,
            (JobStep::Abandon, _) => JobStep::LookPublished,
            (JobStep::LookPublished, answer) => JobStep::Leave(Leaving::put_aside(answer == Done)),
            // The job's folder is gone, or what was in it.
            (
                JobStep::ListAttempts
                | JobStep::Draft
                | JobStep::Say(_)
                | JobStep::ListFiles
                | JobStep::MakeSuccess
                | JobStep::Publish,
                _,
            ) => unheard,
            (step @ JobStep::Over(_), _) => step,
        };
    }

    /// What attempts have written of which that was not known.
    fn listed(&mut self, names: &[String]) {
        for attempt in &self.unlisted {
            let prefix = format!("{attempt}.");
            let of_it = names.iter().filter_map(|name| name.strip_prefix(&prefix));
            let of_it = of_it.map(str::to_owned).collect();
            self.manifest.0.push((*attempt, of_it));
        }
        self.unlisted.clear();
    }

    /// What is in the job's folder says how things stand.
    fn found(&mut self, doubt: Doubt, names: &[String]) -> JobStep {
        let chosen = names.iter().find(|name| chosen_by(name).is_some());
        let is_written = names.iter().any(|name| name == WRITTEN);
        let stands = match (chosen, is_written) {
            (Some(chosen), _) => chosen.as_str(),
            (None, true) => WRITTEN,
            // It has the output's name; or there was nothing.
            (None, false) => return JobStep::Abandon,
        };
        if stands == self.at {
            match doubt {
                Doubt::Taken => {
                    let whole = self.folder();
                    return JobStep::Over(JobVerdict::Taken { whole });
                }
                Doubt::Missing(file) => return JobStep::Over(JobVerdict::Missing(file)),
                Doubt::Unheard => {}
            }
        }
        let was_at = std::mem::replace(&mut self.at, stands.to_owned());
        match (chosen_by(stands), self.wanted) {
            (Some(by), Wanted::Chosen) if by == self.attempt => JobStep::ListFiles,
            (Some(_), _) if was_at == stands => JobStep::ListFiles,
            (Some(_), _) => JobStep::ReadManifest,
            (None, Wanted::All) => JobStep::ListFiles,
            (None, Wanted::Chosen) if self.unlisted.is_empty() => JobStep::Draft,
            (None, Wanted::Chosen) => JobStep::ListAttempts,
            (None, Wanted::Nothing) => JobStep::LookWhole,
        }
    }

    /// What is there of the output.
    fn files(&self, names: &[String]) -> JobStep {
        let (tasks, files) = (self.manifest.tasks(), self.manifest.files());
        let is_other = |task: (bool, u32)| tasks.binary_search(&task).is_ok();
        let of_others = |name: &str| match writer_of(name) {
            Some(Writer::Task(is_map, task)) => is_other((is_map, task)),
            Some(Writer::Number(task)) => {
                is_other((false, task)) || self.manifest.maps_write_output(task)
            }
            None => false,
        };
        let mut known = self.known.iter().filter(|name| !of_others(name));
        let there = sorted(names.iter());
        if let Some(missing) = known.find(|name| !has(&there, name)) {
            return JobStep::Find(Doubt::Missing(missing.clone()));
        }
        let ours = sorted(files.iter().map(|(_, name)| name));
        let leftovers = names
            .iter()
            .filter(|name| of_others(name) && !has(&ours, name));
        let leftovers = leftovers.cloned().collect();
        moved(Moves::new(leftovers, files))
    }
}

fn sorted<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.map(String::as_str).collect();
    names.sort_unstable();
    names
}

fn has(sorted: &[&str], name: &str) -> bool {
    sorted.binary_search(&name).is_ok()
}

/// What comes when these are on their way: they, until each is known to be in its place or nowhere.
fn moved(moves: Moves) -> JobStep {
    match moves.missing() {
        _ if !moves.is_over() => JobStep::Move(moves),
        Some(file) => JobStep::Find(Doubt::Missing(file.to_owned())),
        None => JobStep::MakeSuccess,
    }
}
