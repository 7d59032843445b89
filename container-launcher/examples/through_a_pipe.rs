//! What a pipe between two processes costs: a file that one process reads from HDFS, against a file that one
//! process reads and hands to another by a pipe; and the same of writing.
//!
//! `cargo run --release -p container-launcher --example through_a_pipe -- hdfs://HOST:PORT [MIB] [ROUNDS]`
//!
//! Each run is of processes of its own, whose processor time is counted when they have ended, the kernel's for
//! them included. Runs take turns; the first of each is not counted. Whoever has the bytes last looks at each of
//! them. `gerbil`'s tasks read and write in this way: the launcher speaks to HDFS, on one thread a slot and with its
//! setting of the allocator, and a task has pipes, to which it writes as its engine does. hdfs-native by itself runs
//! twice: as a program with `#[tokio::main]` has it, and on one thread, as the launcher does. Reading of known blocks is
//! without hdfs-native, as maps read what their job's client has listed.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

use bytes::BytesMut;
use gerbil_mapreduce::{Bytes, FixedOutput, OutputFormat, Settings};
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::resource::{UsageWho, getrusage};
use proto_hadoop::{Block, NameNodeClient};
use storage::{Address, BlockNode, CreateOptions, Known, LocatedBlock, Reader, Storage};
use tokio::net::unix::pipe;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// What a task reads and writes at once, bytes.
const BUFFER: usize = 256 << 10;
const MIB: u64 = 1 << 20;
const FOLDER: &str = "/through-a-pipe";

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["read", connect] => as_most_do(read_alone(connect.to_owned())),
        ["read-on-one", connect] => on_one_thread(read_alone(connect.to_owned())),
        ["read-known", connect] => on_one_thread(read_known(connect.to_owned())),
        ["feed", connect] => as_a_launcher(feed(connect.to_owned())),
        ["feed-known", connect] => as_a_launcher(feed_known(connect.to_owned())),
        ["look"] => look(),
        ["write", connect, mib] => as_most_do(write_alone(connect.to_owned(), mib.to_owned())),
        ["write-on-one", connect, mib] => {
            on_one_thread(write_alone(connect.to_owned(), mib.to_owned()))
        }
        ["make", mib] => make(mib),
        ["drain", connect] => as_a_launcher(drain(connect.to_owned())),
        [connect] => compare(connect, 1024, 5),
        [connect, mib] => mib
            .parse()
            .map_or_else(|_| usage(), |mib| compare(connect, mib, 5)),
        [connect, mib, rounds] => match (mib.parse(), rounds.parse()) {
            (Ok(mib), Ok(rounds)) => compare(connect, mib, rounds),
            _ => usage(),
        },
        _ => usage(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("through_a_pipe: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> Result<()> {
    Err("through_a_pipe hdfs://HOST:PORT [MIB] [ROUNDS]".into())
}

fn as_most_do(work: impl Future<Output = Result<()>>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(work)
}

fn on_one_thread(work: impl Future<Output = Result<()>> + Send + 'static) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    runtime.block_on(runtime.spawn(work))?
}

/// As the launcher brings what a task reads and writes.
fn as_a_launcher(work: impl Future<Output = Result<()>> + Send + 'static) -> Result<()> {
    job::allocator::set_up(container_launcher::KEPT);
    on_one_thread(work)
}

fn user() -> String {
    let user = std::env::var("HADOOP_USER_NAME").or_else(|_| std::env::var("USER"));
    user.unwrap_or_else(|_| "hadoop".to_owned())
}

fn open(connect: &str) -> Result<Storage> {
    Ok(Storage::open(&Address::Hdfs {
        connect: connect.to_owned(),
        origin: connect.to_owned(),
        user: user(),
        settings: Vec::new(),
    })?)
}

fn file() -> String {
    format!("{FOLDER}/file")
}

/// Looks at each byte.
fn lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

fn say(seen: usize) -> Result<()> {
    // So that nobody leaves the looking out.
    Ok(writeln!(std::io::stderr(), "{seen} lines")?)
}

async fn read_alone(connect: String) -> Result<()> {
    see(open(&connect)?.read_from(&file(), 0).await?).await
}

async fn read_known(connect: String) -> Result<()> {
    see(known(&connect).await?).await
}

async fn see(mut reader: Reader) -> Result<()> {
    let mut seen = 0;
    loop {
        let piece = reader.next().await?;
        if piece.is_empty() {
            return say(seen);
        }
        seen += lines(&piece);
    }
}

async fn feed(connect: String) -> Result<()> {
    pour(open(&connect)?.read_from(&file(), 0).await?).await
}

async fn feed_known(connect: String) -> Result<()> {
    pour(known(&connect).await?).await
}

async fn pour(reader: Reader) -> Result<()> {
    let out = std::io::stdout().as_fd().try_clone_to_owned()?;
    let to = pipe::Sender::from_owned_fd(out)?;
    Ok(reader.pour(to).await?)
}

/// The file, by where its blocks are.
async fn known(connect: &str) -> Result<Reader> {
    let name_node = connect.trim_start_matches("hdfs://").to_owned();
    let client = NameNodeClient::new(vec![name_node], &user());
    let listed = client.blocks(&file(), 1).await?.unwrap_or_default();
    let listed = listed.into_iter().next().ok_or("no file")?;
    let (size, modified_ms) = (listed.size, listed.modified_ms);
    let blocks: Option<Vec<LocatedBlock>> = listed.blocks.into_iter().map(located).collect();
    let blocks = blocks.ok_or("a block that is not plain")?;
    let known = Known {
        size,
        modified_ms,
        blocks,
    };
    Ok(open(connect)?.read_known(&file(), (0, size), known).await?)
}

fn located(block: Block) -> Option<LocatedBlock> {
    let plain = block.plain?;
    let nodes = block.nodes.into_iter().zip(plain.ports);
    let nodes = nodes.map(|(node, port)| BlockNode {
        host: node.host,
        address: node.address,
        port,
        rack: String::new(),
    });
    Some(LocatedBlock {
        offset: block.offset,
        length: block.length,
        pool: plain.pool,
        id: plain.id,
        generation: plain.generation,
        nodes: nodes.collect(),
    })
}

fn look() -> Result<()> {
    let (mut buffer, mut seen) = (vec![0; BUFFER], 0);
    loop {
        match std::io::stdin().read(&mut buffer)? {
            0 => return say(seen),
            read => seen += lines(buffer.get(..read).unwrap_or_default()),
        }
    }
}

/// A buffer of lines.
fn text() -> Vec<u8> {
    let line = b"it is a line of text that somebody has written\n";
    line.iter().copied().cycle().take(BUFFER).collect()
}

async fn write_alone(connect: String, mib: String) -> Result<()> {
    let storage = open(&connect)?;
    let mut writer = storage.create(&written(), CreateOptions::default()).await?;
    let mut text = BytesMut::from(&text()[..]);
    let mut left = mib.parse::<u64>()? * MIB;
    while left > 0 {
        // Each piece is memory of its own, as a task's would be.
        text = BytesMut::from(&text[..]);
        writer.write(text.clone().freeze()).await?;
        left = left.saturating_sub(BUFFER as u64);
    }
    writer.close().await?;
    Ok(())
}

fn make(mib: &str) -> Result<()> {
    let pieces = mib.parse::<u64>()? * MIB / BUFFER as u64;
    let out = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    Ok(write_as_a_task(out, pieces).map_err(|error| error.to_string())?)
}

fn write_as_a_task(out: File, pieces: u64) -> gerbil_mapreduce::Result<()> {
    let text = text();
    let settings = Settings::default();
    let mut out = <FixedOutput as OutputFormat<Bytes, Bytes>>::writer(out, &settings)?;
    for _ in 0..pieces {
        out.write(&[], &text)?;
    }
    out.finish()
}

async fn drain(connect: String) -> Result<()> {
    let storage = open(&connect)?;
    let mut writer = storage.create(&written(), CreateOptions::default()).await?;
    let input = std::io::stdin().as_fd().try_clone_to_owned()?;
    writer.fill(pipe::Receiver::from_owned_fd(input)?).await?;
    writer.close().await?;
    Ok(())
}

/// A name that nothing has.
fn written() -> String {
    format!("{FOLDER}/{}", std::process::id())
}

#[derive(Clone, Copy, Default)]
struct Cost {
    cpu: f64,
    wall: f64,
}

/// Runs processes beside each other, the first one's output being the second one's input.
fn run(roles: &[&[&str]]) -> Result<Cost> {
    let (began, before) = (Instant::now(), used()?);
    let mut children: Vec<Child> = Vec::new();
    let mut input = Stdio::null();
    for (number, role) in (1..).zip(roles) {
        let (from, to) = match number == roles.len() {
            true => (Stdio::null(), Stdio::null()),
            false => {
                let (from, to) = std::io::pipe()?;
                // As much as a pipe of the launcher holds.
                fcntl(&to, FcntlArg::F_SETPIPE_SZ(1 << 20)).ok();
                (from.into(), to.into())
            }
        };
        let child = Command::new(std::env::current_exe()?)
            .args(*role)
            .stdin(input)
            .stdout(to)
            .stderr(Stdio::null())
            .spawn()?;
        input = from;
        children.push(child);
    }
    drop(input);
    for mut child in children {
        let status = child.wait()?;
        if !status.success() {
            return Err(format!("{roles:?}: {status}").into());
        }
    }
    Ok(Cost {
        cpu: used()? - before,
        wall: began.elapsed().as_secs_f64(),
    })
}

/// Processor time of all children that have ended, seconds.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52 microseconds")]
fn used() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let times = [usage.user_time(), usage.system_time()];
    let times = times.map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6);
    Ok(times.iter().sum())
}

