//! A job's results become its output, or nothing does.

use super::{Answer, Op, folder};

/// What the manifest says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Manifest {
    /// These files, `TASK/NAME` each, become the output.
    Commit(Vec<String>),
    /// The job has no output.
    GiveUp,
}

impl Manifest {
    /// A line a file; empty where the job is given up. Names of files hold no line ends.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Self::Commit(files) => files
                .iter()
                .fold("commit\n".to_owned(), |text, file| text + file + "\n"),
            Self::GiveUp => "give up\n".to_owned(),
        }
    }

    /// Back from its text.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        match lines.next()? {
            "commit" => Some(Self::Commit(lines.map(str::to_owned).collect())),
            "give up" => Some(Self::GiveUp),
            _ => None,
        }
    }
}

/// One ApplicationMaster's part in committing a job, or in giving it up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobCommit {
    job: String,
    /// Tells this ApplicationMaster's draft from another's.
    attempt: u32,
    tasks: Vec<String>,
    files: Vec<String>,
    wanted: Option<Manifest>,
    step: Step,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    ListTask(usize),
    Draft,
    Decide,
    /// `lost`: the answer of the rename was.
    ReadManifest {
        lost: bool,
    },
    Publish(usize),
    LookFor {
        file: usize,
        lost: bool,
    },
    MakeSuccess,
    PublishSuccess,
    LookForSuccess {
        lost: bool,
    },
    Disown(bool),
    Clear(bool),
    Tidy(bool),
    Over(JobVerdict),
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobVerdict {
    /// All output is there, and `_SUCCESS`.
    Committed,
    /// The job was given up; nothing of it is in the output folder.
    GivenUp,
    /// A result, or a file of the output, is gone by somebody else's hand.
    Missing(String),
    /// The manifest holds what no manifest of this job would.
    Unreadable,
}

impl JobCommit {
    /// Commits `job`, whose `tasks` all have a result. `attempt` numbers the ApplicationMaster.
    #[must_use]
    pub fn commit(job: &str, attempt: u32, tasks: &[String]) -> Self {
        let step = if tasks.is_empty() {
            Step::Draft
        } else {
            Step::ListTask(0)
        };
        Self {
            job: job.to_owned(),
            attempt,
            tasks: tasks.to_vec(),
            files: Vec::new(),
            wanted: tasks.is_empty().then(|| Manifest::Commit(Vec::new())),
            step,
        }
    }

    /// Gives `job` up, unless its manifest says that it is to be committed: then goes on with that.
    #[must_use]
    pub fn give_up(job: &str, attempt: u32) -> Self {
        Self {
            job: job.to_owned(),
            attempt,
            tasks: Vec::new(),
            files: Vec::new(),
            wanted: Some(Manifest::GiveUp),
            step: Step::Draft,
        }
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", folder(&self.job))
    }

    fn draft(&self) -> String {
        self.path(&format!(".manifest-{}", self.attempt))
    }

    /// The name of a file in the output folder: of `TASK/NAME` the `NAME`.
    fn target(file: &str) -> &str {
        file.split_once('/').map_or(file, |(_, name)| name)
    }

    fn file(&self, number: usize) -> &str {
        self.files.get(number).map_or("", String::as_str)
    }

    /// The call to make; none when it is over.
    #[must_use]
    pub fn next(&self) -> Option<Op> {
        Some(match &self.step {
            Step::ListTask(number) => {
                Op::List(self.path(self.tasks.get(*number).map_or("", String::as_str)))
            }
            Step::Draft => {
                let text = self
                    .wanted
                    .as_ref()
                    .map(Manifest::to_text)
                    .unwrap_or_default();
                Op::Create(self.draft(), text)
            }
            Step::Decide => Op::Rename(self.draft(), self.path(".manifest")),
            Step::ReadManifest { .. } => Op::Read(self.path(".manifest")),
            Step::Publish(number) => {
                let file = self.file(*number);
                Op::Rename(self.path(file), Self::target(file).to_owned())
            }
            Step::LookFor { file, .. } => Op::Look(Self::target(self.file(*file)).to_owned()),
            Step::MakeSuccess => Op::Create(self.path("_SUCCESS"), String::new()),
            Step::PublishSuccess => Op::Rename(self.path("_SUCCESS"), "_SUCCESS".to_owned()),
            Step::LookForSuccess { .. } => Op::Look("_SUCCESS".to_owned()),
            Step::Disown(_) => Op::Rename("_temporary/.owner".to_owned(), self.path(".owner")),
            Step::Clear(_) => Op::DeleteAll(folder(&self.job)),
            Step::Tidy(_) => Op::DeleteEmpty("_temporary".to_owned()),
            Step::Over(_) => return None,
        })
    }

