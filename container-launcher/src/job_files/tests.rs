use std::os::unix::fs::PermissionsExt as _;

use sha2::{Digest as _, Sha256};

use super::*;

const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn order(job: u32, folder: &Path, files: &[(&str, &str, u64, bool)]) -> FetchFiles {
    FetchFiles {
        job,
        addresses: vec![serde_json::to_string(&Address::Shared).unwrap()],
        files: files
            .iter()
            .map(|(link, name, size, unpack)| StagedFile {
                link: (*link).to_owned(),
                address: 0,
                path: folder.join(name).display().to_string(),
                size: *size,
                unpack: *unpack,
            })
            .collect(),
    }
}

struct Bed {
    _folder: tempfile::TempDir,
    staged: PathBuf,
    container: PathBuf,
}

impl Bed {
    async fn fetch(
        &self,
        container: &Path,
        job: u32,
        files: &[(&str, &str, u64, bool)],
    ) -> FilesFetched {
        // YARN has made it.
        fs::create_dir_all(container).unwrap();
        let order = order(job, &self.staged, files);
        fetch(container.to_owned(), order).await
    }

    /// A launcher that fetches `files` for a job; the job's folder.
    async fn job(
        &self,
        container: &Path,
        job: u32,
        files: &[(&str, &str, u64, bool)],
        brings: u64,
    ) -> PathBuf {
        let done = self.fetch(container, job, files).await;
        assert_eq!(
            (done.trouble.as_str(), done.bytes),
            ("", brings),
            "job {job}"
        );
        folder(container, JobId(job))
    }

