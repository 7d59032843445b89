//! Brings this binary, the program and its libraries to where the nodes fetch them.
//!
//! # The life of one request
//!
//! [`stage`] finds the root ([`root`]): the folder that the user gave, or `.gerbil` in the home
//! folder of HDFS. While the first question travels to the NameNode, a thread finds and reads the
//! program ([`program`], [`elf`]), follows the libraries it needs ([`libraries`], [`search`],
//! [`rules`]) and hashes all of them ([`digest`]). Each of the three files, this binary, the program
//! and one archive of libraries ([`archive`]), has its SHA-256 as its name in `ROOT/cache`. What is
//! there is used as it is; what is not is uploaded under a temporary name and renamed ([`upload`]),
//! all at once. A run that uploaded something, or notes a use, also removes what was unused for a month
//! ([`collect`]).
//!
//! # Invariants
//!
//! - A name in the cache stands for whole and fitting contents, and its modification time never
//!   changes: YARN compares it, and running jobs know it.
//! - What somebody else may have put into the cache is not used: folder and files are the user's own, and
//!   nobody else may write to them. The launcher proves the digest of the program once more.
//! - What is old is decided by the file system's clock, never by this machine's ([`clock`]).
//! - The second run of a program reads no more than headers and asks HDFS one question a file.
//! - Every question to a file system ends within a stated time ([`storage`]).
//!
//! # Caveats
//!
//! Libraries that a program opens by itself while it runs are not seen, except those that
//! [`rules::providers`], [`intel`] and [`open_mpi`] know; an interpreter of an environment finds them there
//! ([`python`]). Whether a `file:` folder is mounted on the nodes cannot be seen from
//! here. Uploads broken off by a signal leave a file that is removed a day later. Names are looked up,
//! and `file:` folders used, on threads that a deadline leaves behind but cannot end: a process that
//! must end at once shuts its runtime down without waiting for them.

mod access;
pub mod archive;
pub mod clock;
pub mod collect;
#[cfg(test)]
mod crafted;
pub mod digest;
pub mod elf;
pub mod error;
pub mod in_place;
#[cfg(test)]
mod installed;
pub mod intel;
pub mod libraries;
pub mod link;
mod mount_table;
pub mod mpi;
pub mod open_mpi;
mod plan;
mod pmix;
pub mod program;
pub mod python;
pub mod root;
pub mod rules;
pub mod search;
pub mod upload;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use job::{Staged, history, recovered};
use storage::{Address, Readers, Status, Storage, StorageError};
use tokio::task::JoinSet;
use tokio::time::timeout;

pub use error::StageError;
pub use plan::digests_folder;
pub use pmix::{Libpmix, ProcessManager};

use plan::StagedItem;
use root::Root;
use upload::Cached;

/// Link name of the unpacked library archive in a container's working directory.
pub const LIBRARY_LINK: &str = "gerbil-lib";

/// Time to remove what is old, behind the uploads.
const COLLECTING: Duration = Duration::from_millis(500);
/// Time to remove what a failure left.
const CLEAN_UP: Duration = Duration::from_secs(3);

/// What is to be staged.
pub struct StagingRequest<'a> {
    /// The file that runs now.
    pub own_binary: PathBuf,
    /// It is staged too; else it is on the nodes already.
    pub stages_own: bool,
    /// The user's programs.
    pub programs: Vec<NamedProgram>,
    /// Files, then archives, that the user brings along.
    pub shipped: [Vec<Shipped>; 2],
    /// An environment of Python that comes as a whole.
    pub venv: Option<PathBuf>,
    /// Processes of the job.
    pub processes: u32,
    /// Take along the libraries that the programs need.
    pub ship_libraries: bool,
    /// Whether the programs run where they lie.
    pub place: in_place::ProgramPlace,
    /// By what their ranks find each other.
    pub manager: ProcessManager,
    /// The staging folder, as `--staging` gives it.
    pub root: Option<String>,
    /// Looks up a Hadoop setting, variables replaced.
    pub hadoop: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// Looks up an environment variable: `PATH`, `LD_LIBRARY_PATH`, `XDG_CACHE_HOME`, `HOME`.
    pub environment: &'a (dyn Fn(&str) -> Option<OsString> + Sync),
    /// Hadoop user that owns what is staged.
    pub user: String,
    /// Folder of the Hadoop settings.
    pub conf_dir: Option<PathBuf>,
    /// The nodes run as this user: nobody else is to read what is staged.
    pub nodes_are_ours: bool,
    /// Learns how far the uploads are.
    pub moved: Arc<Moved>,
}

