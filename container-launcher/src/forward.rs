//! Carries what the ranks print to the ApplicationMaster, or straight to the client.
//!
//! One task a pipe reads and cuts; one call a job sends, for all ranks that this launcher ever starts of
//! it: calls share what their connection may have under way, and one of many groups of ranks each would use
//! it up. Between them is a short queue: when the AM does not take more, the tasks stop reading, the pipes
//! fill, and the ranks that write wait. A stream that has much to say takes a lane to the client for as
//! long as it has ([`way`]). The last chunk of each stream says that it is the last.

mod way;

use std::io::{self, ErrorKind};
use std::time::Duration;

use bytes::Bytes;
use job::CHUNK_MAX;
use job::pass::Pass;
use job::resumable::{Message, Resumable};
use job::sequence::Bounds;
use job::wire::launchers_client::LaunchersClient;
use job::wire::{OutputChunk, Stream};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::StreamExt as _;
use tokio_util::sync::CancellationToken;
use tonic::Request;
use tonic::transport::Channel;

pub(crate) use way::Way;
use way::{IDLE, opened};

use crate::lane::Lanes;
use crate::life::{MasterCalls, is_final, words};
use crate::say;

/// Chunks read but not yet sent, of all ranks of a job together.
pub(crate) const QUEUE: usize = 8;
/// Chunks that the ApplicationMaster has not taken: as much as may be under way to it.
const UNTAKEN: Bounds = Bounds {
    count: 256,
    bytes: 1024 * 1024,
};
/// Between two calls.
const CALL_PAUSE: Duration = Duration::from_millis(200);
/// A line that stays unfinished for so long is shown as it is: a prompt, a row of dots.
const UNFINISHED_MAX: Duration = Duration::from_millis(200);
/// So long after a rank's end its pipes are read on, when a process that it left behind keeps them
/// open.
const ORPHAN_MAX: Duration = Duration::from_secs(2);
/// Largest pipe that a user may have, bytes (`fs.pipe-max-size`): what a rank wrote before its end
/// is not more.
const PIPE_MAX: usize = 1024 * 1024;

/// Reads one stream of one rank to its end.
pub(crate) struct Pump {
    pub(crate) rank: u32,
    pub(crate) stream: Stream,
    pub(crate) pipe: pipe::Receiver,
    pub(crate) chunks: mpsc::Sender<OutputChunk>,
    /// Where the rank runs; goes with the first chunk.
    pub(crate) origin: Option<Origin>,
    /// Somebody waits for each letter: nothing is held back until the end of its line.
    pub(crate) live: bool,
    /// What goes before all that the rank writes.
    pub(crate) before: Vec<u8>,
    /// What others say on the stream, between what the rank writes.
    pub(crate) said: Option<mpsc::Receiver<Bytes>>,
    /// Which run of the program this is.
    pub(crate) run: u32,
    /// The rank is gone.
    pub(crate) ended: CancellationToken,
    pub(crate) lanes: Lanes,
    pub(crate) way: Way,
}

/// The node, as the job knows it.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) host: String,
    pub(crate) node: u32,
}

