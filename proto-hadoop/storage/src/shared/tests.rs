use std::collections::BTreeMap;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

use super::*;
use crate::Storage;

#[tokio::test]
async fn what_lies_in_the_root_has_one_slash() {
    let storage = Storage::open(&Address::Shared).unwrap();
    let all = storage.list("/", 1000).await.unwrap();
    assert!(all.iter().any(|entry| entry.path == "/etc"), "{all:?}");
}

#[tokio::test]
async fn a_file_goes_there_and_back_and_never_over_another() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().to_str().unwrap();
    let storage = Storage::open(&Address::Shared).unwrap();
    let (here, there) = (folder.path().join("here"), format!("{top}/a/b"));
    fs::write(&here, "12345").unwrap();
    assert_eq!(storage.put(&here, &there).await.unwrap(), 5);
    let again = storage.put(&here, &there).await.unwrap_err();
    assert!(matches!(again, StorageError::Exists { .. }), "{again}");
    storage
        .write(&format!("{top}/a/c/d"), b"1".to_vec())
        .await
        .unwrap();
    let found = storage.walk(&format!("{top}/a"), 3).await.unwrap();
    let names: Vec<_> = found.iter().map(|f| (f.name(), f.size)).collect();
    assert_eq!(names, [("b", 5), ("d", 1)]);
    let many = storage.walk(&format!("{top}/a"), 2).await.unwrap_err();
    assert!(
        matches!(many, StorageError::TooMany { most: 2, .. }),
        "{many}"
    );
    let taken = storage
        .rename(&there, &format!("{top}/a/c"))
        .await
        .unwrap_err();
    assert!(matches!(taken, StorageError::Exists { .. }), "{taken}");
    storage
        .rename(&format!("{top}/a"), &format!("{top}/z"))
        .await
        .unwrap();
    let back = folder.path().join("x/y");
    assert_eq!(storage.take(&format!("{top}/z/b"), &back).await.unwrap(), 5);
    assert_eq!(fs::read(back).unwrap(), b"12345");
    let large = storage.read(&format!("{top}/z/b"), 4).await.unwrap_err();
    assert!(
        matches!(large, StorageError::TooLarge { size: 5, .. }),
        "{large}"
    );
    for was_there in [true, false] {
        let removed = storage.remove_found(&format!("{top}/z")).await;
        assert_eq!(removed.unwrap(), was_there);
    }
    assert_eq!(storage.stat(&format!("{top}/z")).await.unwrap(), None);
}

#[tokio::test]
async fn a_file_is_read_from_anywhere_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let text: Vec<u8> = (0..=255).cycle().take(PIECE + 1000).collect();
    fs::write(&path, &text).unwrap();
    let storage = Storage::open(&Address::Shared).unwrap();
    let path = path.to_str().unwrap();
    for from in [0, 1000, PIECE, PIECE + 1000, PIECE + 1001] {
        let reader = storage.read_from(path, from as u64).await.unwrap();
        assert_eq!(reader.size(), text.len() as u64);
        let (mut reader, mut all) = (reader.expecting(2000), Vec::new());
        loop {
            let piece = reader.next().await.unwrap();
            if piece.is_empty() {
                break;
            }
            all.extend_from_slice(&piece);
        }
        assert_eq!(all, text.get(from..).unwrap_or_default());
    }
    let none = storage.read_from(&format!("{path}.none"), 0).await;
    assert!(matches!(none, Err(StorageError::Absent { .. })), "{none:?}");
}

/// Does it on a thread that hears this word from every disk that it asks to have something.
fn with_disks_that_say<Done: Future>(word: Errno, what: impl FnOnce() -> Done + Send) {
    let calls = BTreeMap::from([(nix::libc::SYS_fsync, Vec::new())]);
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let (refuse, allow) = (SeccompAction::Errno(word as u32), SeccompAction::Allow);
    let filter = SeccompFilter::new(calls, allow, refuse, arch).unwrap();
    let program = BpfProgram::try_from(filter).unwrap();
    let on_a_thread = || {
        // The threads that it starts hear the same.
        seccompiler::apply_filter(&program).unwrap();
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(what());
    };
    std::thread::scope(|scope| scope.spawn(on_a_thread).join().unwrap());
}

#[test]
fn what_no_disk_has_is_not_called_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| format!("{}/{name}", folder.path().display());
    fs::write(path("there"), "1").unwrap();
    let storage = Storage::open(&Address::Shared).unwrap();
    let refused = |done: Result<(), StorageError>| {
        let error = done.unwrap_err().to_string();
        assert!(error.contains("writing"), "{error}");
        assert!(error.contains("Invalid argument"), "{error}");
    };
    // Of a folder this word says that its file system has no such call: of a file it says no.
    with_disks_that_say(Errno::EINVAL, async || {
        storage.make_folder(&path("made")).await.unwrap();
        refused(storage.write(&path("file"), b"1".to_vec()).await);
        let mut appending = storage.append(&path("there")).await.unwrap();
        appending.write(Bytes::from_static(b"2")).await.unwrap();
        refused(appending.close().await.map(drop));
    });
}

