//! Brings standard input to rank 0.

use std::time::Duration;

use bytes::{Buf as _, Bytes};
use job::pass::Pass;
use job::resumable::{Message, Resumable};
use job::sequence::Bounds;
use job::wire::launchers_client::LaunchersClient;
use job::wire::{InputChunk, InputRequest};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::time::sleep;
use tokio_stream::StreamExt as _;
use tonic::transport::Channel;
use tonic::{Request, Status};

use crate::life::{MasterCalls, is_final};
use crate::say;

/// Between two calls.
const CALL_PAUSE: Duration = Duration::from_millis(200);
/// Nothing is said but what was taken.
const NOTHING: Bounds = Bounds { count: 1, bytes: 1 };

/// Asks for the input of this run and writes it until its end, or until the rank does not read any more.
/// The rank then reads the end of its input. A rank that reads slowly holds the stream back. A call that
/// breaks is followed by another, which goes on where it was.
///
/// `end` is written at the end of the input: where the rank has a terminal, closing it says nothing.
/// Behind a line that has no end it is written twice: the first such key only hands that line over.
pub(crate) async fn feed(
    mut calls: MasterCalls,
    pass: Pass,
    run: u32,
    pipe: pipe::Sender,
    end: &'static [u8],
) {
    let mut feeding = Feeding {
        pass,
        run,
        taken: Resumable::new(NOTHING),
        pipe: Some(pipe),
        unwritten: Bytes::new(),
        in_a_line: false,
    };
    let _closing = feeding.taken.closed_with();
    loop {
        let by = calls.borrow_and_update().clone();
        tokio::select! {
            over = feeding.by(by) => match over {
                Ok(Ended::All) => return feeding.end(end).await,
                Ok(Ended::Broken) => {}
                Err(status) => {
                    say(&format!("no standard input: {}", status.message()));
                    return;
                }
            },
            changed = calls.changed() => if changed.is_err() {
                return;
            },
        }
        sleep(CALL_PAUSE).await;
    }
}

/// How one call ended.
enum Ended {
    /// There is no more input.
    All,
    /// It broke.
    Broken,
}

struct Feeding {
    pass: Pass,
    run: u32,
    taken: Resumable<()>,
    /// `None`: the rank reads no more.
    pipe: Option<pipe::Sender>,
    /// Of what was taken.
    unwritten: Bytes,
    /// The last byte was not the end of a line.
    in_a_line: bool,
}

impl Feeding {
    /// Takes what comes by one call. An error is final.
    async fn by(&mut self, mut client: LaunchersClient<Channel>) -> Result<Ended, Status> {
        let said = self.taken.open(true);
        let run = self.run;
        let mut request = Request::new(said.map(move |message| request(run, &message)));
        self.pass.show(&mut request);
        let mut chunks = match client.input(request).await {
            Ok(answer) => answer.into_inner(),
            Err(status) if is_final(&status) => return Err(status),
            Err(_broken) => return Ok(Ended::Broken),
        };
        if self.pipe.is_none() {
            self.taken.remind(CLOSED);
        }
        self.write().await;
        loop {
            match chunks.message().await {
                Ok(Some(chunk)) => self.take(chunk).await?,
                Ok(None) => return Ok(Ended::All),
                Err(status) if is_final(&status) => return Err(status),
                Err(_broken) => return Ok(Ended::Broken),
            }
        }
    }

    async fn take(&mut self, chunk: InputChunk) -> Result<(), Status> {
        let impossible = |error: job::sequence::SequenceError| {
            Status::failed_precondition(format!("the ApplicationMaster {error}"))
        };
        if !self.taken.is_new(chunk.number).map_err(impossible)? {
            return Ok(());
        }
        // Before it is written: what is written in part is not to come again.
        self.taken.took(chunk.number, chunk.data.len());
        self.in_a_line = chunk
            .data
            .last()
            .map_or(self.in_a_line, |last| *last != b'\n');
        self.unwritten = chunk.data;
        self.write().await;
        Ok(())
    }

    /// Writes what was taken. May be dropped and called again.
    async fn write(&mut self) {
        while !self.unwritten.is_empty()
            && let Some(pipe) = &mut self.pipe
        {
            match pipe.write(&self.unwritten).await {
                Ok(written) => self.unwritten.advance(written),
                // The rank closed its input, or is gone: nobody's fault.
                Err(_) => {
                    self.pipe = None;
                    self.taken.remind(CLOSED);
                }
            }
        }
    }

    async fn end(mut self, end: &'static [u8]) {
        let Some(pipe) = &mut self.pipe else {
            return;
        };
        for _ in 0..=usize::from(self.in_a_line) {
            // The rank may be gone.
            if pipe.write_all(end).await.is_err() {
                return;
            }
        }
    }
}

/// The word of the clock by which the rank is said to read no more.
const CLOSED: u64 = 1;

fn request(run: u32, message: &Message<()>) -> InputRequest {
    InputRequest {
        run,
        taken: message.taken,
        closed: message.clock == CLOSED,
    }
}