impl Pump {
    pub(crate) async fn run(mut self) {
        let before = std::mem::take(&mut self.before);
        if !before.is_empty() {
            self.send(before).await;
        }
        let mut held = Vec::new();
        // Since when the first byte of what is held waits for the end of its line.
        let mut since = Instant::now();
        let mut give_up = None;
        loop {
            if held.len() >= self.way.longest() {
                // A lane took longer pieces.
                self.send(std::mem::take(&mut held)).await;
            }
            tokio::select! {
                read = read_some(&mut self.pipe, &mut held, self.way.longest()) => match read {
                    Ok(read @ 1..) => {
                        if held.len() == read {
                            since = Instant::now();
                        }
                        if let Some(chunk) = cut(&mut held, self.way.longest(), self.live) {
                            self.send(chunk).await;
                            since = Instant::now();
                        }
                    }
                    // A pipe has no errors to wait out, and a terminal ends with one.
                    Ok(0) | Err(_) => break,
                },
                // However often more of it comes: a row of dots grows slowly.
                () = tokio::time::sleep_until(since + UNFINISHED_MAX), if !held.is_empty() => {
                    self.send(std::mem::take(&mut held)).await;
                }
                text = said(&mut self.said) => {
                    if !held.is_empty() {
                        self.send(std::mem::take(&mut held)).await;
                    }
                    self.say(&text).await;
                }
                opened = opened(&mut self.way) => self.change_to(opened).await,
                () = tokio::time::sleep(IDLE), if self.has_lane() => self.leave_lane().await,
                () = self.ended.cancelled(), if give_up.is_none() => {
                    give_up = Some(Instant::now() + ORPHAN_MAX);
                }
                () = until(give_up) => {
                    self.drain(&mut held).await;
                    break;
                }
            }
        }
        self.finish(held).await;
    }

    async fn say(&mut self, text: &[u8]) {
        let mut shown = Vec::with_capacity(text.len());
        for &byte in text {
            // As a terminal shows it.
            if self.live && byte == b'\n' {
                shown.push(b'\r');
            }
            shown.push(byte);
        }
        self.send(shown).await;
    }

    /// Says the last of the stream, `held`, and that it is the last.
    async fn finish(&mut self, mut held: Vec<u8>) {
        while let Some(Ok(text)) = self.said.as_mut().map(mpsc::Receiver::try_recv) {
            self.send(std::mem::take(&mut held)).await;
            self.say(&text).await;
        }
        if self.has_lane() {
            if !held.is_empty() {
                self.send(std::mem::take(&mut held)).await;
            }
            self.leave_lane().await;
        }
        // One that is still being opened is not waited for.
        self.way = Way::common();
        let tail = held.len().saturating_sub(CHUNK_MAX);
        if tail > 0 {
            let last = held.split_off(tail);
            self.send(std::mem::replace(&mut held, last)).await;
        }
        let last = OutputChunk {
            end: true,
            ..self.chunk(held.into())
        };
        self.pass(last).await;
    }

