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
use it::results::{Axis, Chart, Figure, Series, Setting, Spread, Table};
use read_broker::Broker;

use crate::alone::MIB;
use crate::engine::{EngineWords, GPU};
use crate::play::{Played, begin, end, input, seconds, settings, start};

const DEADLINE: Duration = Duration::from_secs(30);
const TRIPS: usize = 2000;
const KILLS: usize = 20;
const BROKERS: usize = 5;
const CHUNKS: u64 = 60;

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

/// What was measured, in milliseconds.
struct BrokerRow {
    what: &'static str,
    spans: Spread,
    count: usize,
    /// At most.
    wanted: f64,
}

impl BrokerRow {
    fn new(what: &'static str, spans: &[u64], wanted: Duration) -> Result<Self> {
        let ms: Vec<f64> = spans.iter().map(|span| seconds(*span) * 1000.0).collect();
        Ok(Self {
            what,
            spans: Spread::of(&ms).context("nothing was measured")?,
            count: ms.len(),
            wanted: wanted.as_secs_f64() * 1000.0,
        })
    }
}

/// From one engine that has read to the other one, which reads next.
fn token(folder: &Path) -> Result<BrokerRow> {
    let _broker = Broker::start(settings(folder, "spmario"), |_| (), |_| ())?;
    let mut engines = [connect(folder, "a")?, connect(folder, "b")?];
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
    BrokerRow::new(
        "a token goes from one engine to another",
        &spans,
        Duration::from_micros(100),
    )
}

/// A process that keeps the token.
#[expect(clippy::print_stdout, reason = "its parent listens to what it prints")]
pub(crate) fn hold(folder: &Path) -> Result<()> {
    let mut engine = connect(folder, "holder")?;
    ready(&mut engine)?;
    granted(&mut engine)?;
    println!("ready");
    drop(std::io::stdin().read_exact(&mut [0]));
    Ok(())
}

/// A process that has the broker, or stands by.
#[expect(clippy::print_stdout, reason = "its parent listens to what it prints")]
pub(crate) fn serve(folder: &Path, order: &str) -> Result<()> {
    let broker = Broker::start(settings(folder, order), |_| (), |_| ())?;
    println!("ready");
    drop(std::io::stdin().read_exact(&mut [0]));
    drop(broker);
    Ok(())
}

fn killed_engines(folder: &Path) -> Result<BrokerRow> {
    let holder = ["holder".to_owned(), folder.display().to_string()];
    let mut spans = Vec::new();
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
    BrokerRow::new(
        "its engine is killed, until another one has it",
        &spans,
        Duration::from_millis(100),
    )
}

/// Brokers are killed while two engines read.
fn killed_broker(folder: &Path) -> Result<[u64; 2]> {
    let broker = || -> Result<_> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["broker-process", &folder.display().to_string(), "spmario"])
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
    let later = later.context("no chunk was read after the broker was killed")?;
    ensure!(
        u64::try_from(played.chunks.len())? == CHUNKS && played.brokers == 2,
        "{} chunks were read, and engines have had {} brokers",
        played.chunks.len(),
        played.brokers
    );
    drop(second.stdin.take());
    second.wait()?;
    let socket = read_broker::socket(folder, GPU);
    ensure!(
        !socket.exists(),
        "{} is left when the last broker has ended",
        socket.display()
    );
    Ok([listens, later.saturating_sub(killed)])
}

pub(crate) fn figure(folder: &Path, setting: Setting) -> Result<Figure> {
    input(folder, CHUNKS * MIB)?;
    let (mut listens, mut reads) = (Vec::new(), Vec::new());
    for _ in 0..BROKERS {
        let [listen, read] = killed_broker(folder)?;
        listens.push(listen);
        reads.push(read);
    }
    let second = Duration::from_secs(1);
    let rows = [
        token(folder)?,
        killed_engines(folder)?,
        BrokerRow::new(
            "its broker is killed, until another one listens",
            &listens,
            second,
        )?,
        BrokerRow::new(
            "its broker is killed, until an engine reads the next chunk, which may be granted already",
            &reads,
            second,
        )?,
    ];
    let mut table = Table::new(&["what", "median, ms", "longest, ms", "of", "wanted, ms"]);
    for row in &rows {
        table.row([
            row.what.to_owned(),
            format!("{:.3}", row.spans.median),
            format!("{:.3}", row.spans.max),
            row.count.to_string(),
            format!("{}", row.wanted),
        ]);
    }
    let bars = |of: fn(&BrokerRow) -> f64| {
        let at = |(place, row): (usize, &BrokerRow)| (place as f64, of(row));
        rows.iter().enumerate().map(at).collect()
    };
    let missed = rows.iter().filter(|row| row.spans.median > row.wanted);
    Ok(Figure {
        name: "spmario-broker".to_owned(),
        title: "The read broker's token, and what happens when its holder or the broker is killed"
            .to_owned(),
        command: crate::command("broker", 1),
        method: format!(
            "Two engines in one process say in turn that they have read, over their sockets to the broker's thread: \
             from that until the other one has the token. {KILLS} times a process that has it is killed with SIGKILL \
             while another engine waits. {BROKERS} times the process of the broker is, while two engines read a file \
             of {CHUNKS} chunks at 200 MB/s and another broker stands by: every chunk is read and computed once all \
             the same, and no socket is left in the end."
        ),
        paper: String::new(),
        findings: vec![format!(
            "{} of {} medians are above what is wanted.",
            missed.count(),
            rows.len()
        )],
        setting: setting.finish()?,
        table,
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::logarithmic("median, ms"),
            names: rows.iter().map(|row| row.what.to_owned()).collect(),
            stacked: false,
            series: vec![
                Series::measured("median", bars(|row| row.spans.median)),
                Series::given("wanted", bars(|row| row.wanted)),
            ],
        },
    })
}