async fn fresh(connect: String, mib: u64) -> Result<()> {
    let storage = open(&connect)?;
    storage.remove(FOLDER).await?;
    let mut writer = storage.create(&file(), CreateOptions::default()).await?;
    for _ in 0..mib * MIB / BUFFER as u64 {
        writer.write(text().into()).await?;
    }
    writer.close().await?;
    Ok(())
}

async fn removed(connect: String) -> Result<()> {
    Ok(open(&connect)?.remove(FOLDER).await?)
}

/// What is run, each by the name that is printed.
type Peers<'a> = [(&'static str, &'a [&'a [&'a str]])];

fn compare(connect: &str, mib: u64, rounds: usize) -> Result<()> {
    as_most_do(fresh(connect.to_owned(), mib))?;
    let size = mib.to_string();
    let reading: &Peers<'_> = &[
        ("reads by itself", &[&["read", connect]]),
        (
            "reads by itself, on one thread",
            &[&["read-on-one", connect]],
        ),
        ("reads by a pipe", &[&["feed", connect], &["look"]]),
        (
            "reads known blocks by itself, on one thread",
            &[&["read-known", connect]],
        ),
        (
            "reads known blocks by a pipe",
            &[&["feed-known", connect], &["look"]],
        ),
    ];
    let writing: &Peers<'_> = &[
        ("writes by itself", &[&["write", connect, &size]]),
        (
            "writes by itself, on one thread",
            &[&["write-on-one", connect, &size]],
        ),
        ("writes by a pipe", &[&["make", &size], &["drain", connect]]),
    ];
    for peers in [reading, writing] {
        let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); peers.len()];
        for round in 0..=rounds {
            for turn in 0..peers.len() {
                let peer = (round + turn) % peers.len();
                let cost = run(peers[peer].1)?;
                if round > 0 {
                    costs[peer].push(cost);
                }
            }
        }
        report(peers, costs, mib)?;
    }
    as_most_do(removed(connect.to_owned()))
}

