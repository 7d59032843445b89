//! Staging on a temporary `file:` root, and on a file system that refuses by script.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use job::exit::Exit;
use job::{StagedKind, role::BINARY_LINK};
use storage::{Address, Script};

use super::in_place::ProgramPlace;
use super::*;
use crate::crafted::Crafted;

const OWN: &str = "/bin/cat";

/// A folder that others may enter, as a shared one must be; temporary folders are closed.
fn open_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    folder
}

/// A cache for the nodes of a cluster.
fn open(folder: &str) -> Cache {
    Cache {
        folder: folder.to_owned(),
        readers: Readers::Nodes,
    }
}

fn named(program: &Path) -> NamedProgram {
    NamedProgram {
        name: program.into(),
        first_in: None,
    }
}

fn request(root: &Path, program: &Path) -> StagingRequest<'static> {
    StagingRequest {
        // Any program of this machine; the test's own is large.
        own_binary: OWN.into(),
        stages_own: true,
        programs: vec![named(program)],
        shipped: Default::default(),
        venv: None,
        processes: 1,
        ship_libraries: true,
        place: ProgramPlace::Copy,
        manager: ProcessManager::Auto,
        root: Some(format!("file:{}", root.display())),
        hadoop: &|_| None,
        environment: &|_| None,
        user: "alice".into(),
        conf_dir: None,
        nodes_are_ours: false,
        moved: Arc::default(),
    }
}

fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path
}

fn path_of(staged: &Staged) -> PathBuf {
    staged.url.strip_prefix("file:").unwrap().into()
}

#[tokio::test]
async fn the_second_run_uploads_nothing_and_changes_no_time() {
    let root = open_folder();
    let program = Path::new("/bin/ls");
    let first = stage(request(&root.path().join("a/b"), program))
        .await
        .unwrap();
    assert_eq!(first.programs[0].link, "ls");
    assert_eq!(
        first.root_url,
        format!("file:{}/a/b", root.path().display())
    );
    assert_eq!(
        first.programs[0].library_folder.as_deref(),
        Some(LIBRARY_LINK)
    );
    let links: Vec<&str> = first
        .staged
        .iter()
        .map(|staged| staged.link.as_str())
        .collect();
    assert_eq!(links, [BINARY_LINK, "ls", LIBRARY_LINK]);
    let sizes: u64 = first.staged.iter().map(|staged| staged.size).sum();
    assert_eq!(first.uploaded_bytes, sizes);
    for staged in &first.staged {
        let metadata = fs::metadata(path_of(staged)).unwrap();
        assert_eq!(metadata.len(), staged.size);
        assert_eq!(
            metadata.mtime() * 1000,
            staged.modified_ms,
            "a whole second"
        );
        assert_eq!(metadata.mtime_nsec(), 0);
        assert_eq!(metadata.mode() & 0o777, 0o755);
    }
    assert_eq!(
        fs::read(path_of(&first.staged[1])).unwrap(),
        fs::read(program).unwrap()
    );
    let archive = &first.staged[2];
    assert_eq!(archive.kind, StagedKind::Archive);
    assert!(archive.url.ends_with(".tar"));
    let tar = fs::File::open(path_of(archive)).unwrap();
    let mut names = tar::Archive::new(tar);
    let names = names
        .entries()
        .unwrap()
        .map(|entry| entry.unwrap().path().unwrap().into_owned());
    let names: Vec<PathBuf> = names.collect();
    assert!(names.contains(&"libselinux.so.1".into()), "{names:?}");
    assert!(
        !names.iter().any(|name| name.starts_with("libc.so.6")),
        "{names:?}"
    );

    let second = stage(request(&root.path().join("a/b"), program))
        .await
        .unwrap();
    assert_eq!(second.uploaded_bytes, 0);
    assert_eq!(second.staged, first.staged);
    let left = fs::read_dir(root.path().join("a/b/cache")).unwrap().count();
    assert_eq!(left, 3, "no temporary file stays");
}