    /// What lies in the cache.
    fn cached(&self) -> Vec<String> {
        let cache = self.container.parent().unwrap().join("gerbil/files");
        let names = fs::read_dir(cache).unwrap().flatten();
        let names = names.map(|entry| entry.file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names
    }

    /// Stages a file under its digest.
    fn stage(&self, contents: &[u8]) -> String {
        let digest = Sha256::digest(contents);
        let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        fs::write(self.staged.join(&name), contents).unwrap();
        name
    }
}

/// As a job does that may, and means to, write to what it was handed.
fn write(path: &Path, text: &str) {
    let mut mode = fs::metadata(path).unwrap().permissions();
    mode.set_mode(mode.mode() | 0o200);
    fs::set_permissions(path, mode).unwrap();
    fs::write(path, text).unwrap();
}

fn bed() -> Bed {
    let folder = tempfile::tempdir().unwrap();
    let staged = folder.path().join("staged");
    let container = folder.path().join("application/container");
    fs::create_dir_all(&staged).unwrap();
    fs::create_dir_all(&container).unwrap();
    fs::write(staged.join(ABC), "abc").unwrap();
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_size(3);
    header.set_mode(0o644);
    archive
        .append_data(&mut header, "deep/a", &b"123"[..])
        .unwrap();
    fs::write(staged.join("x.tar"), archive.into_inner().unwrap()).unwrap();
    Bed {
        _folder: folder,
        staged,
        container,
    }
}

#[tokio::test]
async fn files_come_once_a_host_and_are_linked_for_each_job() {
    let bed = bed();
    let size = fs::metadata(bed.staged.join("x.tar")).unwrap().len();
    let files = [("prog", ABC, 3, false), ("lib", "x.tar", size, true)];
    let done = bed.fetch(&bed.container, 1, &files).await;
    assert_eq!((done.trouble.as_str(), done.bytes), ("", 3 + size));
    let one = folder(&bed.container, JobId(1));
    assert_eq!(fs::read(one.join("prog")).unwrap(), b"abc");
    assert_eq!(fs::read(one.join("lib/deep/a")).unwrap(), b"123");
    let mode = fs::metadata(one.join("prog")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o500);
    // Another container of the same host, another job: nothing is brought.
    fs::remove_file(bed.staged.join(ABC)).unwrap();
    let other = bed.container.with_file_name("other");
    let done = bed.fetch(&other, 2, &files).await;
    assert_eq!((done.trouble.as_str(), done.bytes), ("", 0));
    assert_eq!(
        fs::read(folder(&other, JobId(2)).join("prog")).unwrap(),
        b"abc"
    );
    forget(&bed.container, JobId(1)).await;
    assert!(!one.exists() && other.join("jobs/2/prog").exists());
    forget(&bed.container, JobId(1)).await;
    // Each of the jobs has its own tree.
    assert_eq!(bed.cached(), [ABC, "x.tar.1.d", "x.tar.d"]);
}

#[tokio::test]
async fn what_is_not_what_was_staged_is_seen_by_nobody() {
    let bed = bed();
    for name in [ABC, "no.tar"] {
        fs::write(bed.staged.join(name), "abd").unwrap();
    }
    for (files, words) in [
        (("prog", ABC, 3, false), "is not what was staged"),
        (("prog", ABC, 4, false), "3 bytes, and 4 were staged"),
        (("prog", "none", 4, false), "none"),
        (("../prog", "x.tar", 4, false), "is no name"),
        (("..", "x.tar", 4, false), "is no name"),
        (("lib", ABC, 3, true), "is not what was staged"),
        (("lib", "no.tar", 3, true), "unpacked"),
    ] {
        let done = bed.fetch(&bed.container, 1, &[files]).await;
        assert!(done.trouble.contains(words), "{files:?}: {done:?}");
    }
    let cache = bed.container.parent().unwrap().join("gerbil/files");
    assert_eq!(fs::read_dir(cache).unwrap().count(), 0);
}

#[tokio::test]
async fn what_a_job_writes_to_its_small_file_stays_in_its_folder() {
    let bed = bed();
    let files = [("d.txt", ABC, 3, false)];
    let one = bed.job(&bed.container, 1, &files, 3).await;
    write(&one.join("d.txt"), "evil");
    let two = bed.job(&bed.container, 2, &files, 0).await;
    assert_eq!(fs::read(two.join("d.txt")).unwrap(), b"abc");
    // An order that comes again takes nothing from the job.
    let one = bed.job(&bed.container, 1, &files, 0).await;
    assert_eq!(fs::read(one.join("d.txt")).unwrap(), b"evil");
    // One that looks for what it was copied from.
    write(
        &bed.container.with_file_name("gerbil/files").join(ABC),
        "evil",
    );
    let three = bed.job(&bed.container, 3, &files, 3).await;
    assert_eq!(fs::read(three.join("d.txt")).unwrap(), b"abc");
}

#[tokio::test]
async fn a_large_file_that_a_job_has_changed_is_brought_anew_for_the_next() {
    let bed = bed();
    let (size, large) = (2 << 20, "x".repeat(2 << 20));
    let name = bed.stage(large.as_bytes());
    let files = [("d.txt", name.as_str(), size, false)];
    let read = |folder: &Path| fs::read_to_string(folder.join("d.txt")).unwrap();
    let one = bed.job(&bed.container, 1, &files, size).await;
    write(&one.join("d.txt"), "evil");
    // Beside it, in the same container and in another, by another launcher.
    let other = bed.container.with_file_name("other");
    let two = bed.job(&bed.container, 2, &files, size).await;
    let three = bed.job(&other, 3, &files, 0).await;
    assert!(read(&two) == large && read(&three) == large);
    assert_eq!(read(&one), "evil");
    // Only when no job has it is it replaced.
    let cache = bed.container.with_file_name("gerbil/files");
    let cached = |name: &str| cache.join(format!("{name}.f/files/{name}"));
    forget(&bed.container, JobId(1)).await;
    let four = bed.job(&bed.container, 4, &files, size).await;
    assert!(read(&four) == large && fs::read_to_string(cached(&name)).unwrap() == large);
    // Other times are not other contents.
    write(&four.join("d.txt"), &large);
    let five = bed.job(&other, 5, &files, 0).await;
    assert_eq!(read(&five), large);
    // As long, and a moment later.
    write(&five.join("d.txt"), &"y".repeat(2 << 20));
    let six = bed.job(&other, 6, &files, 0).await;
    assert_eq!(read(&six), large, "the copy beside it is whole");
}

#[tokio::test]
async fn a_tree_that_a_job_has_changed_is_unpacked_anew_for_the_next() {
    let bed = bed();
    let size = fs::metadata(bed.staged.join("x.tar")).unwrap().len();
    let files = [("lib", "x.tar", size, true)];
    let one = bed.job(&bed.container, 1, &files, size).await;
    let mode = fs::metadata(one.join("lib/deep/a")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o222, 0);
    fs::create_dir(one.join("lib/deep/__pycache__")).unwrap();
    let two = bed.job(&bed.container, 2, &files, 0).await;
    write(&two.join("lib/deep/a"), "666");
    let three = bed.job(&bed.container, 3, &files, 0).await;
    let read = |folder: &Path| fs::read_to_string(folder.join("lib/deep/a")).unwrap();
    assert_eq!((read(&two).as_str(), read(&three).as_str()), ("666", "123"));
    fs::write(three.join("lib/evil"), "").unwrap();
    for job in [1, 2, 3] {
        forget(&bed.container, JobId(job)).await;
    }
    let four = bed.job(&bed.container, 4, &files, 0).await;
    assert!(!four.join("lib/evil").exists());
    assert_eq!(read(&four), "123");
}

#[tokio::test]
async fn jobs_that_go_on_and_change_what_they_have_come_to_an_end_with_a_sentence() {
    let bed = bed();
    let size = fs::metadata(bed.staged.join("x.tar")).unwrap().len();
    let files = [("lib", "x.tar", size, true)];
    for job in 1..=16 {
        let folder = bed.job(&bed.container, job, &files, size).await;
        write(&folder.join("lib/deep/a"), "666");
    }
    let done = bed.fetch(&bed.container, 17, &files).await;
    assert!(done.trouble.contains("changed their lib"), "{done:?}");
}

/// Something of two MiB under the name of another file in the cache, with or without its seal.
fn cached_otherwise(bed: &Bed, name: &str, is_sealed: bool) {
    let folder = cache::of(&bed.container).unwrap();
    let folder = folder.join(format!("{name}.f"));
    let tree = folder.join("files");
    fs::create_dir_all(&tree).unwrap();
    fs::write(tree.join(name), "y".repeat(2 << 20)).unwrap();
    if is_sealed {
        seal::keep(&folder, seal::of_tree(&tree).unwrap()).unwrap();
    }
}

#[tokio::test]
async fn a_launcher_does_not_believe_what_has_no_seal() {
    let bed = bed();
    let (size, large) = (2 << 20, "x".repeat(2 << 20));
    let name = bed.stage(large.as_bytes());
    let files = [("d.txt", name.as_str(), size, false)];
    cached_otherwise(&bed, &name, false);
    let one = bed.job(&bed.container, 1, &files, size).await;
    assert!(fs::read_to_string(one.join("d.txt")).unwrap() == large);
}

#[tokio::test]
async fn a_large_file_that_has_its_seal_is_not_read_again() {
    let bed = bed();
    let name = bed.stage("x".repeat(2 << 20).as_bytes());
    let files = [("d.txt", name.as_str(), 2 << 20, false)];
    // As nothing makes it: what a digest would tell from what was staged.
    cached_otherwise(&bed, &name, true);
    let one = bed.job(&bed.container, 1, &files, 0).await;
    assert!(
        fs::read_to_string(one.join("d.txt"))
            .unwrap()
            .starts_with('y')
    );
}

#[tokio::test]
async fn what_is_brought_has_its_seal_and_gets_it_again_when_it_is_proved_again() {
    let bed = bed();
    let name = bed.stage("x".repeat(2 << 20).as_bytes());
    let files = [("d.txt", name.as_str(), 2 << 20, false)];
    bed.job(&bed.container, 1, &files, 2 << 20).await;
    let folder = cache::of(&bed.container).unwrap().join(format!("{name}.f"));
    let is_sealed = || seal::is_kept(&folder, seal::of_tree(&folder.join("files")).unwrap());
    assert!(is_sealed());
    fs::remove_file(folder.join("seal")).unwrap();
    let begun = std::time::Instant::now();
    // As soon as it was not touched for a while.
    for job in 2.. {
        bed.job(&bed.container, job, &files, 0).await;
        if is_sealed() || begun.elapsed().as_secs() > 60 {
            break;
        }
    }
    assert!(is_sealed());
}

/// As a NodeManager leaves it that recovers nothing: nobody would remove what a launcher made there then.
#[tokio::test]
async fn the_folder_of_a_container_that_is_gone_is_not_made_again() {
    let bed = bed();
    let application = bed.container.parent().unwrap();
    fs::remove_dir_all(application).unwrap();
    let order = order(1, &bed.staged, &[]);
    let done = fetch(bed.container.clone(), order).await;
    assert!(done.trouble.contains("No such file"), "{}", done.trouble);
    assert!(!application.exists());
}

/// As more launchers of one job do on a host than trees of one name may lie side by side.
#[tokio::test]
async fn what_a_job_makes_of_its_tree_is_its_own_in_every_container_of_the_host() {
    for job in [0, 1] {
        let bed = bed();
        let archive = fs::metadata(bed.staged.join("x.tar")).unwrap().len();
        let (size, large) = (2 << 20, "x".repeat(2 << 20));
        let name = bed.stage(large.as_bytes());
        let files = [
            ("lib", "x.tar", archive, true),
            ("d.txt", name.as_str(), size, false),
        ];
        let container = |launcher: u32| bed.container.with_file_name(format!("a{launcher}"));
        for launcher in 1..=20 {
            let done = bed.fetch(&container(launcher), job, &files).await;
            let brings = if launcher == 1 { archive + size } else { 0 };
            assert_eq!((done.trouble.as_str(), done.bytes), ("", brings));
            let folder = folder(&container(launcher), JobId(job));
            fs::write(folder.join(format!("lib/deep/made{launcher}")), "").unwrap();
            assert!(folder.join("lib/deep/made1").exists(), "{launcher}");
            write(&folder.join("d.txt"), "evil");
        }
        assert_eq!(bed.cached().len(), 2);
        // What one job makes, no other is handed.
        let two = bed.job(&container(1), 2, &files, archive + size).await;
        assert!(!two.join("lib/deep/made1").exists());
        assert!(fs::read_to_string(two.join("d.txt")).unwrap() == large);
    }
}

#[tokio::test]
async fn a_launcher_that_finds_a_changed_file_removes_none_that_another_has_brought_meanwhile() {
    let bed = bed();
    let cache = cache::of(&bed.container).unwrap();
    let cached = cache.join(ABC);
    fs::write(&cached, "evil").unwrap();
    let order = order(1, &bed.staged, &[("d.txt", ABC, 3, false)]);
    let link = bed.container.join("d.txt");
    let mut entry = Entry::new(&cache, ABC, &order.files[0], &link);
    let other = entry.clone();
    let hand = async { entry.hand().await };
    tokio::pin!(hand);
    // It has copied what was changed.
    let has_copied = || {
        let folders = fs::read_dir(&cache).unwrap().flatten();
        let mut copies = folders.map(|folder| fs::read(folder.path().join(ABC)));
        copies.any(|copy| copy.is_ok_and(|copy| copy == b"evil"))
    };
    while !has_copied() {
        // Polled once, and once more when its thread is done: not while the copy is looked for.
        let once = std::future::poll_fn(|context| {
            std::task::Poll::Ready(hand.as_mut().poll(context).is_ready())
        });
        assert!(!once.await, "it has not come this far");
        let begun = std::time::Instant::now();
        while !has_copied() && begun.elapsed().as_secs() < 60 {
            std::thread::yield_now();
        }
    }
    let whole = cache.join("whole");
    fs::write(&whole, "abc").unwrap();
    // As launchers remove one, so that another can get the name.
    let lock = other.lock().unwrap();
    fs::rename(&whole, &cached).unwrap();
    drop(lock);
    assert_eq!(hand.await.unwrap(), Handed::Absent);
    assert_eq!(fs::read(&cached).unwrap(), b"abc");
}

#[tokio::test]
async fn a_launcher_that_brings_a_large_file_late_takes_its_place_from_none() {
    let bed = bed();
    let name = bed.stage("x".repeat(2 << 20).as_bytes());
    let files = [("d.txt", name.as_str(), 2 << 20, false)];
    let one = bed.job(&bed.container, 1, &files, 2 << 20).await;
    write(&one.join("d.txt"), "evil");
    let cache = cache::of(&bed.container).unwrap();
    let file = &order(2, &bed.staged, &files).files[0];
    let link = bed.container.join("late");
    let entry = Entry::new(&cache, &name, file, &link);
    let storage = Storage::open(&Address::Shared).unwrap();
    bring(&storage, file, &entry).await.unwrap();
    assert_eq!(fs::read_to_string(one.join("d.txt")).unwrap(), "evil");
}

#[tokio::test]
async fn jobs_that_run_at_the_same_time_have_each_their_own() {
    let bed = bed();
    let archive = fs::metadata(bed.staged.join("x.tar")).unwrap().len();
    let (size, large) = (2 << 20, "x".repeat(2 << 20));
    let name = bed.stage(large.as_bytes());
    let files = [
        ("lib", "x.tar", archive, true),
        ("d.txt", name.as_str(), size, false),
    ];
    let other = bed.container.with_file_name("other");
    let mut brings = archive + size;
    for round in [0, 10] {
        let one = bed.job(&bed.container, round + 1, &files, brings).await;
        brings = 0;
        let two = bed.job(&other, round + 2, &files, brings).await;
        let three = bed.job(&bed.container, round + 3, &files, brings).await;
        let cached = bed.cached();
        // Here and in the other container the launchers of one job have the same.
        let also_two = bed.job(&bed.container, round + 2, &files, brings).await;
        assert_eq!(bed.cached(), cached);
        let jobs = [&one, &two, &three];
        // Before they write, and after the last has: nothing of others.
        for (number, job) in jobs.iter().enumerate() {
            assert!(fs::read_to_string(job.join("d.txt")).unwrap() == large);
            assert_eq!(fs::read(job.join("lib/deep/a")).unwrap(), b"123");
            assert_eq!(fs::read_dir(job.join("lib/deep")).unwrap().count(), 1);
            if round == 10 {
                let made = format!("made by {number}");
                write(&job.join("d.txt"), &made);
                write(&job.join("lib/deep/a"), &made);
                fs::write(job.join("lib/deep/new"), &made).unwrap();
            }
        }
        if round == 10 {
            for (number, job) in [(0, &one), (1, &two), (1, &also_two), (2, &three)] {
                let made = format!("made by {number}");
                for file in ["d.txt", "lib/deep/a", "lib/deep/new"] {
                    assert_eq!(fs::read_to_string(job.join(file)).unwrap(), made);
                }
            }
        }
        for job in 1..=3 {
            forget(&bed.container, JobId(round + job)).await;
            forget(&other, JobId(round + job)).await;
        }
        // No more than ran at the same time, for the jobs that come.
        assert_eq!(bed.cached().len(), 6);
    }
}

#[tokio::test]
async fn what_is_too_large_to_copy_is_shared_by_jobs_that_run_at_the_same_time() {
    let bed = bed();
    let archive = fs::metadata(bed.staged.join("x.tar")).unwrap().len();
    let files = [("lib", "x.tar", archive, true)];
    let one = bed.job(&bed.container, 1, &files, archive).await;
    let folder = folder(&bed.container, JobId(2));
    fs::create_dir(&folder).unwrap();
    let cache = cache::of(&bed.container).unwrap();
    let file = &order(2, &bed.staged, &files).files[0];
    let mut entry = Entry::new(&cache, "x.tar", file, &folder.join("lib"));
    entry.may_copy = 2;
    assert_eq!(entry.hand().await.unwrap(), Handed::Done);
    // Where files share their blocks no byte is copied.
    let is_shared =
        fs::read_link(folder.join("lib")).unwrap() == fs::read_link(one.join("lib")).unwrap();
    assert_eq!(is_shared, bed.cached() == ["x.tar.d"]);
}

#[tokio::test]
async fn more_jobs_than_there_are_numbers_share_what_is_whole() {
    let bed = bed();
    let archive = fs::metadata(bed.staged.join("x.tar")).unwrap().len();
    let files = [("lib", "x.tar", archive, true)];
    for job in 1..=20 {
        let brings = if job == 1 { archive } else { 0 };
        let folder = bed.job(&bed.container, job, &files, brings).await;
        assert_eq!(fs::read(folder.join("lib/deep/a")).unwrap(), b"123");
    }
    assert_eq!(bed.cached().len(), 16);
}

/// As both find what an earlier job has left.
#[tokio::test]
async fn launchers_of_one_job_that_look_at_the_same_time_take_nothing_that_another_job_has_changed()
{
    let bed = bed();
    let archive = fs::metadata(bed.staged.join("x.tar")).unwrap().len();
    let files = [("lib", "x.tar", archive, true)];
    let one = bed.job(&bed.container, 1, &files, archive).await;
    fs::write(one.join("lib/evil"), "").unwrap();
    forget(&bed.container, JobId(1)).await;
    let containers: Vec<PathBuf> = (0..8)
        .map(|number| bed.container.with_file_name(format!("a{number}")))
        .collect();
    let mut fetching = tokio::task::JoinSet::new();
    for container in &containers {
        fs::create_dir_all(container).unwrap();
        let order = order(2, &bed.staged, &files);
        fetching.spawn(fetch(container.clone(), order));
    }
    for done in fetching.join_all().await {
        assert_eq!(done.trouble, "");
    }
    for container in &containers {
        assert!(!folder(container, JobId(2)).join("lib/evil").exists());
    }
}

/// The front has one such thread, and needs it for look-ups of names.
#[test]
fn what_is_brought_is_looked_at_while_the_front_s_thread_for_what_blocks_is_busy() {
    let bed = bed();
    let name = bed.stage("x".repeat(2 << 20).as_bytes());
    let large = [("d.txt", name.as_str(), 2 << 20, false)];
    let small = [("e.txt", ABC, 3, false)];
    let mut front = tokio::runtime::Builder::new_current_thread();
    let front = front.max_blocking_threads(1).enable_all().build().unwrap();
    front.block_on(async {
        bed.job(&bed.container, 1, &large, 2 << 20).await;
        bed.job(&bed.container, 1, &small, 3).await;
        let (free, busy) = std::sync::mpsc::sync_channel::<()>(1);
        let busy = tokio::task::spawn_blocking(move || busy.recv().is_ok());
        for files in [&large, &small] {
            let done = bed.job(&bed.container, 2, files, 0);
            let done = tokio::time::timeout(Duration::from_secs(60), done).await;
            assert!(done.is_ok(), "{files:?}");
        }
        free.send(()).unwrap();
        busy.await.unwrap();
    });
}

/// Nobody listens at its port.
#[tokio::test(start_paused = true)]
async fn a_file_system_that_is_away_is_asked_again_before_its_job_is_refused() {
    let bed = bed();
    let away = "hdfs://127.0.0.1:1".to_owned();
    let away = Address::Hdfs {
        connect: away.clone(),
        origin: away,
        user: "alice".to_owned(),
        settings: Vec::new(),
    };
    let order = FetchFiles {
        addresses: vec![serde_json::to_string(&away).unwrap()],
        ..order(3, &bed.staged, &[("abc", ABC, 3, false)])
    };
    let began = Instant::now();
    let done = fetch(bed.container.clone(), order).await;
    assert!(
        done.trouble.contains("hdfs://127.0.0.1:1"),
        "{}",
        done.trouble
    );
    assert!(began.elapsed() >= AWAY_MAX, "{:?}", began.elapsed());
}
