//! What launchers bring and fetch beside their links: output and input of whatever they run.
//!
//! Whose they are and where they go is for the application's owner to know; here they outlive a link.

use std::fmt;
use std::sync::Arc;

use job::wire;
use policy::ContainerId;
use tokio::sync::mpsc;

/// Where output goes, and where input comes from.
pub trait Streams: fmt::Debug + Send + Sync {
    /// A launcher begins to bring the output of a job; `None`: none is taken any more.
    fn open(self: Arc<Self>, container: ContainerId, job: u32) -> Option<Box<dyn Bringing>>;

    /// The input of a job for whoever fetches it, the first time that it is asked for; `None`: it is taken.
    fn take_input(&self, job: u32) -> Option<mpsc::Receiver<wire::InputChunk>>;
}

/// The output of one job from one launcher, until it is over, by whichever call it comes. Dropped when nothing more
/// comes of it.
#[tonic::async_trait]
pub trait Bringing: fmt::Debug + Send {
    /// The number of the last chunk that was taken.
    fn taken(&self) -> u64;

    /// Whether the chunk of this number is to be taken; the launcher may send one again.
    fn is_new(&self, number: u64) -> bool;

    /// Takes the chunk of this number, when there is room for it.
    async fn take(&mut self, number: u64, chunk: wire::OutputChunk);
}