#[tokio::test]
async fn runs_at_the_same_time_agree() {
    let (root, files) = (open_folder(), open_folder());
    let program = script(files.path(), "job", "#!/bin/sh\nexit 7\n");
    let runs = (0..8).map(|_| stage(request(root.path(), &program)));
    let mut outcomes = Vec::new();
    let mut runs: JoinSet<_> = runs.collect();
    while let Some(outcome) = runs.join_next().await {
        outcomes.push(outcome.unwrap().unwrap());
    }
    for outcome in &outcomes {
        assert_eq!(outcome.staged, outcomes[0].staged);
        assert_eq!(
            (outcome.staged.len(), &outcome.programs[0].library_folder),
            (2, &None)
        );
    }
    assert_eq!(fs::read_dir(root.path().join("cache")).unwrap().count(), 2);
}

#[tokio::test]
async fn a_program_with_our_name_gets_another_link() {
    let (root, files) = (open_folder(), open_folder());
    let program = script(files.path(), BINARY_LINK, "#!/bin/sh\n");
    let outcome = stage(request(root.path(), &program)).await.unwrap();
    assert_eq!(outcome.programs[0].link, "program-gerbil-run");
    assert_ne!(outcome.staged[0].url, outcome.staged[1].url);
}

#[tokio::test]
async fn programs_of_one_name_get_a_link_each_and_one_program_gets_one() {
    let root = open_folder();
    let (one, other) = (open_folder(), open_folder());
    let first = script(one.path(), "job", "#!/bin/sh\nexit 1\n");
    let second = script(other.path(), "job", "#!/bin/sh\nexit 2\n");
    let search = NamedProgram {
        name: "job".into(),
        first_in: Some(other.path().into()),
    };
    let outcome = stage(StagingRequest {
        programs: vec![named(&first), named(&second), named(&first), search],
        ..request(root.path(), &first)
    })
    .await
    .unwrap();
    let links: Vec<&str> = outcome.programs.iter().map(|p| p.link.as_str()).collect();
    assert_eq!(links, ["job", "job-2", "job", "job-2"]);
    assert_eq!(outcome.staged.len(), 3);
    let text = fs::read(path_of(&outcome.staged[2])).unwrap();
    assert_eq!(text, b"#!/bin/sh\nexit 2\n");
}

#[tokio::test]
async fn files_and_archives_come_along_under_their_names() {
    let (root, files) = (open_folder(), open_folder());
    let program = script(files.path(), "job", "#!/bin/sh\n");
    let data = script(files.path(), "data", "1 2 3");
    let archive = script(files.path(), "more.tar.gz", "as if");
    let shipped = |path: &Path, name: &str| Shipped {
        path: path.into(),
        name: name.into(),
    };
    let ship = |files, archives| {
        stage(StagingRequest {
            shipped: [files, archives],
            ..request(root.path(), &program)
        })
    };
    let two = vec![shipped(&data, "data"), shipped(&data, "input")];
    let outcome = ship(two, vec![shipped(&archive, "more")]).await.unwrap();
    let found: Vec<(&str, StagedKind)> = outcome
        .staged
        .iter()
        .skip(2)
        .map(|staged| (staged.link.as_str(), staged.kind))
        .collect();
    let file = StagedKind::File;
    assert_eq!(
        found,
        [
            ("data", file),
            ("input", file),
            ("more", StagedKind::Archive)
        ]
    );
    assert!(outcome.staged[4].url.ends_with(".tar.gz"));
    for (files, archives, words) in [
        (vec![shipped(&data, "job")], vec![], "taken"),
        (vec![shipped(&data, "a$b")], vec![], "another name"),
        (vec![shipped(files.path(), "folder")], vec![], "--archives"),
        (vec![], vec![shipped(&data, "data")], ".tar.gz"),
    ] {
        let refused = ship(files, archives).await.unwrap_err();
        assert!(refused.to_string().contains(words), "{refused}");
        assert_eq!(refused.exit(), Exit::Usage);
    }
}

