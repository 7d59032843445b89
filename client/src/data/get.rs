//! `--get`: results that come to lie on this machine.
//!
//! The job makes them as it makes all results, whole or not at all, in a folder of the staging folder
//! that is this run's alone. When it has succeeded they are copied beside their destinations, and when
//! all are there each gets its name. What cannot be brought stays where it is, and it is said where.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use job::StageOut;
use nix::unistd::{AccessFlags, access};
use storage::{Address, Status, Storage, StorageError};
use tokio::time::timeout;

use super::{DataError, Located, PERCENT, kept, stage_out};

/// Files that may come home: more are better packed.
const FILES_MAX: usize = 100_000;
/// What a run that was killed has left is removed by a later one after so long, ms.
const KEPT_MS: i64 = 7 * 24 * 3600 * 1000;
/// Runs that have left something, as far as one look goes.
const RUNS_MAX: usize = 1000;
/// Of a job that has failed: it makes no results.
pub(crate) const NOTHING: &str =
    "--get brings nothing, since a job that does not succeed keeps no results";
/// For what nobody waits for.
const TIDY: Duration = Duration::from_secs(10);

/// One result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fetched {
    /// The folder in which the job makes it.
    from: Located,
    /// The folder here.
    to: PathBuf,
    /// Its name there, where that is one for all nodes.
    name: Option<String>,
}

/// The folder of all that this run has to bring home, below the staging folder.
pub(super) fn of_this_run(staging: &Located) -> Located {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let since = since.unwrap_or_default().as_nanos();
    Located {
        address: staging.address.clone(),
        path: format!("{}/get/{since}-{}", staging.path, std::process::id()),
    }
}

/// The result `name` of the containers, which is to become `path` here: how the job is to make it, and
/// how it comes home. `index` is its place among those of this run, whose folder is `run`.
pub(super) fn plan(
    name: &str,
    path: &str,
    index: usize,
    run: &Located,
) -> Result<(StageOut, Fetched), DataError> {
    let given = path;
    let usage = |why: &str| DataError::BadGet {
        name: name.to_owned(),
        path: given.to_owned(),
        why: why.to_owned(),
    };
    let own = name.rsplit('/').next().unwrap_or(name);
    let path = match path {
        "." | ".." => format!("{path}/{own}"),
        folder if folder.ends_with('/') => format!("{folder}{own}"),
        path => path.to_owned(),
    };
    let (folder, last) = path.rsplit_once('/').unwrap_or((".", path.as_str()));
    if folder.contains('%') {
        return Err(usage("%h and %p can stand in the last part alone"));
    }
    if run.path.contains('%') {
        // It would be taken for %h or %p.
        return Err(usage(&format!(
            "the staging folder {} has a % in its name; name another with --staging, or with --local set TMPDIR",
            run.path
        )));
    }
    // As a name of Hadoop's.
    if matches!(last, "" | "." | "..") || last.contains([':', '#', '?', '\\']) {
        return Err(usage(
            "a result cannot have that name: it is empty, . or .., or has one of : # ? \\",
        ));
    }
    let folder = if folder.is_empty() { "/" } else { folder };
    let here = std::path::absolute(folder).map_err(|error| usage(&error.to_string()))?;
    let from = Located {
        address: run.address.clone(),
        path: format!("{}/{index}", run.path),
    };
    let made = Located {
        address: from.address.clone(),
        path: format!("{}/{}", from.path, last.replace('%', PERCENT)),
    };
    let out = stage_out::pattern(name, made)?;
    let home = Fetched {
        from,
        to: here,
        name: (!last.contains('%')).then(|| last.to_owned()),
    };
    Ok((out, home))
}

/// Whether what is to come home could lie there, as far as that is known before the job has run.
///
/// # Errors
/// A folder that is not there or may not be written to, or one that is in the way.
pub(crate) async fn check(all: &[Fetched]) -> Result<(), DataError> {
    for Fetched { to, .. } in all {
        if !to.is_dir() {
            return Err(DataError::NoFolder { folder: to.clone() });
        }
        if access(to, AccessFlags::W_OK).is_err() {
            return Err(DataError::NotWritable { folder: to.clone() });
        }
    }
    for Fetched { to, name, .. } in all {
        if let Some(folder) = name.as_ref().map(|name| to.join(name))
            && folder.is_dir()
        {
            return Err(DataError::InTheWay { folder });
        }
    }
    if let Some(home) = all.first() {
        // Nobody's job waits for the tidying up after others.
        let _in_time = timeout(TIDY, tidy(home)).await.is_ok();
    }
    Ok(())
}