    /// Takes what lies in the pipe now and does not wait for more.
    async fn drain(&mut self, held: &mut Vec<u8>) {
        let mut left = PIPE_MAX;
        while left > 0 {
            if held.len() >= self.way.longest() {
                // The lane that took longer pieces broke a moment ago.
                self.send(std::mem::take(held)).await;
            }
            let room = self.way.longest().saturating_sub(held.len());
            let mut piece = vec![0; room.min(left)];
            match self.pipe.try_read(&mut piece) {
                Ok(read @ 1..) => {
                    left = left.saturating_sub(read);
                    held.extend_from_slice(piece.get(..read).unwrap_or_default());
                    if let Some(chunk) = cut(held, self.way.longest(), self.live) {
                        self.send(chunk).await;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return,
            }
        }
    }

    async fn send(&mut self, data: Vec<u8>) {
        if let Way::Lane(lane) = &mut self.way {
            if let Err(error) = lane.write(&data).await {
                self.lost(&error).await;
            }
            return;
        }
        self.count(data.len());
        // It is kept until it is taken, and was read into a buffer for more.
        let mut data = data;
        data.shrink_to_fit();
        // Longer is only what was read for a lane.
        let mut data = Bytes::from(data);
        while !data.is_empty() {
            let piece = data.split_to(data.len().min(CHUNK_MAX));
            let chunk = self.chunk(piece);
            self.pass(chunk).await;
        }
    }

    /// A chunk of this stream, the first with where it comes from.
    fn chunk(&mut self, data: Bytes) -> OutputChunk {
        let origin = self.origin.take();
        OutputChunk {
            rank: self.rank,
            stream: self.stream.into(),
            data,
            node: origin.as_ref().map_or(0, |origin| origin.node),
            host: origin.map(|origin| origin.host).unwrap_or_default(),
            run: self.run,
            ..OutputChunk::default()
        }
    }

    /// Through the ApplicationMaster. When nobody takes output any more it is read and dropped: the rank
    /// is not to wait for ever.
    async fn pass(&mut self, chunk: OutputChunk) {
        drop(self.chunks.send(chunk).await);
    }
}

/// Sends all chunks of a job until it is over here, by one connection after another. Those that the
/// ApplicationMaster has not taken are kept until it has.
pub(crate) async fn carry(
    mut calls: MasterCalls,
    pass: Pass,
    mut chunks: mpsc::Receiver<OutputChunk>,
) {
    let kept = Resumable::new(UNTAKEN);
    let _closing = kept.closed_with();
    let fill = async {
        loop {
            kept.room().await;
            match chunks.recv().await {
                Some(chunk) => {
                    let bytes = chunk.data.len();
                    kept.push(chunk, bytes);
                }
                None => return std::future::pending().await,
            }
        }
    };
    let send = async {
        loop {
            let by = calls.borrow_and_update().clone();
            tokio::select! {
                refusal = send(by, &pass, &kept) => if let Some(refusal) = refusal {
                    return refusal;
                },
                changed = calls.changed() => if changed.is_err() {
                    // The launcher leaves.
                    return std::future::pending().await;
                },
            }
            tokio::time::sleep(CALL_PAUSE).await;
        }
    };
    let refusal = tokio::select! {
        refusal = send => refusal,
        () = fill => return,
    };
    say(&format!(
        "the ApplicationMaster takes no more output: {refusal}"
    ));
}

/// Sends what is not taken yet by one call until it breaks; why no other is to follow it, if so.
async fn send(
    mut client: LaunchersClient<Channel>,
    pass: &Pass,
    kept: &Resumable<OutputChunk>,
) -> Option<String> {
    let mut request = Request::new(kept.open(false).map(numbered));
    pass.show(&mut request);
    let mut taken = match client.output(request).await {
        Ok(answer) => answer.into_inner(),
        Err(status) => return is_final(&status).then(|| words(&status)),
    };
    loop {
        match taken.message().await {
            Ok(Some(said)) => {
                if let Err(error) = kept.acknowledge(said.taken) {
                    return Some(error.to_string());
                }
            }
            Ok(None) => return Some("it has ended the call".into()),
            Err(status) => return is_final(&status).then(|| words(&status)),
        }
    }
}

fn numbered(message: Message<OutputChunk>) -> OutputChunk {
    OutputChunk {
        number: message.number,
        ..message.what.unwrap_or_default()
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// What others say on a stream; pending where nobody does.
async fn said(from: &mut Option<mpsc::Receiver<Bytes>>) -> Bytes {
    if let Some(texts) = from {
        if let Some(text) = texts.recv().await {
            return text;
        }
        *from = None;
    }
    std::future::pending().await
}

async fn read_some(
    pipe: &mut pipe::Receiver,
    held: &mut Vec<u8>,
    most: usize,
) -> io::Result<usize> {
    // Memory is taken only when there is something to read: most streams are silent.
    pipe.readable().await?;
    let room = most.saturating_sub(held.len());
    held.reserve_exact(room);
    let limit = u64::try_from(room).unwrap_or(u64::MAX);
    pipe.take(limit).read_buf(held).await
}

/// Takes what can be sent off the front: all whole lines, or a chunk of one line that is `full`; all there
/// is of what is `live`.
fn cut(held: &mut Vec<u8>, full: usize, live: bool) -> Option<Vec<u8>> {
    if live {
        return (!held.is_empty()).then(|| std::mem::take(held));
    }
    match held.iter().rposition(|&byte| byte == b'\n') {
        Some(last) => {
            let rest = held.split_off(last.saturating_add(1));
            Some(std::mem::replace(held, rest))
        }
        None if held.len() >= full => Some(std::mem::take(held)),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinSet;

    use super::*;

    #[test]
    fn chunks_end_at_the_last_newline() {
        let mut held = b"one\ntwo\nthr".to_vec();
        assert_eq!(
            cut(&mut held, CHUNK_MAX, false).as_deref(),
            Some(&b"one\ntwo\n"[..])
        );
        assert_eq!(held, b"thr");
        assert_eq!(cut(&mut held, CHUNK_MAX, false), None);
        held = vec![b'x'; CHUNK_MAX];
        assert_eq!(
            cut(&mut held, CHUNK_MAX, false).map(|chunk| chunk.len()),
            Some(CHUNK_MAX)
        );
        assert!(held.is_empty());
        assert_eq!(
            cut(&mut b"$ ".to_vec(), CHUNK_MAX, true).as_deref(),
            Some(&b"$ "[..])
        );
        assert_eq!(cut(&mut Vec::new(), CHUNK_MAX, true), None);
    }

    /// A text of another's comes as a whole between what the rank writes, and before the end of its stream.
    #[tokio::test]
    async fn what_others_say_comes_between_what_the_rank_writes() {
        for live in [false, true] {
            let (writer, reader) = pipe::pipe().unwrap();
            let (chunks, mut sent) = mpsc::channel(64);
            let (say, said) = mpsc::channel(2);
            let pump = Pump {
                live,
                said: Some(said),
                ..silent(reader, chunks)
            };
            writer.writable().await.unwrap();
            writer.try_write(b"half a line").unwrap();
            say.send(Bytes::from_static(b"text\n")).await.unwrap();
            let mut running = JoinSet::new();
            running.spawn(pump.run());
            let mut data = Vec::new();
            let shown: &[u8] = if live { b"text\r\n" } else { b"text\n" };
            let has = |data: &[u8], what: &[u8]| data.windows(what.len()).any(|at| at == what);
            while !has(&data, b"half a line") || !has(&data, shown) {
                data.extend(sent.recv().await.unwrap().data);
            }
            say.send(Bytes::from_static(b"last\n")).await.unwrap();
            drop((writer, say));
            running.join_next().await.unwrap().unwrap();
            while let Some(chunk) = sent.recv().await {
                data.extend(chunk.data);
            }
            assert!(has(&data, b"last"), "{data:?}");
        }
    }

    fn silent(pipe: pipe::Receiver, chunks: mpsc::Sender<OutputChunk>) -> Pump {
        Pump {
            rank: 0,
            stream: Stream::Stdout,
            pipe,
            chunks,
            origin: None,
            live: false,
            before: Vec::new(),
            said: None,
            run: 1,
            ended: CancellationToken::new(),
            lanes: Lanes::without_keys(),
            way: Way::common(),
        }
    }

    /// A lane takes longer pieces than the common way: what a stream holds when one breaks may be more than
    /// fits into a piece, and what the rank wrote last still lies in the pipe.
    #[tokio::test]
    async fn what_a_broken_lane_has_left_and_the_tail_of_the_pipe_are_both_sent() {
        let (writer, reader) = pipe::pipe().unwrap();
        let (chunks, mut sent) = mpsc::channel(64);
        let mut pump = silent(reader, chunks);
        writer.writable().await.unwrap();
        assert_eq!(writer.try_write(b"the tail\n").unwrap(), 9);
        pump.pipe.readable().await.unwrap();
        let mut held = vec![b'x'; CHUNK_MAX + 1000];
        pump.drain(&mut held).await;
        pump.finish(held).await;
        drop(pump);
        let (mut data, mut ends) = (Vec::new(), Vec::new());
        while let Some(chunk) = sent.recv().await {
            assert!(chunk.data.len() <= CHUNK_MAX);
            data.extend_from_slice(&chunk.data);
            ends.push(chunk.end);
        }
        let (left, tail) = data.split_at(CHUNK_MAX + 1000);
        assert!(left.iter().all(|&byte| byte == b'x'));
        assert_eq!(tail, b"the tail\n");
        assert_eq!(ends.iter().filter(|&&end| end).count(), 1);
        assert_eq!(ends.last(), Some(&true));
    }
}