#[expect(clippy::cast_precision_loss, reason = "a file of less than 2^52 MiB")]
fn report(peers: &Peers<'_>, mut costs: Vec<Vec<Cost>>, mib: u64) -> Result<()> {
    let gib = mib as f64 / 1024.0;
    let mut medians = Vec::new();
    let mut out = std::io::stdout();
    for ((name, _), costs) in peers.iter().zip(&mut costs) {
        costs.sort_by(|a, b| a.cpu.total_cmp(&b.cpu));
        let [low, middle, high] =
            [0, costs.len() / 2, costs.len() - 1].map(|at| costs[at].cpu / gib);
        medians.push(middle);
        let speed = mib as f64 / costs[costs.len() / 2].wall;
        let mb = (1 << 30) as f64 / 1e6 / middle;
        writeln!(
            out,
            "{name}: {middle:.3} CPU s a GiB ({low:.3} to {high:.3}), {mb:.0} MB a CPU second, {speed:.0} MiB/s"
        )?;
    }
    if let [default, one, pipes @ ..] = &medians[..] {
        // Each second one of what follows is a pipe.
        for pipe in pipes.iter().step_by(2) {
            let (alone, to_one) = (pipe / default, pipe / one);
            writeln!(out, "ratio {alone:.3}, to one thread {to_one:.3}")?;
        }
    }
    Ok(())
}
