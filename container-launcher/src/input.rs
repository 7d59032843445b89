//! Brings standard input to rank 0.

use job::pass::Pass;
use job::wire::InputRequest;
use job::wire::launchers_client::LaunchersClient;
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tonic::Request;
use tonic::transport::Channel;

use crate::say;

/// Asks for the input and writes it until its end, or until the rank does not read any more. The
/// rank then reads the end of its input. A rank that reads slowly holds the stream back.
///
/// `end` is written at the end of the input: where the rank has a terminal, closing it says nothing.
/// Behind a line that has no end it is written twice: the first such key only hands that line over.
pub(crate) async fn feed(
    mut client: LaunchersClient<Channel>,
    pass: Pass,
    mut pipe: pipe::Sender,
    end: &'static [u8],
) {
    let mut request = Request::new(InputRequest {});
    pass.show(&mut request);
    let mut chunks = match client.input(request).await {
        Ok(answer) => answer.into_inner(),
        Err(status) => {
            say(&format!("no standard input: {}", status.message()));
            return;
        }
    };
    let mut in_a_line = false;
    loop {
        match chunks.message().await {
            Ok(Some(chunk)) => {
                in_a_line = chunk.data.last().map_or(in_a_line, |last| *last != b'\n');
                // The rank closed its input, or is gone: nobody's fault.
                if pipe.write_all(&chunk.data).await.is_err() {
                    return;
                }
            }
            Ok(None) => {
                for _ in 0..=usize::from(in_a_line) {
                    // The rank may be gone.
                    if pipe.write_all(end).await.is_err() {
                        return;
                    }
                }
                return;
            }
            Err(status) => {
                say(&format!("standard input broke off: {}", status.message()));
                return;
            }
        }
    }
}
