//! A job's results become its output, or nothing does.

use std::collections::BTreeMap;

use super::{ATTEMPTS, CallAnswer, Op, below_job, job_folder};

/// Most files that are on their way to their places at once: a rename waits for a NameNode's log or a disk, and
/// neither waits for one at a time.
pub const AT_ONCE: usize = 64;

/// Most bytes of a name: HDFS and the file systems of Linux give 255.
const NAME: usize = 240;

/// What the manifest says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Manifest {
    /// These files, `ATTEMPT/NAME` each, become the output.
    Commit(Vec<String>),
    /// The job has no output.
    GiveUp,
}

impl Manifest {
    /// A line a file, behind a first one that says what it is. Nothing where the job is given up: what needs no block is
    /// made where there is no room for one, too. Names of files hold no line ends.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Self::Commit(files) => files
                .iter()
                .fold("commit\n".to_owned(), |text, file| text + file + "\n"),
            Self::GiveUp => String::new(),
        }
    }

    /// Its text as the name of a folder, if it is short enough for one and holds nothing that a name may not. Files that
    /// are called as usual are called by two numbers in it.
    fn to_name(&self) -> Option<String> {
        let text = match self {
            Self::Commit(files) => {
                let short = |file: &String| shortened(file).unwrap_or_else(|| file.clone());
                Self::Commit(files.iter().map(short).collect()).to_text()
            }
            Self::GiveUp => String::new(),
        };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./\n".contains(&byte);
        let fits = text.len() <= NAME && text.bytes().all(plain);
        fits.then(|| text.replace('/', "+").replace('\n', ","))
    }

    /// The name of a file in the output folder: of `ATTEMPT/NAME` the `NAME`.
    pub(super) fn target(file: &str) -> &str {
        file.split_once('/').map_or(file, |(_, name)| name)
    }

    /// Where its attempt has written it, below the job's folder.
    pub(super) fn source(file: &str) -> String {
        file.split_once('/').map_or_else(
            || file.to_owned(),
            |(attempt, name)| below_job(attempt, name),
        )
    }

    /// Back from its text, or from that as a name.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let as_text = match text.contains('\n') {
            true => text.to_owned(),
            false => text.replace('+', "/").replace(',', "\n"),
        };
        let mut lines = as_text.lines();
        match lines.next() {
            Some("commit") => {
                let long = |line: &str| lengthened(line).unwrap_or_else(|| line.to_owned());
                Some(Self::Commit(lines.map(long).collect()))
            }
            Some(_) => None,
            None => Some(Self::GiveUp),
        }
    }
}

/// What stands in a name for `attempt_r_000007_1/part-r-00007`: `r7.1`. None: a file that is called otherwise.
fn shortened(file: &str) -> Option<String> {
    let attempt = file.strip_prefix("attempt_")?.split('/').next()?;
    let mut parts = attempt.split('_');
    let stage = parts.next()?;
    let [task, number] = [parts.next()?, parts.next()?].map(str::parse::<u32>);
    let short = format!("{stage}{}.{}", task.ok()?, number.ok()?);
    (lengthened(&short).as_deref() == Some(file)).then_some(short)
}

/// The file that is meant.
fn lengthened(short: &str) -> Option<String> {
    let stage = short.get(..1).filter(|stage| matches!(*stage, "m" | "r"))?;
    let (task, number) = short.get(1..)?.split_once('.')?;
    let [task, number] = [task, number].map(str::parse::<u32>);
    let (task, number) = (task.ok()?, number.ok()?);
    Some(format!(
        "attempt_{stage}_{task:06}_{number}/part-{stage}-{task:05}"
    ))
}

