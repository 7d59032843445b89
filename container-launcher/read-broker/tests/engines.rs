//! Engines on a broker's socket: what they are told, and what becomes of them.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as the tests do")]

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use gerbil_task::{Connection, FrameError, FromEngine, ToEngine, VERSION};
use read_broker::{Broker, BrokerSettings, HungEngine, socket};

/// For whatever happens at once on a machine that is not busy.
const SOON: Duration = Duration::from_secs(60);
const MIB: u64 = 1 << 20;

/// The first broker makes it.
fn turns(folder: &Path) -> PathBuf {
    folder.join("turns")
}

fn settings(folder: &Path) -> BrokerSettings {
    BrokerSettings {
        folder: turns(folder),
        key: "nvidia0".to_owned(),
        order: "spmario".to_owned(),
        io_timeout: SOON,
    }
}

fn start(settings: BrokerSettings) -> (Broker, mpsc::Receiver<HungEngine>) {
    let (hung, told) = mpsc::sync_channel(16);
    let hung = move |engine: &HungEngine| hung.send(engine.clone()).unwrap();
    (Broker::start(settings, hung, |_| ()).unwrap(), told)
}

/// Connects when somebody listens.
fn connect(folder: &Path) -> Connection {
    let until = Instant::now() + SOON;
    loop {
        if let Ok(stream) = UnixStream::connect(socket(&turns(folder), "nvidia0")) {
            let engine = Connection::new(stream).of_engine();
            engine.set_deadline(Some(SOON)).unwrap();
            return engine;
        }
        assert!(Instant::now() < until, "nobody listens");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

fn hello(job: &str) -> FromEngine {
    FromEngine::Hello {
        version: VERSION,
        job: job.to_owned(),
        gpu: "nvidia0".to_owned(),
        container: String::new(),
    }
}

fn ready(engine: &mut Connection) {
    let ready = FromEngine::Ready {
        task: 0,
        chunk: MIB,
        bytes: 100 * MIB,
        priority: 1,
    };
    engine.send(&ready).unwrap();
}

/// An engine with a task of a buffer.
fn engine(folder: &Path, job: &str) -> Connection {
    let mut engine = connect(folder);
    engine.send(&hello(job)).unwrap();
    let welcome = ToEngine::Welcome { version: VERSION };
    assert_eq!(engine.receive::<ToEngine>().unwrap(), welcome);
    ready(&mut engine);
    engine
}

fn has_token(engine: &mut Connection) {
    let read = ToEngine::Read { task: 0, chunks: 1 };
    assert_eq!(engine.receive::<ToEngine>().unwrap(), read);
}

#[test]
fn engines_read_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let (_broker, _hung) = start(settings(folder.path()));
    let mut a = engine(folder.path(), "a");
    has_token(&mut a);
    let mut b = engine(folder.path(), "b");
    b.set_deadline(Some(Duration::from_millis(50))).unwrap();
    assert!(matches!(b.receive::<ToEngine>(), Err(FrameError::Silent)));
    b.set_deadline(Some(SOON)).unwrap();
    a.send(&FromEngine::Read { task: 0 }).unwrap();
    has_token(&mut b);
    ready(&mut a);
    b.send(&FromEngine::Read { task: 0 }).unwrap();
    has_token(&mut a);
    // One that is gone gives its token back.
    ready(&mut b);
    drop(a);
    has_token(&mut b);
}

#[test]
fn the_next_broker_takes_over_and_the_last_leaves_no_socket() {
    let folder = tempfile::tempdir().unwrap();
    let (first, _hung) = start(settings(folder.path()));
    let mut a = engine(folder.path(), "a");
    has_token(&mut a);
    let (second, _hung) = start(settings(folder.path()));
    drop(first);
    assert!(matches!(a.receive::<ToEngine>(), Err(FrameError::Closed)));
    let mut a = engine(folder.path(), "a");
    has_token(&mut a);
    let path = second.socket().to_owned();
    drop(second);
    assert!(!path.exists());
    // What one that was killed has left is in nobody's way.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let (_third, _hung) = start(settings(folder.path()));
    has_token(&mut engine(folder.path(), "a"));
}

#[test]
fn an_engine_that_keeps_a_token_is_reported_and_parted_with() {
    let folder = tempfile::tempdir().unwrap();
    let (_broker, hung) = start(BrokerSettings {
        io_timeout: Duration::from_millis(50),
        ..settings(folder.path())
    });
    let mut a = engine(folder.path(), "a");
    has_token(&mut a);
    let told = hung.recv_timeout(SOON).unwrap();
    let pid = i32::try_from(std::process::id()).unwrap();
    assert_eq!(told, HungEngine { pid, task: 0 });
    let ToEngine::Refused { sentence } = a.receive().unwrap() else {
        panic!("it is not refused");
    };
    assert_eq!(sentence, "it has read a chunk of task 0 for too long");
    assert!(matches!(a.receive::<ToEngine>(), Err(FrameError::Closed)));
}

#[test]
fn what_makes_no_sense_ends_its_sender_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (_broker, _hung) = start(settings(folder.path()));
    let mut good = engine(folder.path(), "a");
    has_token(&mut good);
    let refused = |engine: &mut Connection| loop {
        match engine.receive() {
            Ok(ToEngine::Refused { sentence }) => return sentence,
            Ok(_) => {}
            Err(error) => panic!("{error}"),
        }
    };
    let path = socket(&turns(folder.path()), "nvidia0");
    for (bytes, sentence) in [
        (&b"\xff\xff\xff\xff"[..], "a frame of 4294967295 bytes"),
        (b"\x02\0\0\0{}", "type is missing"),
    ] {
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(bytes).unwrap();
        let said = refused(&mut Connection::new(stream).of_engine());
        assert!(said.contains(sentence), "{said}");
    }
    let old = FromEngine::Hello {
        version: VERSION + 1,
        job: String::new(),
        gpu: String::new(),
        container: String::new(),
    };
    for (messages, sentence) in [
        (vec![old], "version"),
        (vec![hello("b"), hello("b")], "hello twice"),
        (vec![FromEngine::Read { task: 0 }], "without a token"),
        (
            vec![hello("b"), FromEngine::Read { task: 0 }],
            "without a token",
        ),
        (vec![hello("b"), FromEngine::Ended { task: 7 }], "task 7"),
        (vec![hello(&"j".repeat(300))], "256 bytes"),
    ] {
        let mut engine = connect(folder.path());
        for message in &messages {
            engine.send(message).unwrap();
        }
        let said = refused(&mut engine);
        assert!(said.contains(sentence), "{said}");
    }
    good.send(&FromEngine::Read { task: 0 }).unwrap();
    ready(&mut good);
    has_token(&mut good);
}
