//! Our input on its way to rank 0.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal as _, Read, Seek as _, SeekFrom};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use job::pass::show_job;
use job::wire;
use job::wire::clients_client::ClientsClient;
use nix::errno::Errno;
use tokio::sync::{Mutex, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Request;
use tonic::transport::Channel;

/// Chunks between the thread that reads and the network.
const INPUT_QUEUE: usize = 2;

/// What rank 0 reads as its standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StandardInput {
    /// Our own.
    #[default]
    Own,
    /// Nothing: who reads sees the end at once.
    None,
    /// A file.
    File(PathBuf),
}

/// What rank 0 reads, run after run.
#[derive(Clone, Debug)]
pub enum InputSource {
    /// Nothing: who reads sees the end at once.
    Nothing,
    /// A file, which every run reads from its beginning.
    File(PathBuf),
    /// Our own standard input, a file too: every run reads it from where we found it.
    Again(Arc<File>, u64),
    /// Our own standard input, or a pipe, that can be read once.
    Once(Arc<Pipe>),
}

/// An input that is read by one thread and given to whichever run is the present one.
#[derive(Debug)]
pub struct Pipe {
    /// `None`: our own standard input.
    path: Option<PathBuf>,
    pieces: Mutex<Option<mpsc::Receiver<Piece>>>,
    is_used: AtomicBool,
}

impl InputSource {
    /// What the user wants it to be.
    pub fn new(from: StandardInput) -> Self {
        match from {
            StandardInput::None => Self::Nothing,
            // It is opened once, when there is a job to read it: its writer goes with its reader.
            StandardInput::File(path) if path.metadata().is_ok_and(|there| !there.is_file()) => {
                Self::Once(Arc::new(Pipe::new(Some(path))))
            }
            StandardInput::File(path) => Self::File(path),
            StandardInput::Own => own(),
        }
    }

    /// A run has read of it what no other can.
    pub fn is_spent(&self) -> bool {
        matches!(self, Self::Once(pipe) if pipe.is_used.load(Ordering::Acquire))
    }
}

/// Our standard input.
fn own() -> InputSource {
    let file = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    if let Ok(mut file) = file
        && file.metadata().is_ok_and(|about| about.is_file())
        && let Ok(begin) = file.stream_position()
    {
        return InputSource::Again(Arc::new(file), begin);
    }
    InputSource::Once(Arc::new(Pipe::new(None)))
}

impl Pipe {
    fn new(path: Option<PathBuf>) -> Self {
        Self {
            path,
            pieces: Mutex::new(None),
            is_used: AtomicBool::new(false),
        }
    }

    /// As sentences call it.
    fn name(&self) -> String {
        match &self.path {
            None => STANDARD.to_owned(),
            Some(path) => format!("--input {}", path.display()),
        }
    }
}

/// A piece of input, or why there is no other.
type Piece = io::Result<wire::InputChunk>;