/// One ApplicationMaster's part in committing a job, or in giving it up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobCommit {
    job: String,
    /// Tells this ApplicationMaster's draft from another's.
    attempt: u32,
    /// Attempts whose files are not known.
    unlisted: Vec<String>,
    files: Vec<String>,
    wanted: Option<Manifest>,
    step: JobStep,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum JobStep {
    ListAttempts,
    Draft,
    /// What the draft says, where that is said by a name.
    Say(String),
    Decide,
    /// `lost`: the answer of the rename was.
    ReadManifest {
        lost: bool,
    },
    Publish(Publishing),
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

/// Files on their way to their places, begun in the order of the manifest.
#[derive(Clone, Default, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Publishing {
    /// Files before this one have been begun.
    begun: usize,
    /// Those of them whose place is not known yet, [`AT_ONCE`] at most.
    open: BTreeMap<usize, Move>,
    /// The first of the manifest that was found nowhere: no further one is begun.
    missing: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Move {
    Rename,
    LookFor { lost: bool },
}

impl Publishing {
    /// Begins as many as may be of `files`.
    fn fill(&mut self, files: usize) {
        while self.missing.is_none() && self.begun < files && self.open.len() < AT_ONCE {
            self.open.insert(self.begun, Move::Rename);
            self.begun = self.begun.saturating_add(1);
        }
    }

    /// What the call of `file` came to.
    fn hear(&mut self, file: usize, answer: CallAnswer) {
        let lost = answer == CallAnswer::Lost;
        let Some(open) = self.open.get_mut(&file) else {
            return;
        };
        match (&open, answer) {
            (_, CallAnswer::Done) => {
                self.open.remove(&file);
            }
            (Move::Rename, _) => *open = Move::LookFor { lost },
            // Asked again.
            (Move::LookFor { .. }, CallAnswer::Lost) => {}
            (Move::LookFor { lost: true }, _) => *open = Move::Rename,
            (Move::LookFor { lost: false }, _) => {
                self.open.remove(&file);
                self.missing = Some(self.missing.map_or(file, |first| first.min(file)));
            }
        }
    }
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
    /// Commits `job`. `attempt` numbers the ApplicationMaster; `unlisted` are attempts that have ended well, of whose
    /// files the names are not known.
    #[must_use]
    pub fn commit(job: &str, attempt: u32, unlisted: &[String]) -> Self {
        let step = match unlisted {
            [] => JobStep::Draft,
            _ => JobStep::ListAttempts,
        };
        Self {
            job: job.to_owned(),
            attempt,
            unlisted: unlisted.to_vec(),
            files: Vec::new(),
            wanted: unlisted.is_empty().then(|| Manifest::Commit(Vec::new())),
            step,
        }
    }

    /// These files of other attempts that have ended well become output too, `ATTEMPT/NAME` each.
    #[must_use]
    pub fn knowing(mut self, files: Vec<String>) -> Self {
        self.files = files;
        if self.unlisted.is_empty() {
            self.wanted = Some(Manifest::Commit(self.files.clone()));
        }
        self
    }

    /// Gives `job` up, unless its manifest says that it is to be committed: then goes on with that.
    #[must_use]
    pub fn give_up(job: &str, attempt: u32) -> Self {
        Self {
            job: job.to_owned(),
            attempt,
            unlisted: Vec::new(),
            files: Vec::new(),
            wanted: Some(Manifest::GiveUp),
            step: JobStep::Draft,
        }
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", job_folder(&self.job))
    }

    fn draft(&self) -> String {
        self.path(&format!(".manifest-{}", self.attempt))
    }

    fn file(&self, number: usize) -> &str {
        self.files.get(number).map_or("", String::as_str)
    }

    /// Numbers of the calls that may be under way at once, each as a [`call`](Self::call), in the order in which they
    /// are to begin; none when it is over. A number stands for one call after the other until it is no longer named.
    #[must_use]
    pub fn open(&self) -> Vec<usize> {
        match &self.step {
            JobStep::Publish(files) => files.open.keys().copied().collect(),
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
        match &self.step {
            JobStep::Publish(files) => files.open.keys().next().copied().unwrap_or(0),
            _ => 0,
        }
    }

    /// The call that `number` of [`open`](Self::open) stands for.
    #[must_use]
    pub fn call(&self, number: usize) -> Option<Op> {
        Some(match &self.step {
            JobStep::ListAttempts => Op::List(self.path(ATTEMPTS)),
            JobStep::Draft => match &self.wanted {
                Some(wanted) if wanted.to_name().is_none() => {
                    Op::Create(self.draft(), wanted.to_text())
                }
                _ => Op::MakeFolder(self.draft()),
            },
            JobStep::Say(name) => Op::MakeFolder(format!("{}/{name}", self.draft())),
            JobStep::Decide => Op::Rename(self.draft(), self.path(".manifest")),
            JobStep::ReadManifest { .. } => Op::Read(self.path(".manifest")),
            JobStep::Publish(files) => {
                let file = self.file(number);
                let target = Manifest::target(file).to_owned();
                match files.open.get(&number)? {
                    Move::Rename => Op::Rename(self.path(&Manifest::source(file)), target),
                    Move::LookFor { .. } => Op::Look(target),
                }
            }
            JobStep::MakeSuccess => Op::Create(self.path("_SUCCESS"), String::new()),
            JobStep::PublishSuccess => Op::Rename(self.path("_SUCCESS"), "_SUCCESS".to_owned()),
            JobStep::LookForSuccess { .. } => Op::Look("_SUCCESS".to_owned()),
            JobStep::Disown(_) => Op::Rename("_temporary/.owner".to_owned(), self.path(".owner")),
            JobStep::Clear(_) => Op::DeleteAll(job_folder(&self.job)),
            JobStep::Tidy(_) => Op::DeleteEmpty("_temporary".to_owned()),
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
        use CallAnswer::{Content, Done, Lost, Names, NotThere};
        let lost = answer == Lost;
        if let JobStep::Publish(files) = &mut self.step {
            let mut files = std::mem::take(files);
            files.hear(number, answer);
            files.fill(self.files.len());
            self.step = self.published(files);
            return;
        }
        self.step = match (&self.step, answer) {
            // Asked again: looking changes nothing, a draft is this one's alone, what is there is there,
            // and what is gone is gone.
            (
                JobStep::ListAttempts
                | JobStep::Draft
                | JobStep::Say(_)
                | JobStep::ReadManifest { .. }
                | JobStep::LookForSuccess { .. }
                | JobStep::MakeSuccess
                | JobStep::Disown(_)
                | JobStep::Clear(_)
                | JobStep::Tidy(_),
                Lost,
            ) => return,
            (JobStep::ListAttempts, Names(names)) => self.listed(&names),
            // Another has moved the results on: the manifest says to what end.
            (JobStep::ListAttempts, _) => JobStep::ReadManifest { lost: false },
            (JobStep::Draft | JobStep::Say(_), NotThere) => JobStep::LookForSuccess { lost: false },
            (JobStep::Draft, _) => match self.wanted.as_ref().and_then(Manifest::to_name) {
                Some(name) if !name.is_empty() => JobStep::Say(name),
                _ => JobStep::Decide,
            },
            (JobStep::Say(_), _) => JobStep::Decide,
            // This one's own draft. A giving up reads: its draft may be what a commit has left that was refused.
            (JobStep::Decide, Done) if matches!(self.wanted, Some(Manifest::Commit(_))) => {
                let text = self.wanted.as_ref().map(Manifest::to_text);
                self.decided(&text.unwrap_or_default())
            }
            (JobStep::Decide, _) => JobStep::ReadManifest { lost },
            (JobStep::ReadManifest { .. }, Content(text)) => self.decided(&text),
            (JobStep::ReadManifest { lost: true }, _) => JobStep::Decide,
            (JobStep::ReadManifest { lost: false }, _) => JobStep::LookForSuccess { lost: false },
            (JobStep::MakeSuccess, NotThere) => JobStep::LookForSuccess { lost: false },
            (JobStep::MakeSuccess, _) => JobStep::PublishSuccess,
            (JobStep::PublishSuccess, Done) => JobStep::Disown(true),
            (JobStep::PublishSuccess, _) => JobStep::LookForSuccess { lost },
            (JobStep::LookForSuccess { .. }, Done) => JobStep::Disown(true),
            (JobStep::LookForSuccess { lost: true }, _) => JobStep::PublishSuccess,
            // Without its folder and without success: given up, by whoever removed the folder.
            (JobStep::LookForSuccess { .. }, _) => JobStep::Tidy(false),
            (JobStep::Disown(ok), _) => JobStep::Clear(*ok),
            (JobStep::Clear(ok), _) => JobStep::Tidy(*ok),
            (JobStep::Tidy(true), _) => JobStep::Over(JobVerdict::Committed),
            (JobStep::Tidy(false), _) => JobStep::Over(JobVerdict::GivenUp),
            (step @ (JobStep::Publish(_) | JobStep::Over(_)), _) => step.clone(),
        };
    }

    fn listed(&mut self, names: &[String]) -> JobStep {
        for attempt in &self.unlisted {
            let of_it = |name: &String| {
                let (of, name) = name.split_once('.')?;
                (of == attempt).then(|| format!("{attempt}/{name}"))
            };
            self.files.extend(names.iter().filter_map(of_it));
        }
        self.wanted = Some(Manifest::Commit(self.files.clone()));
        JobStep::Draft
    }

    fn decided(&mut self, text: &str) -> JobStep {
        match Manifest::from_text(text) {
            Some(Manifest::Commit(files)) => {
                self.files = files;
                let mut files = Publishing::default();
                files.fill(self.files.len());
                self.published(files)
            }
            Some(Manifest::GiveUp) => JobStep::Disown(false),
            None => JobStep::Over(JobVerdict::Unreadable),
        }
    }

    /// What comes when `files` are on their way: they, until each is known to be in its place or nowhere.
    fn published(&self, files: Publishing) -> JobStep {
        match files.missing {
            _ if !files.open.is_empty() => JobStep::Publish(files),
            Some(file) => JobStep::Over(JobVerdict::Missing(
                Manifest::target(self.file(file)).to_owned(),
            )),
            None => JobStep::MakeSuccess,
        }
    }
}