/// A file here and its name in the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// The file.
    pub path: PathBuf,
    /// Its name there.
    pub name: String,
}

impl fmt::Debug for StagingRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StagingRequest")
            .field("programs", &self.programs)
            .field("root", &self.root)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// How far uploads are, bytes; what has to be sent again counts again.
#[derive(Debug, Default)]
pub struct Moved {
    /// On its way or there.
    pub done: AtomicU64,
    /// In all; 0 where nothing is uploaded, or it is not known yet.
    pub all: AtomicU64,
}

/// A program as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedProgram {
    /// A path, or a bare name to be searched.
    pub name: PathBuf,
    /// Folders in which a bare name is searched before those of `PATH`, in the same form.
    pub first_in: Option<OsString>,
}

/// A program in the working directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacedProgram {
    /// Its name there.
    pub link: String,
    /// Where on the nodes it is started, if that is not there.
    pub own_path: Option<String>,
    /// Where on the nodes it is started instead, if all have the same file.
    pub in_place: Option<job::InPlace>,
    /// The folder here of which it is a part, if what stays there may be missed.
    pub tree: Option<String>,
    /// The MPI library that it is linked to.
    pub mpi_library: Option<String>,
    /// The libpmix whose server its ranks want.
    pub pmix_library: Option<String>,
    /// What is known of it here.
    pub libpmix: Option<Libpmix>,
    /// Name of its folder of libraries there, if it has any: [`LIBRARY_LINK`] for the first that has.
    pub library_folder: Option<String>,
    /// SHA-256 of its contents, hexadecimal.
    pub digest: String,
    /// Variables that the libraries need, each the name and a path inside that folder, or of a program that runs
    /// where it lies an absolute one.
    pub library_variables: Vec<(String, String)>,
    /// Newest C library version that it and its libraries want, such as `2.34`, and the file that
    /// wants it.
    pub glibc_needed: Option<(String, String)>,
}

/// What was staged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedFiles {
    /// This binary if that was asked for, the programs, and the libraries if there are any.
    pub staged: Vec<Staged>,
    /// The programs, as they were asked for.
    pub programs: Vec<PlacedProgram>,
    /// Libraries that the nodes must have or that the job does without.
    pub left: Vec<libraries::LeftLibrary>,
    /// Bytes that had to be written; 0 when all was there.
    pub uploaded_bytes: u64,
    /// The staging folder, as YARN would name it.
    pub root_url: String,
    /// Its absolute path there.
    pub root_path: String,
    /// How the file system that it is on is reached.
    pub address: Address,
}

/// Stages what a job needs. Cancelled by dropping it.
///
/// # Errors
///
/// One sentence with the cause, the value and what to change; its [`StageError::exit`] is the exit
/// code.
pub async fn stage(request: StagingRequest<'_>) -> Result<StagedFiles, StageError> {
    let conf_dir = request
        .conf_dir
        .as_ref()
        .map(|folder| folder.display().to_string());
    let root = root::resolve(
        request.root.as_deref(),
        &request.user,
        request.hadoop,
        conf_dir.as_deref(),
    )?;
    let storage = Storage::open(&root.address)?;
    let cache = Cache::of(&root, request.nodes_are_ours);
    access::check(&storage, &root, &root.path, cache.readers).await?;
    stage_on(storage, &root, &cache, &request).await
}

/// Where staged files lie, and who reads them there.
#[derive(Clone, Debug)]
struct Cache {
    folder: String,
    readers: Readers,
}

