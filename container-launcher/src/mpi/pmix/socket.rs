//! The server's process, and the socket to it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use job::Role;
use job::wire::{PmixEvent, PmixJob, PmixOrder, PmixReady, pmix_event, pmix_order};
use nix::unistd::Pid;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

use super::{MESSAGE_MAX, Served};
use crate::frames;
use crate::surroundings::Surroundings;

/// Libraries of the ranks' that a server should be without.
const PRELOAD: &str = "LD_PRELOAD";

/// Starts the process, in the environment of the ranks whose library it opens.
pub(super) fn begin(
    environment: BTreeMap<OsString, OsString>,
    around: &Surroundings,
) -> std::io::Result<(Pid, UnixStream)> {
    let (own, its) = std::os::unix::net::UnixStream::pair()?;
    own.set_nonblocking(true)?;
    // The thread that reaps ranks reaps it.
    let child = around
        .command(Role::Pmix)
        .env_clear()
        .envs(environment)
        .env_remove(PRELOAD)
        .stdin(Stdio::from(OwnedFd::from(its)))
        .stdout(Stdio::null())
        .spawn()?;
    Ok((
        Pid::from_raw(child.id().cast_signed()),
        UnixStream::from_std(own)?,
    ))
}

/// Tells a server of its job; its refusal is the inner error.
pub(super) async fn greet(
    socket: &mut UnixStream,
    job: PmixJob,
) -> std::io::Result<Result<PmixReady, String>> {
    let order = PmixOrder {
        order: Some(pmix_order::Order::Job(job)),
    };
    socket.write_all(&frames::written(&order)?).await?;
    let event: PmixEvent = frames::receive_from(socket, MESSAGE_MAX).await?;
    match event.event {
        Some(pmix_event::Event::Ready(ready)) => Ok(Ok(ready)),
        Some(pmix_event::Event::Refusal(refusal)) => Ok(Err(refusal.why)),
        Some(pmix_event::Event::Call(_) | pmix_event::Event::Modexed(_)) | None => {
            Err(std::io::Error::other("a call before the ranks run"))
        }
    }
}

/// Passes on its calls until it ends.
pub(super) async fn listen(mut socket: OwnedReadHalf, told: mpsc::Sender<(u32, Served)>) {
    while let Ok(PmixEvent { event: Some(event) }) =
        frames::receive_from(&mut socket, MESSAGE_MAX).await
    {
        let served = match event {
            pmix_event::Event::Call(call) => (call.group, Served::Call(call)),
            // Known by its number.
            pmix_event::Event::Modexed(modexed) => (0, Served::Modexed(modexed)),
            pmix_event::Event::Ready(ready) => (ready.group, Served::Ready(ready)),
            pmix_event::Event::Refusal(refusal) => (refusal.group, Served::Refused(refusal.why)),
        };
        if told.send(served).await.is_err() {
            return;
        }
    }
    drop(told.send((0, Served::Gone)).await);
}

/// Writes the answers to it, until it is gone or no more come.
pub(super) async fn answer(mut socket: OwnedWriteHalf, mut answers: mpsc::Receiver<PmixOrder>) {
    while let Some(order) = answers.recv().await {
        let Ok(bytes) = frames::written(&order) else {
            return;
        };
        if socket.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
