//! Where the files of a task are: on which of the job's file systems, and by which paths.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use job::wire::{OutputFolder, StartTask};
use policy::commit::{AttemptName, absolute, attempt_file, job_folder};
use storage::{Address, LocatedBlock, Storage};

/// So many are kept; tasks on further ones have clients of their own.
const KEPT: usize = 16;

/// The file systems of a container's jobs, each with one client for all tasks: what a NameNode tells a client once it
/// is not asked for each job.
#[derive(Debug, Default)]
pub(crate) struct Storages(Vec<(Address, Arc<Storage>)>);

impl Storages {
    fn of(&mut self, address: Address) -> Result<Arc<Storage>, String> {
        if let Some((_, storage)) = self.0.iter().find(|(of, _)| *of == address) {
            return Ok(Arc::clone(storage));
        }
        let opened = Storage::open(&address).map_err(|error| error.to_string())?;
        let storage = Arc::new(opened);
        if self.0.len() < KEPT {
            self.0.push((address, Arc::clone(&storage)));
        }
        Ok(storage)
    }
}

/// A file or folder.
#[derive(Clone, Debug)]
pub(super) struct TaskPath {
    pub(super) storage: Arc<Storage>,
    /// It is on a folder that is mounted here: the operating system opens it.
    pub(super) is_mounted: bool,
    /// Absolute.
    pub(super) path: String,
    /// Of input, as far as they are known.
    pub(super) blocks: Vec<LocatedBlock>,
    /// Of input, ms since 1970; 0: not known.
    pub(super) modified_ms: u64,
}

/// Where an attempt writes, and what becomes of that.
#[derive(Debug)]
pub(super) struct AttemptOutput {
    /// The job's output folder.
    pub(super) output: TaskPath,
    job: String,
    attempt: AttemptName,
    /// Paths of files that may be there.
    begun: Mutex<Vec<String>>,
    /// They are all there, and may be the task's result.
    is_whole: AtomicBool,
}

impl AttemptOutput {
    fn new(output: TaskPath, folder: OutputFolder) -> Result<Self, String> {
        let OutputFolder { job, attempt, .. } = folder;
        if !is_single(&job) {
            return Err(format!("{job:?} is no name of a job's folder"));
        }
        let attempt = AttemptName::parse(&attempt)
            .ok_or_else(|| format!("{attempt:?} is no name of an attempt"))?;
        Ok(Self {
            output,
            job,
            attempt,
            begun: Mutex::default(),
            is_whole: AtomicBool::new(false),
        })
    }

    /// The path of the job's own folder.
    pub(super) fn job_folder(&self) -> String {
        absolute(&self.output.path, &job_folder(&self.job))
    }

    /// Whether one of its files may be called so; the reason why not.
    pub(super) fn takes(&self, name: &str) -> Result<(), String> {
        match self.attempt.may_write(name) {
            true => Ok(()),
            false => Err(format!("{name:?} is no name of a file of {}", self.attempt)),
        }
    }

    /// The path of one of its files, which from now on may be there.
    pub(super) fn begin(&self, name: &str) -> String {
        let file = attempt_file(&self.job, self.attempt, name);
        let path = absolute(&self.output.path, &file);
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.push(path.clone());
        path
    }

    /// From now on all of them are there, and closed.
    pub(super) fn keep(&self) {
        self.is_whole.store(true, Ordering::Release);
    }

    /// Something may be there that is nobody's.
    pub(super) fn is_left(&self) -> bool {
        !self.is_whole.load(Ordering::Acquire) && !self.begun().is_empty()
    }

    /// Paths of files that may be there.
    pub(super) fn begun(&self) -> Vec<String> {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.clone()
    }
}

/// The files of one task.
#[derive(Debug)]
pub(super) struct TaskFiles {
    /// One for each piece of a map; none where those are no files.
    pub(super) inputs: Vec<TaskPath>,
    pub(super) output: Option<Arc<AttemptOutput>>,
}

impl TaskFiles {
    /// As the order tells.
    ///
    /// # Errors
    ///
    /// It makes no sense: a sentence.
    pub(super) fn of(order: &mut StartTask, storages: &mut Storages) -> Result<Self, String> {
        let mut opened = Vec::with_capacity(order.addresses.len());
        for address in &order.addresses {
            let address: Address = serde_json::from_str(address)
                .map_err(|error| format!("the address of a file system: {error}"))?;
            let is_mounted = address == Address::Shared;
            opened.push((storages.of(address)?, is_mounted));
        }
        let place = |address: u32, path: String| {
            let index = usize::try_from(address).unwrap_or(usize::MAX);
            let (storage, is_mounted) = (opened.get(index))
                .ok_or_else(|| format!("the order names no file system for {path}"))?;
            if !path.starts_with('/') {
                return Err(format!("{path:?} is no absolute path"));
            }
            Ok(TaskPath {
                storage: Arc::clone(storage),
                is_mounted: *is_mounted,
                path,
                blocks: Vec::new(),
                modified_ms: 0,
            })
        };
        let inputs = std::mem::take(&mut order.inputs).into_iter();
        let inputs = inputs.map(|file| {
            let blocks = file.blocks.into_iter().map(LocatedBlock::from).collect();
            place(file.address, file.path).map(|place| TaskPath {
                blocks,
                modified_ms: file.modified_ms,
                ..place
            })
        });
        let output = match order.output.take() {
            Some(mut folder) => {
                let path = std::mem::take(&mut folder.path);
                let at = place(folder.address, path)?;
                Some(Arc::new(AttemptOutput::new(at, folder)?))
            }
            None => None,
        };
        Ok(Self {
            inputs: inputs.collect::<Result<_, String>>()?,
            output,
        })
    }
}