impl Cache {
    /// In a folder of this machine, nodes of a cluster and those of the user alone do not share one: what these can
    /// read, those often cannot.
    fn of(root: &Root, nodes_are_ours: bool) -> Self {
        let (name, readers) = match nodes_are_ours && root.address == Address::Shared {
            true => ("own", Readers::Own),
            false => ("cache", Readers::Nodes),
        };
        Self {
            folder: format!("{}/{name}", root.path),
            readers,
        }
    }
}

async fn stage_on(
    storage: Storage,
    root: &Root,
    cache: &Cache,
    request: &StagingRequest<'_>,
) -> Result<StagedFiles, StageError> {
    let local = plan::Local::of(request);
    let mut planning = JoinSet::new();
    planning.spawn_blocking(move || plan::plan(&local));
    let planned = async {
        match planning.join_next().await {
            Some(Ok(plan)) => plan,
            Some(Err(_)) | None => Err(StageError::BrokenOff {
                doing: "reading local files",
            }),
        }
    };
    // The first question opens the connection while the files are read.
    let looked = async { Ok(storage.stat(&cache.folder).await?) };
    let (plan, folder) = tokio::try_join!(planned, looked)?;
    ours(&storage, &cache.folder, folder.as_ref())?;
    let storage = Arc::new(storage);
    let cached = place(&storage, root, cache, &plan.items, &request.moved).await?;
    let staged = plan.items.iter().filter_map(|item| {
        cached.get(&item.wanted.name).map(|cached| Staged {
            link: item.link.clone(),
            url: cached.url.clone(),
            size: cached.size,
            modified_ms: cached.modified_ms,
            kind: item.kind,
        })
    });
    let uploaded_bytes = cached.values().map(|cached| cached.uploaded).sum();
    Ok(StagedFiles {
        staged: staged.collect(),
        programs: plan.programs,
        left: plan.left,
        uploaded_bytes,
        root_url: storage.url(&root.path),
        root_path: root.path.clone(),
        address: root.address.clone(),
    })
}

/// Whether the cache is one into which nobody else could have put anything.
fn ours(storage: &Storage, cache: &str, folder: Option<&Status>) -> Result<(), StageError> {
    match folder.and_then(Status::doubt) {
        Some(why) => Err(StageError::NotOurs {
            url: storage.url(cache),
            why,
        }),
        None => Ok(()),
    }
}

/// Sees to it that the cache has every item: looks for all at once, then uploads what is missing, all
/// at once. Files are known by their names in the cache; two items may be one file.
async fn place(
    storage: &Arc<Storage>,
    root: &Root,
    cache: &Cache,
    items: &[StagedItem],
    moved: &Arc<Moved>,
) -> Result<BTreeMap<String, Cached>, StageError> {
    let now_ms = now_ms();
    let mut wanted: BTreeMap<_, _> = BTreeMap::new();
    for item in items {
        wanted.insert(item.wanted.name.clone(), item.wanted.clone());
    }
    let mut looking = JoinSet::new();
    for wanted in wanted.values() {
        let (storage, cache) = (Arc::clone(storage), cache.folder.clone());
        let (name, size) = (wanted.name.clone(), wanted.size);
        looking.spawn(async move {
            let found = upload::look(&storage, &cache, &name, size, now_ms).await;
            (name, found)
        });
    }
    let mut cached = BTreeMap::new();
    let mut to_mark = Vec::new();
    while let Some(looked) = looking.join_next().await {
        let (name, found) = looked.map_err(|_panicked| LOOKING)?;
        if let Some(found) = found? {
            wanted.remove(&name);
            to_mark.extend(found.mark);
            cached.insert(name, found.cached);
        }
    }
    let mut collecting = JoinSet::new();
    if !to_mark.is_empty()
        && let Some(at_ms) = clock::now_ms(storage, cache).await
    {
        for path in to_mark {
            storage.mark_used(&path, at_ms).await;
        }
        collecting.spawn(collect_all(Arc::clone(storage), root.path.clone(), at_ms));
    }
    if wanted.is_empty() {
        // Dropping the set stops it between two removals, and another run goes on.
        let _late = timeout(COLLECTING, collecting.join_next()).await.is_ok();
        return Ok(cached);
    }
    let sizes = wanted.values().map(|wanted| wanted.size);
    moved.all.store(sizes.sum(), Ordering::Relaxed);
    make_cache(storage, root, cache).await?;
    let folder = storage.stat(&cache.folder).await?;
    ours(storage, &cache.folder, folder.as_ref())?;
    let mut uploading = JoinSet::new();
    let mut temporaries = Vec::new();
    for (name, wanted) in wanted {
        let (storage, cache) = (Arc::clone(storage), cache.clone());
        let temporary = upload::temporary(&cache.folder, &name);
        temporaries.push(temporary.clone());
        let moved = Arc::clone(moved);
        uploading.spawn(async move {
            let brought = upload::bring(&storage, &cache, &temporary, wanted, &moved).await;
            (name, brought)
        });
    }
    while let Some(uploaded) = uploading.join_next().await {
        let failed = match uploaded {
            Ok((name, Ok(brought))) => {
                if collecting.is_empty() {
                    // The file system's time, for it was just written.
                    let now_ms = brought.modified_ms;
                    collecting.spawn(collect_all(Arc::clone(storage), root.path.clone(), now_ms));
                }
                cached.insert(name, brought);
                continue;
            }
            Ok((_, Err(failed))) => failed,
            Err(_panicked) => UPLOADING,
        };
        uploading.shutdown().await;
        remove(storage, temporaries).await;
        return Err(failed);
    }
    // Dropping the set stops it between two removals, and another run goes on.
    let _late = timeout(COLLECTING, collecting.join_next()).await.is_ok();
    Ok(cached)
}

