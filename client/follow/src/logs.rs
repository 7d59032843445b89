//! What a detached job has printed so far.

use std::time::Duration;

use job::exit::Exit;
use job::wire;
use job::wire::clients_client::ClientsClient;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::Status;
use tonic::transport::Channel;

use crate::conclusion::SIGPIPE;
use crate::output::Layout;
use crate::progress::Progress;
use crate::streams::{OutputEnd, Wide, output};
use terminal::say;

/// For an ApplicationMaster that is reached to begin.
const BEGINS: Duration = Duration::from_secs(15);

/// Prints what `job` has printed so far, of one rank where one is named; the exit code.
///
/// # Errors
///
/// What the ApplicationMaster says against it, or that it says nothing.
pub async fn logs(
    mut client: ClientsClient<Channel>,
    job: u32,
    rank: Option<u32>,
    layout: Layout,
) -> Result<u8, Status> {
    let request = wire::OutputRequest {
        job,
        so_far: true,
        rank,
    };
    let late = || Status::deadline_exceeded(format!("no answer within {} s", BEGINS.as_secs()));
    let chunks = timeout(BEGINS, client.output(request)).await;
    let chunks = chunks.unwrap_or_else(|_late| Err(late()))?.into_inner();
    let (orders, _nobody) = mpsc::channel(1);
    let narrow = Wide { door: None, orders };
    let line = Progress::new(true).beside();
    Ok(match output(Box::pin(chunks), layout, line, narrow).await {
        OutputEnd::Complete | OutputEnd::Incomplete => Exit::Success.code(),
        OutputEnd::NoReader => 128u8.saturating_add(SIGPIPE),
        OutputEnd::Unwritable(error) => {
            say(format!("cannot write the program's output: {error}"));
            Exit::Staging.code()
        }
        OutputEnd::Broken => {
            say("the connection broke while output was on its way: some of it is missing");
            Exit::Lost.code()
        }
    })
}