#[tokio::test]
async fn this_binary_as_the_program_is_uploaded_once() {
    let root = open_folder();
    let outcome = stage(request(root.path(), Path::new(OWN))).await.unwrap();
    assert_eq!(outcome.staged[0].url, outcome.staged[1].url);
    assert_ne!(outcome.staged[0].link, outcome.staged[1].link);
    let archive = outcome.staged.get(2).map_or(0, |archive| archive.size);
    assert_eq!(outcome.uploaded_bytes, outcome.staged[0].size + archive);
}

#[tokio::test]
async fn a_folder_closed_to_the_nodes_is_refused_with_its_mode() {
    let root = open_folder();
    let closed = root.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, Permissions::from_mode(0o750)).unwrap();
    let refused = stage(request(&closed.join("deep"), Path::new("/bin/ls")))
        .await
        .unwrap_err();
    let said = refused.to_string();
    assert!(
        said.contains(&format!("{} has mode 0750", closed.display())),
        "{said}"
    );
    assert!(said.contains("chmod o+x"), "{said}");
    assert_eq!(refused.exit(), Exit::Staging);
    assert!(!closed.join("deep").exists());
}

#[tokio::test]
async fn a_file_of_the_wrong_length_is_never_used() {
    let (root, files) = (open_folder(), open_folder());
    let program = script(files.path(), "job", "#!/bin/sh\n");
    let outcome = stage(request(root.path(), &program)).await.unwrap();
    fs::write(path_of(&outcome.staged[1]), "#!").unwrap();
    let refused = stage(request(root.path(), &program)).await.unwrap_err();
    let said = refused.to_string();
    assert!(said.contains("should have 10 bytes and has 2"), "{said}");
}

#[tokio::test]
async fn what_somebody_else_may_have_put_into_the_cache_is_not_used() {
    let files = open_folder();
    let program = script(files.path(), "job", "#!/bin/sh\n");
    let refused = |root: PathBuf| {
        let program = program.clone();
        async move {
            let refused = stage(request(&root, &program)).await.unwrap_err();
            assert_eq!(refused.exit(), Exit::Staging, "{refused}");
            refused.to_string()
        }
    };
    // Planted before the first run: folder and file have the right names, and the file its length.
    let root = open_folder();
    let cache = root.path().join("cache");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, Permissions::from_mode(0o777)).unwrap();
    let said = refused(root.path().into()).await;
    assert!(said.contains("mode is 0777"), "{said}");
    assert!(said.contains(cache.to_str().unwrap()), "{said}");

    let root = open_folder();
    let outcome = stage(request(root.path(), &program)).await.unwrap();
    let staged = path_of(&outcome.staged[1]);
    fs::set_permissions(&staged, Permissions::from_mode(0o757)).unwrap();
    let said = refused(root.path().into()).await;
    assert!(said.contains("mode is 0757"), "{said}");
    fs::set_permissions(&staged, Permissions::from_mode(0o755)).unwrap();
    assert!(stage(request(root.path(), &program)).await.is_ok());
    // Only root can give a file away.
    for path in [&staged, &root.path().join("cache")] {
        if std::os::unix::fs::chown(path, Some(65_534), None).is_ok() {
            let said = refused(root.path().into()).await;
            assert!(said.contains("belongs to nobody"), "{said}");
            std::os::unix::fs::chown(path, Some(0), None).unwrap();
        }
    }

    let root = open_folder();
    fs::set_permissions(root.path(), Permissions::from_mode(0o777)).unwrap();
    let open = stage(request(root.path(), &program)).await.unwrap_err();
    assert!(open.to_string().contains("chmod +t"), "{open}");
    fs::set_permissions(root.path(), Permissions::from_mode(0o1777)).unwrap();
    assert!(stage(request(root.path(), &program)).await.is_ok());
}

#[tokio::test]
async fn now_is_what_the_file_system_says() {
    let root = open_folder();
    let shared = Storage::open(&Address::Shared).unwrap();
    let folder = root.path().to_str().unwrap();
    let told = clock::now_ms(&shared, &open(folder)).await.unwrap();
    assert!(now_ms().abs_diff(told) < 10_000, "{told}");
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    // A clock that is wrong, by much and either way, is a reason to ask for the time, and no more.
    let file = root.path().join("file");
    fs::write(&file, "1").unwrap();
    for (clock, is_due) in [(0, false), (40, true), (-40, true)] {
        let now_ms = told + clock * 24 * 3_600_000;
        let found = upload::look(&shared, folder, "file", 1, now_ms).await;
        assert_eq!(found.unwrap().unwrap().mark.is_some(), is_due, "{clock}");
    }
    assert_eq!(clock::now_ms(&shared, &open("/no/such/folder")).await, None);
}