/// A name that leads nowhere else.
fn is_single(name: &str) -> bool {
    !name.is_empty() && !name.contains('/') && !matches!(name, "." | "..")
}

#[cfg(test)]
mod tests {
    use gerbil_task::OutputOf;
    use job::wire::InputFile;
    use policy::commit::is_without_stage;

    use super::*;

    fn order() -> StartTask {
        StartTask {
            addresses: vec![serde_json::to_string(&Address::Shared).unwrap()],
            inputs: vec![InputFile {
                address: 0,
                path: "/in/a".to_owned(),
                blocks: Vec::new(),
                modified_ms: 0,
            }],
            output: Some(OutputFolder {
                address: 0,
                path: "/out/".to_owned(),
                job: "7".to_owned(),
                attempt: "attempt_m_000000_0".to_owned(),
            }),
            ..StartTask::default()
        }
    }

    #[test]
    fn a_file_system_is_opened_once_and_an_attempt_has_its_files() {
        let mut storages = Storages::default();
        let places = TaskFiles::of(&mut order(), &mut storages).unwrap();
        let again = TaskFiles::of(&mut order(), &mut storages).unwrap();
        assert!(Arc::ptr_eq(
            &places.inputs[0].storage,
            &again.inputs[0].storage
        ));
        assert!(places.inputs[0].is_mounted);
        let output = places.output.unwrap();
        assert_eq!(output.job_folder(), "/_out.temporary/7");
        assert!(!output.is_left());
        let path = output.begin("part-m-00000");
        assert_eq!(path, "/_out.temporary/7/written/part-m-00000");
        assert!(output.takes("part-m-00000").is_ok());
        let words = output.takes("part-m-00001").unwrap_err();
        assert!(
            words.contains("no name of a file of attempt_m_000000_0"),
            "{words}"
        );
        assert!(output.is_left());
        assert_eq!(output.begun(), [path]);
        output.keep();
        assert!(!output.is_left());
    }

    /// What a task may write and what becomes output are told by two crates of which neither knows the other.
    #[test]
    fn what_a_task_may_write_is_what_a_commit_takes() {
        let heads = ["", "part", "a-b", "-m-00001", "_x", ".x", "a/b"];
        let tags = ["-", "-m-", "-r-", ""];
        let tails = ["00001", "00002", "0001", "100001", "00001.gz", "00001x"];
        for (head, tag, tail) in heads.iter().flat_map(|head| {
            let all = tags.iter().flat_map(|tag| tails.map(|tail| (*tag, tail)));
            all.map(|(tag, tail)| (*head, tag, tail))
        }) {
            let name = format!("{head}{tag}{tail}");
            for (is_map, feeds_reduces) in [(true, false), (false, false), (true, true)] {
                let of = OutputOf {
                    is_map,
                    task: 1,
                    feeds_reduces,
                };
                let attempt = AttemptName {
                    is_map,
                    task: 1,
                    number: 0,
                };
                let taken = attempt.may_write(&name) && !(feeds_reduces && is_without_stage(&name));
                assert_eq!(of.check(&name).is_ok(), taken, "{name}, {of:?}");
            }
        }
    }

    #[test]
    fn an_order_that_makes_no_sense_is_refused_with_what_is_wrong() {
        let refused = |change: fn(&mut StartTask)| {
            let mut order = order();
            change(&mut order);
            TaskFiles::of(&mut order, &mut Storages::default()).unwrap_err()
        };
        let words = refused(|order| order.addresses = vec!["{".to_owned()]);
        assert!(words.contains("address of a file system"), "{words}");
        let words = refused(|order| order.inputs[0].address = 1);
        assert_eq!(words, "the order names no file system for /in/a");
        let words = refused(|order| order.inputs[0].path = "a".to_owned());
        assert_eq!(words, "\"a\" is no absolute path");
        for wrong in ["", ".", "..", "a/b"] {
            let mut order = order();
            order.output.as_mut().unwrap().job = wrong.to_owned();
            let words = TaskFiles::of(&mut order, &mut Storages::default()).unwrap_err();
            assert!(words.contains("no name of a job's folder"), "{words}");
        }
        let words = refused(|order| order.output.as_mut().unwrap().attempt = "a.b".to_owned());
        assert_eq!(words, "\"a.b\" is no name of an attempt");
    }
}
