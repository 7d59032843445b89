use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use job::wire::StagedFile;
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
    proved: Arc<Proved>,
}

impl Bed {
    async fn fetch(
        &self,
        container: &Path,
        job: u32,
        files: &[(&str, &str, u64, bool)],
    ) -> FilesFetched {
        let order = order(job, &self.staged, files);
        fetch(container.to_owned(), order, Arc::clone(&self.proved)).await
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
        proved: Arc::default(),
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
    let cache = bed.container.parent().unwrap().join("gerbil/files");
    assert_eq!(fs::read_dir(cache).unwrap().count(), 2);
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
    forget(&bed.container, JobId(1)).await;
    let four = bed.job(&bed.container, 4, &files, size).await;
    assert!(read(&four) == large && fs::read_to_string(cache.join(&name)).unwrap() == large);
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
    let three = bed.job(&bed.container, 3, &files, size).await;
    let read = |folder: &Path| fs::read_to_string(folder.join("lib/deep/a")).unwrap();
    assert_eq!((read(&two).as_str(), read(&three).as_str()), ("666", "123"));
    fs::write(three.join("lib/evil"), "").unwrap();
    for job in [1, 2, 3] {
        forget(&bed.container, JobId(job)).await;
    }
    let four = bed.job(&bed.container, 4, &files, size).await;
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

#[tokio::test]
async fn another_launcher_does_not_believe_what_it_has_not_proved() {
    let bed = bed();
    let (size, large) = (2 << 20, "x".repeat(2 << 20));
    let name = bed.stage(large.as_bytes());
    let files = [("d.txt", name.as_str(), size, false)];
    let cache = cache::of(&bed.container).unwrap();
    fs::write(cache.join(&name), "y".repeat(2 << 20)).unwrap();
    fs::set_permissions(cache.join(&name), Permissions::from_mode(0o500)).unwrap();
    let one = bed.job(&bed.container, 1, &files, size).await;
    assert!(fs::read_to_string(one.join("d.txt")).unwrap() == large);
}
