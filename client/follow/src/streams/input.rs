//! Our input on its way to rank 0.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek as _, SeekFrom};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use job::pass::show_job;
use job::wire;
use job::wire::clients_client::ClientsClient;
use tokio::sync::{Mutex, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Request;
use tonic::transport::Channel;

use crate::say::say;

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
    /// Our own standard input, that can be read once.
    Once(Arc<Pipe>),
}

/// An input that is read by one thread and given to whichever run is the present one.
#[derive(Debug)]
pub struct Pipe {
    chunks: Mutex<Option<mpsc::Receiver<wire::InputChunk>>>,
    is_used: AtomicBool,
}

impl InputSource {
    /// What the user wants it to be.
    pub fn new(from: StandardInput) -> Self {
        match from {
            StandardInput::None => Self::Nothing,
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
    let file = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map(File::from);
    if let Ok(mut file) = file
        && file.metadata().is_ok_and(|about| about.is_file())
        && let Ok(begin) = file.stream_position()
    {
        return InputSource::Again(Arc::new(file), begin);
    }
    InputSource::Once(Arc::new(Pipe {
        chunks: Mutex::new(None),
        is_used: AtomicBool::new(false),
    }))
}

/// Copies the input to rank 0 until its end, or until the job has no use for it.
///
/// `job` is its number in its application. The thread that reads is not waited for: a read from a terminal ends only with the process.
pub async fn input(mut client: ClientsClient<Channel>, from: InputSource, job: u32) {
    let reader = thread::Builder::new().name("input".into());
    let (sender, receiver) = mpsc::channel(INPUT_QUEUE);
    let taken = match from {
        InputSource::Nothing => return,
        InputSource::File(path) => reader.spawn(move || match File::open(&path) {
            Ok(mut file) => read(&mut file, &sender, false),
            Err(error) => say(format!("--input {}: {error}", path.display())),
        }),
        InputSource::Again(file, begin) => reader.spawn(move || {
            let mut file = file.as_ref();
            if let Err(error) = file.seek(SeekFrom::Start(begin)) {
                say(format!("cannot read standard input again: {error}"));
                return;
            }
            read(&mut file, &sender, false);
        }),
        InputSource::Once(pipe) => {
            let mut chunks = pipe.chunks.lock().await;
            let chunks = match &mut *chunks {
                Some(chunks) => chunks,
                empty => {
                    let started =
                        reader.spawn(move || read(&mut std::io::stdin().lock(), &sender, true));
                    if started.is_err() {
                        return;
                    }
                    empty.insert(receiver)
                }
            };
            let (to_job, outgoing) = mpsc::channel(1);
            let mut request = Request::new(ReceiverStream::new(outgoing));
            show_job(&mut request, job);
            let calling = client.input(request);
            let passing = async {
                // A place first: what is taken is on its way.
                while let Ok(place) = to_job.reserve().await
                    && let Some(chunk) = chunks.recv().await
                {
                    pipe.is_used.store(true, Ordering::Release);
                    place.send(chunk);
                }
                drop(to_job);
            };
            let (_taken, ()) = tokio::join!(calling, passing);
            return;
        }
    };
    if taken.is_ok() {
        // Refused or broken: the job has no use for input, and its own link says what is wrong.
        let mut request = Request::new(ReceiverStream::new(receiver));
        show_job(&mut request, job);
        let _taken = client.input(request).await.is_ok();
    }
}

fn read(from: &mut impl Read, sender: &mpsc::Sender<wire::InputChunk>, once: bool) {
    let mut buffer = vec![0; job::CHUNK_MAX];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_unreadable) => return,
        };
        let data = bytes::Bytes::copy_from_slice(&buffer[..length]);
        if sender
            .blocking_send(wire::InputChunk {
                data,
                once,
                ..wire::InputChunk::default()
            })
            .is_err()
        {
            return;
        }
    }
}