#[tokio::test]
async fn a_missing_program_is_not_found_before_anything_is_written() {
    let root = open_folder();
    let folder = root.path().join("staging");
    let lost = stage(request(&folder, Path::new("/no/such/program")))
        .await
        .unwrap_err();
    assert_eq!(lost.exit(), Exit::NotFound);
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_root_that_is_no_folder_is_refused() {
    let root = Path::new("/dev/null");
    let refused = stage(request(root, Path::new("/bin/ls")))
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("/dev/null is not a folder"),
        "{refused}"
    );
}

/// Sets a file's times back by days.
fn age(path: &Path, modified: u64, used: u64) {
    let back = |days: u64| SystemTime::now() - Duration::from_secs(days * 86_400);
    let times = fs::FileTimes::new()
        .set_modified(back(modified))
        .set_accessed(back(used));
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_times(times).unwrap();
}

#[tokio::test]
async fn use_is_noted_without_touching_the_time_that_yarn_compares() {
    let (root, files) = (open_folder(), open_folder());
    let program = script(files.path(), "job", "#!/bin/sh\n");
    let outcome = stage(request(root.path(), &program)).await.unwrap();
    let path = path_of(&outcome.staged[1]);
    age(&path, 60, 50);
    let before = fs::metadata(&path).unwrap();
    let again = stage(request(root.path(), &program)).await.unwrap();
    let after = fs::metadata(&path).unwrap();
    assert_eq!(after.modified().unwrap(), before.modified().unwrap());
    assert_eq!(
        again.staged[1].modified_ms,
        before.mtime() * 1000 + before.mtime_nsec() / 1_000_000
    );
    assert!(after.accessed().unwrap() > before.accessed().unwrap() + Duration::from_secs(86_400));
}

#[tokio::test]
async fn what_was_unused_for_long_is_removed() {
    let root = open_folder();
    let cache = root.path().join("cache");
    fs::create_dir(&cache).unwrap();
    let file = |name: &str, modified: u64, used: u64| {
        let path = cache.join(name);
        fs::write(&path, "old").unwrap();
        age(&path, modified, used);
        path
    };
    let unused = file(&"0".repeat(64), 50, 40);
    let used = file(&"1".repeat(64), 50, 20);
    let unknown = file(&"2".repeat(64), 50, 50);
    let foreign = file("notes", 50, 40);
    let broken_off = file(".uploading-3", 2, 2);
    let shared = Storage::open(&Address::Shared).unwrap();
    let cache = cache.to_str().unwrap();
    let now_ms = clock::now_ms(&shared, &open(cache)).await.unwrap();
    collect::collect(&shared, cache, now_ms).await;
    assert!(!unused.exists() && !broken_off.exists());
    assert!(used.exists() && unknown.exists() && foreign.exists());
}

async fn place_scripted(
    script: Script,
    contents: &[&str],
) -> (Result<BTreeMap<String, Cached>, StageError>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let items: Vec<StagedItem> = contents
        .iter()
        .map(|text| {
            let path = folder.path().join(text);
            fs::write(&path, text).unwrap();
            let (digest, size) = digest::of(&mut text.as_bytes()).unwrap();
            let source = upload::UploadSource::File { path, digest };
            let name = digest.to_string();
            StagedItem {
                link: (*text).into(),
                kind: StagedKind::File,
                wanted: upload::CacheFile { name, size, source },
            }
        })
        .collect();
    let storage = Arc::new(Storage::scripted(script));
    let root = Root {
        address: Address::Shared,
        path: "/".into(),
        home: None,
    };
    let placed = place(&storage, &root, &open("/cache"), &items, &Arc::default()).await;
    let left = storage.list("/cache", 10).await.unwrap();
    (placed, left.into_iter().map(|file| file.path).collect())
}

