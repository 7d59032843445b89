//! Commands of `gerbil hadoop fs` on a folder of this machine, each with what Hadoop's shell returns for it there.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;

use mapreduce_client::Cluster;
use mapreduce_client::places::FileSystems;
use proto_hadoop::conf::Configuration;
use tempfile::TempDir;

use super::files::Shell;
use super::words::{Asked, asked};

/// A folder in which commands are given.
struct Bed {
    folder: TempDir,
    places: FileSystems,
}

impl Bed {
    fn new() -> Self {
        let settings = tempfile::tempdir().unwrap();
        fs::write(settings.path().join("yarn-site.xml"), "<configuration/>").unwrap();
        let settings = settings.path().to_str().unwrap();
        let env = |name: &str| (name == "HADOOP_CONF_DIR").then(|| settings.to_owned());
        let cluster = Cluster {
            configuration: Configuration::load(&env).unwrap(),
            user: "alice".into(),
        };
        Self {
            folder: tempfile::tempdir().unwrap(),
            places: FileSystems::new(Arc::new(cluster)),
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn has(&self, name: &str) -> bool {
        self.path().join(name).exists()
    }

    /// What a command returns; `@` in its words is the folder.
    async fn code(&self, line: &str) -> u8 {
        self.run(line).await.code
    }

    /// What it prints.
    async fn lines(&self, line: &str) -> Vec<String> {
        self.run(line).await.lines
    }

    async fn run(&self, line: &str) -> Shell<'_> {
        let line = line.replace('@', self.path().to_str().unwrap());
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let Ok(Asked::Files(task)) = asked(&[vec!["fs".to_owned()], words].concat()) else {
            panic!("{line} is not understood");
        };
        let mut shell = Shell::new(&self.places);
        shell.run(task).await.unwrap();
        shell
    }
}

#[tokio::test]
async fn what_is_refused_of_one_path_leaves_the_next_ones_their_turn() {
    let bed = Bed::new();
    fs::create_dir(bed.path().join("from")).unwrap();
    // Nobody may read it as a file, not even root.
    let _socket = UnixListener::bind(bed.path().join("from/a")).unwrap();
    fs::write(bed.path().join("from/b"), "b").unwrap();
    assert_eq!(bed.code("-get @/from @/to").await, 1);
    assert!(bed.has("to/b") && !bed.has("to/a"));
    assert_eq!(bed.code("-cat @/from/a @/from/b").await, 1);
    // A name that is too long for any.
    let long = "x".repeat(300);
    let removed = format!("-rm -skipTrash @/{long} @/from/b");
    assert_eq!(bed.code(&removed).await, 1);
    assert!(!bed.has("from/b"));
    let made = format!("-mkdir @/{long} @/new");
    assert_eq!(bed.code(&made).await, 1);
    assert!(bed.has("new"));
}

#[tokio::test]
async fn folders_above_are_not_made() {
    let bed = Bed::new();
    for name in ["folder", "five"] {
        fs::create_dir(bed.path().join(name)).unwrap();
    }
    for name in ["folder/a", "folder/b"] {
        fs::write(bed.path().join(name), name).unwrap();
    }
    for line in [
        "-put @/folder/a @/no/a",
        "-put @/folder @/no/",
        "-put @/folder/a @/no/.",
        "-touchz @/no/a",
        "-touchz @/folder/a/b",
        "-get @/folder/a @/no/a",
        "-get @/folder/a @/no/",
        "-get @/folder/* @/no",
        "-get @/folder/* @/folder/a",
    ] {
        assert_eq!(bed.code(line).await, 1, "{line}");
        assert!(!bed.has("no"), "{line}");
    }
    for (line, made) in [
        ("-put @/folder/a @/one", "one"),
        ("-put @/folder @/two", "two/a"),
        ("-put @/folder/a @/two/c", "two/c"),
        ("-touchz @/two/d", "two/d"),
        ("-get @/folder/a @/three", "three"),
        ("-get @/folder @/four", "four/b"),
        ("-get @/folder/* @/five/", "five/b"),
    ] {
        assert_eq!(bed.code(line).await, 0, "{line}");
        assert!(bed.has(made), "{line}");
    }
}

#[tokio::test]
async fn folders_are_tested_counted_and_removed() {
    let bed = Bed::new();
    fs::create_dir(bed.path().join("folder")).unwrap();
    fs::create_dir(bed.path().join("folder/none")).unwrap();
    fs::write(bed.path().join("folder/a"), "four").unwrap();
    assert_eq!(bed.code("-test -z @/folder").await, 0);
    assert_eq!(bed.code("-test -z @/folder/a").await, 1);
    let lines = bed.lines("-count @/folder @/folder/a").await;
    let top = bed.path().to_str().unwrap();
    assert_eq!(
        lines,
        [
            format!("           2            1                  4 {top}/folder"),
            format!("           0            1                  4 {top}/folder/a"),
        ]
    );
    let line = "-rmdir @/folder @/folder/a @/gone @/folder/none";
    assert_eq!(bed.code(line).await, 1);
    assert!(bed.has("folder/a") && !bed.has("folder/none"));
    assert_eq!(bed.code("-rm -skipTrash @/folder/a").await, 0);
    assert_eq!(bed.code("-rmdir @/folder").await, 0);
    assert!(!bed.has("folder"));
}

#[tokio::test]
async fn files_are_replaced_where_that_is_asked_for() {
    let bed = Bed::new();
    fs::create_dir(bed.path().join("folder")).unwrap();
    for (name, text) in [("new", "new"), ("too", "too"), ("folder/new", "old")] {
        fs::write(bed.path().join(name), text).unwrap();
    }
    let text = || fs::read_to_string(bed.path().join("folder/new")).unwrap();
    assert_eq!(bed.code("-get @/new @/too @/folder").await, 1);
    assert!(bed.has("folder/too") && text() == "old");
    assert_eq!(bed.code("-copyToLocal -f @/new @/too @/folder").await, 0);
    assert_eq!(text(), "new");
}