/// Copies the input to rank 0 until its end, or until the job has no use for it.
///
/// `job` is its number in its application. The thread that reads is not waited for: a read from a terminal ends only with the process.
///
/// # Errors
/// The input cannot be read to its end, as one sentence. Rank 0 has not seen an end of it.
pub(crate) async fn input(
    client: ClientsClient<Channel>,
    from: InputSource,
    job: u32,
) -> Result<(), String> {
    let reader = thread::Builder::new().name("input".into());
    let (sender, mut receiver) = mpsc::channel(INPUT_QUEUE);
    let started = match from {
        InputSource::Nothing => return Ok(()),
        InputSource::File(path) => {
            let name = format!("--input {}", path.display());
            let started = reader.spawn(move || match File::open(&path) {
                Ok(mut file) => read(&mut file, &sender, false),
                Err(error) => fail(&sender, error),
            });
            started.map(|_runs| name)
        }
        InputSource::Again(file, begin) => {
            let started = reader.spawn(move || {
                let mut file = file.as_ref();
                match file.seek(SeekFrom::Start(begin)) {
                    Ok(_) => read(&mut file, &sender, false),
                    Err(error) => fail(&sender, error),
                }
            });
            started.map(|_runs| STANDARD.to_owned())
        }
        InputSource::Once(pipe) => {
            let mut pieces = pipe.pieces.lock().await;
            let pieces = match &mut *pieces {
                Some(pieces) => pieces,
                empty => {
                    let path = pipe.path.clone();
                    let started = reader.spawn(move || match path {
                        None => read(&mut io::stdin().lock(), &sender, true),
                        Some(path) => match File::open(&path) {
                            Ok(mut file) => read(&mut file, &sender, true),
                            Err(error) => fail(&sender, error),
                        },
                    });
                    started.map_err(|error| unreadable(&pipe.name(), &error))?;
                    empty.insert(receiver)
                }
            };
            let is_used = || pipe.is_used.store(true, Ordering::Release);
            let passed = pass(client, pieces, job, is_used).await;
            return passed.map_err(|error| unreadable(&pipe.name(), &error));
        }
    };
    let name = started.map_err(|error| unreadable(STANDARD, &error))?;
    let passed = pass(client, &mut receiver, job, || ()).await;
    passed.map_err(|error| unreadable(&name, &error))
}

const STANDARD: &str = "standard input";

fn unreadable(name: &str, error: &io::Error) -> String {
    format!("cannot read {name}: {error}")
}

/// Hands pieces to the job until their end, which is one of its own; `is_used` hears of each. Where one cannot be read
/// the call is broken off.
async fn pass(
    mut client: ClientsClient<Channel>,
    pieces: &mut mpsc::Receiver<Piece>,
    job: u32,
    is_used: impl Fn(),
) -> io::Result<()> {
    let (to_job, outgoing) = mpsc::channel(1);
    let mut request = Request::new(ReceiverStream::new(outgoing));
    show_job(&mut request, job);
    let mut calling = pin!(client.input(request));
    let passing = async move {
        // A place first: what is taken is on its way.
        while let Ok(place) = to_job.reserve().await {
            match pieces.recv().await {
                Some(piece) => {
                    let chunk = piece?;
                    is_used();
                    place.send(chunk);
                }
                None => {
                    place.send(last());
                    break;
                }
            }
        }
        io::Result::Ok(())
    };
    let mut passing = pin!(passing);
    let mut is_passed = false;
    loop {
        tokio::select! {
            passed = &mut passing, if !is_passed => {
                passed?;
                is_passed = true;
            }
            // Refused or broken: the job has no use for input, and its own link says what is wrong.
            _taken = &mut calling => return Ok(()),
        }
    }
}

/// That no more follows.
fn last() -> wire::InputChunk {
    wire::InputChunk {
        last: true,
        ..wire::InputChunk::default()
    }
}

/// Reads to the end, or until nobody takes it.
fn read(from: &mut impl Read, sender: &mpsc::Sender<Piece>, once: bool) {
    /// A pause of this thread alone, until there may be something to read.
    const EMPTY: Duration = Duration::from_millis(10);
    let mut buffer = vec![0; job::CHUNK_MAX];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            // Made so by whoever shares it with us.
            Err(error) if error.kind() == ErrorKind::WouldBlock && !sender.is_closed() => {
                thread::park_timeout(EMPTY);
                continue;
            }
            Err(error) => return fail(sender, error),
        };
        let data = bytes::Bytes::copy_from_slice(&buffer[..length]);
        let chunk = wire::InputChunk {
            data,
            once,
            ..wire::InputChunk::default()
        };
        if sender.blocking_send(Ok(chunk)).is_err() {
            return;
        }
    }
}

/// Hands on why the input cannot be read. A terminal that is gone, or another's, is read to its end.
fn fail(sender: &mpsc::Sender<Piece>, error: io::Error) {
    let is_terminal = error.raw_os_error() == Some(Errno::EIO as i32) && io::stdin().is_terminal();
    if !is_terminal {
        // Nobody may want to know any more.
        let _heard = sender.blocking_send(Err(error)).is_ok();
    }
}