/// Removes what runs that were killed have left long ago; "now" is what the file system says.
async fn tidy(home: &Fetched) {
    let run = storage::parent(&home.from.path);
    let root = storage::parent(run);
    let Ok(storage) = Storage::open(&home.from.address) else {
        return;
    };
    if storage.make_folder(&home.from.path).await.is_err() {
        return;
    }
    let Ok(Some(own)) = storage.stat(run).await else {
        return;
    };
    for other in storage.list(root, RUNS_MAX).await.unwrap_or_default() {
        if other.modified_ms.saturating_add(KEPT_MS) < own.modified_ms {
            let _removed = storage.remove(&other.path).await.is_ok();
        }
    }
}

/// Brings all results of a job that has succeeded. Where that is broken off, no half of one is left here. What they
/// were copied from is left to [`forget`].
///
/// # Errors
/// One could not be brought, and none has its name unless it is said; where they lie.
pub(crate) async fn bring(all: &[Fetched]) -> Result<(), DataError> {
    let mut ready = Halves::default();
    for home in all {
        let taken = take(home, &mut ready).await;
        if let Err(why) = taken {
            return Err(left(all, why));
        }
    }
    while let Some((half, name)) = ready.0.first() {
        if let Err(error) = storage::give_name(half, name).await {
            let why = format!("{}: {error}", name.display());
            return Err(left(all, why));
        }
        ready.0.remove(0);
    }
    Ok(())
}

/// Copies here that are to get their names, with these; removed where they do not.
#[derive(Debug, Default)]
struct Halves(Vec<(PathBuf, PathBuf)>);

impl Drop for Halves {
    fn drop(&mut self) {
        for (half, _) in &self.0 {
            remove_here(half);
        }
    }
}

/// What is not brought, `why`, and where it lies, also when this job's cluster is gone.
pub(crate) fn left(all: &[Fetched], why: String) -> DataError {
    match places(all) {
        Ok(places) => DataError::NotBrought { why, places },
        Err(error) => DataError::GoneWithTheJob { why, error },
    }
}

/// Of a job that may go on, or have succeeded.
pub(crate) fn may_come(all: &[Fetched]) -> DataError {
    match places(all) {
        Ok(places) => DataError::MayCome { places },
        Err(error) => DataError::GoneWithTheJob {
            why: "how the job ended is not known".to_owned(),
            error,
        },
    }
}

/// Where they lie from now on.
fn places(all: &[Fetched]) -> io::Result<Vec<String>> {
    let Some(home) = all.first() else {
        return Ok(Vec::new());
    };
    let run = kept::keep(&Located {
        address: home.from.address.clone(),
        path: storage::parent(&home.from.path).to_owned(),
    })?;
    let places = all.iter().map(|home| {
        let own = home.from.path.rsplit('/').next().unwrap_or_default();
        run.address.url(&format!("{}/{own}", run.path))
    });
    Ok(places.collect())
}

/// Copies what there is of a result beside its destination; `ready` learns each copy and its name.
async fn take(home: &Fetched, ready: &mut Halves) -> Result<(), String> {
    let words = |error: StorageError| error.to_string();
    let storage = Storage::open(&home.from.address).map_err(words)?;
    let there = storage.list(&home.from.path, FILES_MAX).await;
    for status in there.map_err(words)? {
        let name = home.to.join(status.name());
        if name.is_dir() {
            return Err(in_the_way(&name));
        }
        let half = home
            .to
            .join(format!(".{}.gerbil-{}", status.name(), std::process::id()));
        remove_here(&half);
        ready.0.push((half.clone(), name));
        let here = |error: io::Error| format!("{}: {error}", half.display());
        if status.is_folder {
            std::fs::create_dir(&half).map_err(here)?;
            let files = storage.walk(&status.path, FILES_MAX).await.map_err(words)?;
            for file in files {
                let inside = file.path.strip_prefix(&status.path).unwrap_or_default();
                let to = half.join(inside.trim_start_matches('/'));
                take_file(&storage, &file, &to).await?;
            }
        } else {
            take_file(&storage, &status, &half).await?;
        }
        // It is to be there after a loss of power too, when what it was copied from is gone.
        storage::keep(&half).await.map_err(here)?;
    }
    Ok(())
}

fn in_the_way(folder: &Path) -> String {
    format!(
        "{} is a folder that is there already, and is not written over",
        folder.display()
    )
}

async fn take_file(storage: &Storage, file: &Status, to: &Path) -> Result<(), String> {
    // What others may not read there they may not read here.
    let taken = match file.mode & 0o077 {
        0 => storage.take_closed(&file.path, to, file.mode).await,
        _ => storage.take(&file.path, to).await,
    };
    let taken = taken.map_err(|error| error.to_string())?;
    if taken != file.size {
        let (shown, size) = (to.display(), file.size);
        return Err(format!("{shown} has {taken} bytes and should have {size}"));
    }
    Ok(())
}