#[tokio::test]
async fn datanodes_that_refuse_are_tried_again_a_few_times() {
    let scripted = |refusals| Script {
        without_datanodes: refusals,
        ..Script::default()
    };
    let (placed, names) = place_scripted(scripted(2), &["one"]).await;
    assert_eq!(placed.unwrap().values().next().unwrap().uploaded, 3);
    assert_eq!(names.len(), 1);
    let (placed, names) = place_scripted(scripted(3), &["one"]).await;
    assert!(matches!(
        placed,
        Err(StageError::Storage(StorageError::DataNodes { .. }))
    ));
    assert!(names.is_empty(), "{names:?}");
}

#[tokio::test]
async fn a_failure_ends_the_other_uploads_and_leaves_nothing() {
    let scripted = Script {
        quota: Some(4),
        ..Script::default()
    };
    let (placed, names) = place_scripted(scripted, &["one", "two", "three"]).await;
    assert!(matches!(
        placed,
        Err(StageError::Storage(StorageError::Quota { .. }))
    ));
    assert!(names.is_empty(), "{names:?}");
}

#[tokio::test]
async fn a_name_that_appears_meanwhile_wins() {
    let scripted = |contents: &str| Script {
        rival: Some(contents.to_owned().into()),
        ..Script::default()
    };
    let (placed, names) = place_scripted(scripted("one"), &["one"]).await;
    assert_eq!(placed.unwrap().len(), 1);
    assert_eq!(names.len(), 1, "{names:?}");
    let (placed, _) = place_scripted(scripted("on"), &["one"]).await;
    assert!(matches!(placed, Err(StageError::Damaged { found: 2, .. })));
}