/// Removes what is old of all that is kept in the folder `root`; `now_ms` is the file system's own time.
async fn collect_all(storage: Arc<Storage>, root: String, now_ms: i64) {
    for cache in ["cache", "own"] {
        collect::collect(&storage, &format!("{root}/{cache}"), now_ms).await;
    }
    collect::forget(&storage, &format!("{root}/{}", history::FOLDER), now_ms).await;
    collect::forget_records(&storage, &format!("{root}/{}", recovered::FOLDER), now_ms).await;
}

/// Makes the cache, as closed as the nodes' reading allows.
async fn make_cache(storage: &Storage, root: &Root, cache: &Cache) -> Result<(), StageError> {
    let made = async {
        // Where a superuser comes first, there may be no homes yet. What is above his is others' way to theirs.
        if let Some(home) = &root.home
            && let Some(homes) = home.rsplit_once('/').map(|(homes, _)| homes)
            && !homes.is_empty()
            && cache.folder.starts_with(&format!("{home}/"))
        {
            let made = storage.make_folder_for(homes, Readers::Everybody).await;
            // It is there, or its maker says better what is wrong.
            drop(made);
        }
        storage.make_folder_for(&cache.folder, cache.readers).await
    };
    let Err(error) = made.await else {
        return access::check(storage, root, &cache.folder, cache.readers).await;
    };
    let home = root.home.as_ref();
    if let StorageError::Permission { user, said, .. } = &error
        && let Some(home) = home.filter(|home| cache.folder.starts_with(&format!("{home}/")))
        && storage.stat(home).await?.is_none()
    {
        return Err(StageError::NoHome {
            user: user.clone(),
            home: home.clone(),
            said: said.clone(),
        });
    }
    Err(error.into())
}

/// Removes what broken-off uploads left: it would count against a quota until it is collected.
async fn remove(storage: &Arc<Storage>, paths: Vec<String>) {
    let mut removing = JoinSet::new();
    for path in paths {
        let storage = Arc::clone(storage);
        removing.spawn(async move { storage.remove(&path).await });
    }
    // The failure itself is what the user waits for. What stays is collected a day later.
    let all = async { while removing.join_next().await.is_some() {} };
    let _late = timeout(CLEAN_UP, all).await;
}

const LOOKING: StageError = StageError::BrokenOff {
    doing: "looking for staged files",
};
const UPLOADING: StageError = StageError::BrokenOff { doing: "uploading" };

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