    /// How it ended, once it has.
    #[must_use]
    pub fn verdict(&self) -> Option<&JobVerdict> {
        match &self.step {
            Step::Over(verdict) => Some(verdict),
            _ => None,
        }
    }

    /// What the call came to.
    pub fn answered(&mut self, answer: Answer) {
        use Answer::{Content, Done, Lost, Names, NotThere};
        let lost = answer == Lost;
        self.step = match (&self.step, answer) {
            // Asked again: looking changes nothing, a draft is this one's alone, what is there is there,
            // and what is gone is gone.
            (
                Step::ListTask(_)
                | Step::Draft
                | Step::ReadManifest { .. }
                | Step::LookFor { .. }
                | Step::LookForSuccess { .. }
                | Step::MakeSuccess
                | Step::Disown(_)
                | Step::Clear(_)
                | Step::Tidy(_),
                Lost,
            ) => return,
            (Step::ListTask(number), Names(names)) => self.listed(*number, names),
            // Another has moved the results on: the manifest says to what end.
            (Step::ListTask(_), _) => Step::ReadManifest { lost: false },
            (Step::Draft, NotThere) => Step::LookForSuccess { lost: false },
            (Step::Draft, _) => Step::Decide,
            (Step::Decide, _) => Step::ReadManifest { lost },
            (Step::ReadManifest { .. }, Content(text)) => self.decided(&text),
            (Step::ReadManifest { lost: true }, _) => Step::Decide,
            (Step::ReadManifest { lost: false }, _) => Step::LookForSuccess { lost: false },
            (Step::Publish(file), Done) => self.publish(file.saturating_add(1)),
            (Step::Publish(file), _) => Step::LookFor { file: *file, lost },
            (Step::LookFor { file, .. }, Done) => self.publish(file.saturating_add(1)),
            (Step::LookFor { file, lost: true }, _) => Step::Publish(*file),
            (Step::LookFor { file, .. }, _) => Step::Over(JobVerdict::Missing(
                Self::target(self.file(*file)).to_owned(),
            )),
            (Step::MakeSuccess, NotThere) => Step::LookForSuccess { lost: false },
            (Step::MakeSuccess, _) => Step::PublishSuccess,
            (Step::PublishSuccess, Done) => Step::Disown(true),
            (Step::PublishSuccess, _) => Step::LookForSuccess { lost },
            (Step::LookForSuccess { .. }, Done) => Step::Disown(true),
            (Step::LookForSuccess { lost: true }, _) => Step::PublishSuccess,
            // Without its folder and without success: given up, by whoever removed the folder.
            (Step::LookForSuccess { .. }, _) => Step::Tidy(false),
            (Step::Disown(ok), _) => Step::Clear(*ok),
            (Step::Clear(ok), _) => Step::Tidy(*ok),
            (Step::Tidy(true), _) => Step::Over(JobVerdict::Committed),
            (Step::Tidy(false), _) => Step::Over(JobVerdict::GivenUp),
            (step @ Step::Over(_), _) => step.clone(),
        };
    }

    fn listed(&mut self, number: usize, names: Vec<String>) -> Step {
        let task = self.tasks.get(number).cloned().unwrap_or_default();
        let files = names.into_iter().filter(|name| !name.starts_with('.'));
        self.files
            .extend(files.map(|name| format!("{task}/{name}")));
        let next = number.saturating_add(1);
        if next < self.tasks.len() {
            return Step::ListTask(next);
        }
        self.wanted = Some(Manifest::Commit(self.files.clone()));
        Step::Draft
    }

    fn decided(&mut self, text: &str) -> Step {
        match Manifest::from_text(text) {
            Some(Manifest::Commit(files)) => {
                self.files = files;
                self.publish(0)
            }
            Some(Manifest::GiveUp) => Step::Disown(false),
            None => Step::Over(JobVerdict::Unreadable),
        }
    }

    fn publish(&self, number: usize) -> Step {
        if number < self.files.len() {
            Step::Publish(number)
        } else {
            Step::MakeSuccess
        }
    }
}