#[tokio::test]
async fn a_program_of_open_mpi_is_refused_before_anything_is_staged() {
    let (root, files) = (open_folder(), open_folder());
    let program = files.path().join("job");
    let linked = Crafted {
        needed: &["libmpi.so.40"],
        runpath: Some("$ORIGIN"),
        ..Crafted::default()
    };
    linked.write(&program);
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    Crafted::default().write(&files.path().join("libmpi.so.40"));
    let of = |processes| StagingRequest {
        processes,
        ..request(root.path(), &program)
    };
    let refused = stage(of(2)).await.unwrap_err();
    assert_eq!(refused.exit(), Exit::Impossible, "{refused}");
    let said = refused.to_string();
    for word in ["Open MPI (libmpi.so.40)", "2 processes", "job"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    // A job of one is what it takes itself for.
    assert!(stage(of(1)).await.is_ok());
}

#[tokio::test]
async fn a_program_that_loads_two_mpi_libraries_is_refused_with_who_needs_which() {
    let (root, files) = (open_folder(), open_folder());
    let needs = |name: &str, needed| {
        let path = files.path().join(name);
        let runpath = Some("$ORIGIN");
        let crafted = Crafted {
            needed,
            runpath,
            ..Crafted::default()
        };
        crafted.write(&path);
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    };
    let program = needs("job", &["libmpich.so.12", "libsolver.so.1"]);
    needs("libsolver.so.1", &["libmpi.so.40"]);
    for library in ["libmpich.so.12", "libmpi.so.40"] {
        needs(library, &[]);
    }
    let of = |processes| StagingRequest {
        processes,
        ..request(root.path(), &program)
    };
    let refused = stage(of(2)).await.unwrap_err();
    assert_eq!(refused.exit(), Exit::Impossible, "{refused}");
    let said = refused.to_string();
    for words in [
        "libmpich.so.12 is needed by",
        "/job, and libmpi.so.40 by",
        "/libsolver.so.1;",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_program_of_open_mpi_runs_with_its_libpmix_where_it_lies_and_on_nodes() {
    let (root, files) = (open_folder(), open_folder());
    let program = files.path().join("job");
    let needs = |needed| Crafted {
        needed,
        runpath: Some("$ORIGIN"),
        ..Crafted::default()
    };
    needs(&["libmpi.so.40"]).write(&program);
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    needs(&["libpmix.so.2"]).write(&files.path().join("libmpi.so.40"));
    let library = files.path().join("libpmix.so.2");
    Crafted::default().write(&library);
    let at = |place| StagingRequest {
        processes: 2,
        place,
        ..request(root.path(), &program)
    };
    let staged = stage(at(ProgramPlace::Here)).await.unwrap();
    let library = library.canonicalize().unwrap().display().to_string();
    assert_eq!(staged.programs[0].pmix_library, Some(library));
    let manager = ProcessManager::Pmi;
    let refused = stage(StagingRequest {
        manager,
        ..at(ProgramPlace::Here)
    });
    let refused = refused.await.unwrap_err();
    assert!(refused.to_string().contains("leave --pm out"), "{refused}");
    // The nodes of a cluster may have neither: it comes with the program.
    let staged = stage(at(ProgramPlace::Usual)).await.unwrap();
    let placed = &staged.programs[0];
    let there = format!("{LIBRARY_LINK}/libpmix.so.2");
    assert_eq!(placed.pmix_library, Some(there));
    let root = ("OPAL_PREFIX".to_owned(), String::new());
    assert!(placed.library_variables.contains(&root), "{placed:?}");
}

#[tokio::test]
async fn what_nodes_of_the_user_fetch_is_open_to_nobody_else() {
    // Nobody else may enter what is above, either: that is no fault here.
    let root = tempfile::tempdir().unwrap();
    let files = open_folder();
    let program = script(files.path(), "job", "#!/bin/sh\n");
    let own = || StagingRequest {
        nodes_are_ours: true,
        ..request(&root.path().join("a/b"), &program)
    };
    let first = stage(own()).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    for staged in &first.staged {
        assert_eq!(mode(&path_of(staged)), 0o700, "{staged:?}");
    }
    let cache = path_of(&first.staged[0]).parent().unwrap().to_owned();
    assert_eq!(mode(&cache), 0o700);
    assert_eq!(stage(own()).await.unwrap().uploaded_bytes, 0);
    // The nodes of a cluster do not find there what they could not read.
    fs::set_permissions(root.path(), Permissions::from_mode(0o755)).unwrap();
    let open = stage(request(&root.path().join("a/b"), &program)).await;
    for staged in &open.unwrap().staged {
        assert_eq!(mode(&path_of(staged)), 0o755, "{staged:?}");
    }
}

/// An environment of Python with the program `of` as its interpreter; the answer is that.
fn environment_with(folder: &Path, of: &str) -> PathBuf {
    fs::create_dir_all(folder.join("bin")).unwrap();
    fs::create_dir_all(folder.join("conda-meta")).unwrap();
    fs::write(folder.join("bin/data"), "of the environment").unwrap();
    let python = folder.join("bin/python3");
    fs::copy(of, &python).unwrap();
    python
}

#[tokio::test]
async fn an_environment_is_packed_for_a_cluster_and_lies_where_it_is_for_this_machine() {
    let (root, files) = (open_folder(), open_folder());
    let venv = files.path().join("v");
    let python = environment_with(&venv, "/bin/ls");
    let of = |ours| StagingRequest {
        venv: Some(venv.clone()),
        nodes_are_ours: ours,
        ..request(&root.path().join("a/b"), Path::new("python3"))
    };
    let cluster = stage(of(false)).await.unwrap();
    assert!(cluster.staged.iter().any(|staged| staged.link == "v"));
    assert_eq!(cluster.programs[0].link, "v/bin/python3");
    assert_eq!(cluster.programs[0].own_path, None);
    assert_eq!(stage(of(false)).await.unwrap().uploaded_bytes, 0);

    let here = stage(of(true)).await.unwrap();
    assert!(here.staged.iter().all(|staged| staged.link != "v"));
    assert_eq!(
        here.programs[0].own_path.as_deref(),
        Some(python.to_str().unwrap())
    );
    // A folder that is no environment is refused on both.
    fs::remove_dir(venv.join("conda-meta")).unwrap();
    for ours in [false, true] {
        let refused = stage(of(ours)).await.unwrap_err().to_string();
        assert!(refused.contains("no environment of Python"), "{refused}");
    }
}