/// Whether something may lie below the staging folder that is results. Only a file system that says so has none:
/// one that does not answer, or refuses, may have them.
pub(crate) async fn may_be_there(all: &[Fetched]) -> bool {
    let look = async {
        for home in all {
            let listed = match Storage::open(&home.from.address) {
                Ok(storage) => storage.list(&home.from.path, FILES_MAX).await,
                Err(error) => Err(error),
            };
            match listed {
                Err(StorageError::Absent { .. }) => {}
                Ok(listed) if listed.is_empty() => {}
                Ok(_) | Err(_) => return true,
            }
        }
        false
    };
    timeout(TIDY, look).await.unwrap_or(true)
}

/// Removes what lies below the staging folder for a job; nobody waits for it to be gone.
pub(crate) async fn forget(all: &[Fetched]) {
    let Some(home) = all.first() else {
        return;
    };
    let run = storage::parent(&home.from.path);
    let removed = async {
        let storage = Storage::open(&home.from.address)?;
        storage.remove(run).await
    };
    let _in_time = timeout(TIDY, removed).await.is_ok();
}

fn remove_here(path: &Path) {
    let _gone = match path.symlink_metadata() {
        Ok(there) if there.is_dir() => std::fs::remove_dir_all(path).is_ok(),
        Ok(_) => std::fs::remove_file(path).is_ok(),
        Err(_) => true,
    };
}

/// A path of this machine, as `--stage-out` may have it: without scheme, and not from the top.
pub(super) fn is_here(url: &str) -> bool {
    let has_scheme = url
        .split_once(':')
        .is_some_and(|(scheme, _)| !scheme.contains('/'));
    !has_scheme && !url.starts_with('/')
}

/// A remark for a result that would come to lie on the disk of a node: `file:` means a folder that all
/// nodes see, which the local disks of a machine are not.
pub(super) fn of_a_disk(out: &StageOut) -> Option<String> {
    if out.address != Address::Shared {
        return None;
    }
    let until = out.path.find('%').unwrap_or(out.path.len());
    let mut above = Path::new(&out.path[..until]).ancestors();
    let there = above.find(|folder| folder.exists())?;
    is_on_a_disk(there).then(|| {
        format!(
            "--stage-out {}=file:{}: this is a path of the nodes' own disks; a result comes to this \
             machine with --get {}=PATH",
            out.local, out.path, out.local
        )
    })
}

