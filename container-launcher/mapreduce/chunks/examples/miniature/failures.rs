//! How long a token takes from one engine to another: when it is given back, when its engine is killed, and when its broker
//! is.

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use gerbil_chunks::now;
use gerbil_task::{Connection, FromEngine, ToEngine, VERSION};
use read_broker::Broker;

use crate::engine::{EngineWords, GPU};
use crate::figures::MIB;
use crate::play::{Played, begin, end, input, seconds, settings, start};

const DEADLINE: Duration = Duration::from_secs(30);
const TRIPS: usize = 2000;
const KILLS: usize = 20;

/// An engine without threads.
fn connect(folder: &Path, job: &str) -> Result<Connection> {
    let until = Instant::now() + DEADLINE;
    let stream = loop {
        match UnixStream::connect(read_broker::socket(folder, GPU)) {
            Ok(stream) => break stream,
            Err(error) if Instant::now() > until => return Err(error.into()),
            Err(_) => std::thread::park_timeout(Duration::from_millis(1)),
        }
    };
    let mut engine = Connection::new(stream).of_engine();
    engine.set_deadline(Some(DEADLINE))?;
    engine.send(&FromEngine::Hello {
        version: VERSION,
        job: job.to_owned(),
        gpu: GPU.to_owned(),
        container: String::new(),
    })?;
    let welcome: ToEngine = engine.receive()?;
    ensure!(matches!(welcome, ToEngine::Welcome { .. }), "{welcome:?}");
    Ok(engine)
}

fn ready(engine: &mut Connection) -> Result<()> {
    engine.send(&FromEngine::Ready {
        task: 0,
        chunk: 1 << 20,
        bytes: 1 << 50,
        priority: 1,
    })?;
    Ok(())
}

fn granted(engine: &mut Connection) -> Result<()> {
    match engine.receive()? {
        ToEngine::Read { .. } => Ok(()),
        other => bail!("{other:?} is no token"),
    }
}

fn say(what: &str, mut spans: Vec<u64>, limit: Duration) {
    spans.sort_unstable();
    let of = |place: usize| spans.get(place).copied().map_or(f64::NAN, seconds) * 1000.0;
    println!(
        "{what}: median {:.3} ms, longest {:.3} ms of {} (at most {limit:?})",
        of(spans.len() / 2),
        of(spans.len().saturating_sub(1)),
        spans.len()
    );
}

/// From one engine that has read to the other one, which reads next.
pub(crate) fn token() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let _broker = Broker::start(settings(folder.path(), "spmario"), |_| (), |_| ())?;
    let mut engines = [connect(folder.path(), "a")?, connect(folder.path(), "b")?];
    for engine in &mut engines {
        // Of one buffer, so that none is granted two chunks in a row.
        ready(engine)?;
    }
    let mut spans = Vec::new();
    let [a, b] = &mut engines;
    granted(a)?;
    for _ in 0..TRIPS {
        for (from, to) in [(0, 1), (1, 0)] {
            let pair: [&mut Connection; 2] = match (from, to) {
                (0, 1) => [&mut *a, &mut *b],
                _ => [&mut *b, &mut *a],
            };
            let [from, to] = pair;
            let before = now();
            from.send(&FromEngine::Read { task: 0 })?;
            granted(to)?;
            spans.push(now().saturating_sub(before));
            ready(from)?;
        }
    }
    say(
        "a token, from one engine to another",
        spans,
        Duration::from_micros(100),
    );
    Ok(())
}

/// A process that keeps the token.
pub(crate) fn hold(folder: &Path) -> Result<()> {
    let mut engine = connect(folder, "holder")?;
    ready(&mut engine)?;
    granted(&mut engine)?;
    println!("ready");
    drop(std::io::stdin().read_exact(&mut [0]));
    Ok(())
}

/// A process that has the broker, or stands by.
pub(crate) fn broker(folder: &Path, order: &str) -> Result<()> {
    let broker = Broker::start(settings(folder, order), |_| (), |_| ())?;
    println!("ready");
    drop(std::io::stdin().read_exact(&mut [0]));
    drop(broker);
    Ok(())
}

pub(crate) fn print() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    let holder = ["holder".to_owned(), folder.display().to_string()];
    let mut spans = Vec::new();
    {
        let _broker = Broker::start(settings(folder, "spmario"), |_| (), |_| ())?;
        for _ in 0..KILLS {
            let (mut child, _out) = start(&holder)?;
            let mut waits = connect(folder, "waits")?;
            ready(&mut waits)?;
            let before = now();
            child.kill()?;
            granted(&mut waits)?;
            spans.push(now().saturating_sub(before));
            child.wait()?;
        }
    }
    say(
        "the engine that has the token is killed: until another has it",
        spans,
        Duration::from_millis(100),
    );
    brokers(folder)
}

/// Brokers are killed while two engines read.
fn brokers(folder: &Path) -> Result<()> {
    const CHUNKS: u64 = 60;
    input(folder, CHUNKS * MIB)?;
    let broker = || -> Result<_> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["broker", &folder.display().to_string(), "spmario"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut out = child.stdout.take().context("there is no pipe")?;
        out.read_exact(&mut [0; 6])?;
        Ok(child)
    };
    let mut first = broker()?;
    drop(connect(folder, "asks")?);
    let mut second = broker()?;
    let words = ["a", "b"].map(|job| EngineWords {
        folder: folder.to_owned(),
        job: job.to_owned(),
        mib: MIB,
        first: 0,
        chunks: CHUNKS / 2,
        tasks: 2,
        overlap: true,
        by_copy: true,
        kernel: 45,
    });
    let mut engines = Vec::new();
    for words in &words {
        engines.push(start(&words.words())?);
    }
    for (child, _) in &mut engines {
        begin(child)?;
    }
    std::thread::park_timeout(Duration::from_millis(700));
    let killed = now();
    first.kill()?;
    first.wait()?;
    // The socket of the one that was killed is still there, and nobody listens.
    drop(connect(folder, "asks")?);
    let listens = now().saturating_sub(killed);
    let mut played = Played::default();
    for (engine, words) in engines.into_iter().zip(&words) {
        end(engine, words, &mut played)?;
    }
    let later = played.chunks.iter().map(|chunk| chunk.io.begin);
    let later = later.filter(|begin| *begin > killed).min();
    println!(
        "the broker is killed: another one listens after {:.3} s (at most 1 s); the next chunk is read after {:.3} s; all {} \
         chunks are read once, engines have had {} brokers",
        seconds(listens),
        seconds(later.unwrap_or(u64::MAX).saturating_sub(killed)),
        played.chunks.len(),
        played.brokers,
    );
    drop(second.stdin.take());
    second.wait()?;
    let left = read_broker::socket(folder, GPU).exists();
    println!("a socket is left when the last broker has ended: {left}");
    Ok(())
}