#[test]
fn a_name_that_no_disk_has_is_not_called_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| format!("{}/{name}", folder.path().display());
    fs::write(path("file"), "1").unwrap();
    fs::create_dir(path("lost")).unwrap();
    let storage = Storage::open(&Address::Shared).unwrap();
    let refused = |done: Result<(), StorageError>, doing: &str| {
        let error = done.unwrap_err().to_string();
        assert!(error.contains(doing), "{error}");
        assert!(error.contains("Input/output error"), "{error}");
    };
    with_disks_that_say(Errno::EIO, async || {
        let renamed = storage.rename(&path("file"), &path("new")).await;
        refused(renamed, "renaming");
        refused(storage.make_folder(&path("made")).await, "making");
        refused(storage.make_one_folder(&path("one")).await, "making");
    });
    with_disks_that_say(Errno::EINVAL, async || {
        let renamed = storage.rename(&path("new"), &path("newer")).await;
        renamed.unwrap();
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let options = CreateOptions::default();
        let mut written = storage.create(&path("lost/file"), options).await.unwrap();
        written.write(Bytes::from_static(b"1")).await.unwrap();
        fs::rename(path("lost"), path("found")).unwrap();
        let closed = written.close().await.unwrap_err();
        assert!(matches!(closed, StorageError::Absent { .. }), "{closed}");
    });
}

#[test]
fn what_no_disk_of_this_machine_has_has_not_come() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir_all(path("half/deep")).unwrap();
    fs::create_dir_all(path("bare/deep")).unwrap();
    fs::write(path("half/deep/file"), "new").unwrap();
    for name in ["file", "other"] {
        fs::write(path(name), name).unwrap();
    }
    let says = |done: io::Result<()>, word: Errno| {
        assert_eq!(done.unwrap_err().raw_os_error(), Some(word as i32));
    };
    with_disks_that_say(Errno::EINVAL, async || {
        says(crate::keep(&path("file")).await, Errno::EINVAL);
        says(crate::keep(&path("half")).await, Errno::EINVAL);
        // Of folders alone it says that there is no such call.
        crate::keep(&path("bare")).await.unwrap();
    });
    with_disks_that_say(Errno::EIO, async || {
        says(crate::keep(&path("bare")).await, Errno::EIO);
        let named = crate::give_name(&path("file"), &path("new")).await;
        says(named, Errno::EIO);
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        crate::keep(&path("half")).await.unwrap();
        crate::give_name(&path("half"), &path("made"))
            .await
            .unwrap();
        crate::give_name(&path("new"), &path("other"))
            .await
            .unwrap();
        let taken = crate::give_name(&path("other"), &path("made")).await;
        taken.unwrap_err();
    });
    assert_eq!(fs::read(path("other")).unwrap(), b"file");
    assert_eq!(fs::read(path("made/deep/file")).unwrap(), b"new");
}

#[tokio::test]
async fn a_pipe_in_place_of_a_file_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let storage = Storage::open(&Address::Shared).unwrap();
    let name = pipe.to_str().unwrap();
    let there = format!("{name}.out");
    let put = storage.put(&pipe, &there).await.unwrap_err();
    assert!(put.to_string().contains("no regular file"), "{put}");
    assert!(storage.read(name, 10).await.is_err());
    let here = folder.path().join("here");
    assert!(storage.take(name, &here).await.is_err());
    assert!(!here.exists() && !Path::new(&there).exists());
}

/// Does it on a thread that has this mask of new files.
fn masked<Done: Future>(mask: u32, what: impl FnOnce() -> Done + Send) {
    let on_a_thread = || {
        // Threads that it starts have the same; all others keep theirs.
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_FS).unwrap();
        nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(mask));
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(what());
    };
    std::thread::scope(|scope| scope.spawn(on_a_thread).join().unwrap());
}

#[test]
fn whom_a_file_is_for_no_mask_decides() {
    for mask in [0o022, 0o077, 0] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| format!("{}/{name}", folder.path().display());
        let mode = |name: &str| fs::metadata(path(name)).unwrap().permissions().mode() & 0o777;
        let storage = Storage::open(&Address::Shared).unwrap();
        masked(mask, async || {
            for (name, readers) in [("open", Readers::Nodes), ("own", Readers::Own)] {
                let inner = path(&format!("{name}/inner"));
                storage.make_folder_for(&inner, readers).await.unwrap();
                let options = CreateOptions {
                    readers,
                    ..CreateOptions::default()
                };
                let file = storage.create(&format!("{inner}/file"), options).await;
                file.unwrap().close().await.unwrap();
            }
            storage.make_folder(&path("mask")).await.unwrap();
        });
        let modes = ["open", "open/inner", "open/inner/file"].map(&mode);
        assert_eq!(modes, [0o755; 3], "{mask:o}");
        let modes = ["own", "own/inner", "own/inner/file"].map(&mode);
        assert_eq!(modes, [0o755, 0o700, 0o700], "{mask:o}");
        assert_eq!(mode("mask"), 0o777 & !mask);
    }
}

#[test]
fn who_makes_the_same_folder_at_the_same_time_finds_it_with_its_mode() {
    let folder = tempfile::tempdir().unwrap();
    let path = |round: u32| format!("{}/{round}/inner", folder.path().display());
    let modes = |round: u32| {
        let inner = path(round);
        ["..", "."].map(|at| {
            let found = fs::metadata(Path::new(&inner).join(at));
            found.map(|found| found.permissions().mode() & 0o777)
        })
    };
    for round in 0..100 {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    masked(0o077, async || {
                        make_folder(&path(round), Readers::Nodes).await.unwrap();
                        let found = modes(round).map(Result::unwrap);
                        assert_eq!(found, [0o755; 2]);
                    });
                });
            }
        });
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, round as usize + 1, "nothing stays behind");
    }
}

#[test]
fn every_path_has_a_folder() {
    assert_eq!(parent("/a/b"), "/a");
    assert_eq!(parent("/a"), "/");
}