/// Whether a folder is on a disk of this machine, by the kind of its file system.
fn is_on_a_disk(folder: &Path) -> bool {
    use nix::sys::statfs::{
        BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, TMPFS_MAGIC, XFS_SUPER_MAGIC,
        statfs,
    };
    let disks = [
        BTRFS_SUPER_MAGIC,
        EXT4_SUPER_MAGIC,
        OVERLAYFS_SUPER_MAGIC,
        TMPFS_MAGIC,
        XFS_SUPER_MAGIC,
    ];
    statfs(folder).is_ok_and(|found| disks.contains(&found.filesystem_type()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A result that a job has made below `far`, as a file there, and is to bring `here`.
    pub(crate) fn one_result(far: &Path, here: &Path) -> ([Fetched; 1], PathBuf) {
        let run = of_this_run(&shared(far));
        let to = here.join("log").to_str().unwrap().to_owned();
        let (out, home) = plan("log", &to, 0, &run).unwrap();
        std::fs::create_dir_all(&home.from.path).unwrap();
        std::fs::write(&out.path, "text").unwrap();
        ([home], out.path.into())
    }

    fn shared(path: &Path) -> Located {
        Located {
            address: Address::Shared,
            path: path.to_str().unwrap().to_owned(),
        }
    }

    #[test]
    fn a_result_has_a_name_here() {
        let run = shared(Path::new("/s/get/7"));
        let here = std::env::current_dir().unwrap();
        let planned = |name: &str, path: &str| {
            let (out, home) = plan(name, path, 3, &run).unwrap();
            let inside = out.path.strip_prefix(&home.from.path).unwrap().to_owned();
            assert_eq!(home.from.path, "/s/get/7/3");
            (home.to, inside)
        };
        let at = |folder: &Path, inside: &str| (folder.to_path_buf(), inside.to_owned());
        assert_eq!(planned("log", "log"), at(&here, "/log"));
        assert_eq!(planned("a/log", "."), at(&here, "/log"));
        assert_eq!(planned("log", "/tmp/x.%p"), at(Path::new("/tmp"), "/x.%p"));
        assert_eq!(planned("a/log", "/tmp/"), at(Path::new("/tmp"), "/log"));
        for bad in ["/a%p/b", "a:b", "%r"] {
            assert!(plan("log", bad, 0, &run).is_err(), "{bad}");
        }
        for (url, expected) in [
            ("./f", true),
            ("f", true),
            ("../a:b", true),
            ("/f", false),
            ("hdfs:///f", false),
            ("file:/f", false),
        ] {
            assert_eq!(is_here(url), expected, "{url}");
        }
    }

    #[tokio::test]
    async fn results_come_home_whole_or_not_at_all() {
        let (far, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let run = of_this_run(&shared(far.path()));
        let to = |name: &str| here.path().join(name).to_str().unwrap().to_owned();
        let all: Vec<Fetched> = (["log", "out"].iter().enumerate())
            .map(|(index, name)| plan(name, &to(name), index, &run).unwrap().1)
            .collect();
        check(&all).await.unwrap();
        let in_the_way = here.path().join("out");
        std::fs::create_dir(&in_the_way).unwrap();
        assert!(check(&all).await.is_err());
        std::fs::remove_dir(&in_the_way).unwrap();
        let make = |index: usize, inside: &str, text: &str| {
            let path = Path::new(&all[index].from.path).join(inside);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        make(0, "log", "new");
        make(1, "out/deep/a", "1");
        make(1, "out/b", "22");
        let read = |name: &str| std::fs::read_to_string(here.path().join(name)).ok();
        let count = || std::fs::read_dir(here.path()).unwrap().count();

        // A folder of that name: neither it nor the file is touched.
        std::fs::create_dir(here.path().join("out")).unwrap();
        std::fs::write(here.path().join("log"), "old").unwrap();
        let why = bring(&all).await.unwrap_err().to_string();
        assert!(why.contains("is a folder that is there already"), "{why}");
        assert!(why.contains(&all[1].from.url()), "{why}");
        assert_eq!((read("log").as_deref(), count()), (Some("old"), 2));

        std::fs::remove_dir(here.path().join("out")).unwrap();
        bring(&all).await.unwrap();
        assert_eq!(read("log").as_deref(), Some("new"));
        assert_eq!(read("out/deep/a").as_deref(), Some("1"));
        assert_eq!((read("out/b").as_deref(), count()), (Some("22"), 2));
        // A signal from here on finds results that are home, and what they were copied from.
        let runs = || std::fs::read_dir(far.path().join("get")).unwrap().count();
        assert_eq!(runs(), 1);
        forget(&all).await;
        assert_eq!(runs(), 0);
    }

    #[tokio::test]
    async fn only_a_file_system_that_says_so_has_no_results() {
        let far = tempfile::tempdir().unwrap();
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("hdfs://{}", silent.local_addr().unwrap());
        let hdfs = Located {
            address: Address::Hdfs {
                connect: origin.clone(),
                origin,
                user: "me".into(),
                settings: Vec::new(),
            },
            path: "/staging/get/1".into(),
        };
        let of = |run: &Located| [plan("log", "log", 0, run).unwrap().1];
        // Nobody waits for the deadline of the look.
        tokio::time::pause();
        assert!(may_be_there(&of(&hdfs)).await, "nobody answers");

        let run = shared(&far.path().join("get/1"));
        assert!(!may_be_there(&of(&run)).await, "there is no folder");
        let place = far.path().join("get/1/0");
        std::fs::create_dir_all(&place).unwrap();
        assert!(!may_be_there(&of(&run)).await, "it is empty");
        std::fs::write(place.join("log"), "text").unwrap();
        assert!(may_be_there(&of(&run)).await);
    }

    #[tokio::test]
    async fn what_is_broken_off_leaves_no_half() {
        let (far, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let run = of_this_run(&shared(far.path()));
        let to = here.path().join("big").to_str().unwrap().to_owned();
        let (out, home) = plan("big", &to, 0, &run).unwrap();
        std::fs::create_dir_all(&home.from.path).unwrap();
        std::fs::write(&out.path, vec![1; 64 << 20]).unwrap();
        let all = [home];
        let names = || std::fs::read_dir(here.path()).unwrap().count();
        let has_begun = async {
            while names() == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            brought = bring(&all) => panic!("{brought:?}"),
            () = has_begun => {}
        }
        assert_eq!(names(), 0);
        let said = left(&all, "interrupted".to_owned()).to_string();
        assert!(
            said.contains(&format!(
                "; for 7 days the results lie in file:{}",
                run.path
            )),
            "{said}"
        );
    }
}
