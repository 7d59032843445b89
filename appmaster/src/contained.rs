//! The AM in the container that YARN started for it.

use anyhow::{Context, Result};
use holding::{BoundPort, register};
use job::exit::{Exit, diagnostics};
use proto_hadoop::ApplicationMasterClient;
use proto_hadoop::yarn::FinalApplicationStatus;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::am_context::AmContext;
use crate::run::serve;

/// Runs the job whose context this container's environment describes, until it is over or YARN says
/// by SIGTERM that it is to end.
pub(crate) async fn run() -> Result<()> {
    let (context, node_host) = AmContext::read()?;
    let application = &context.description.application;
    let interface = application.interface.as_deref();
    let place = match BoundPort::take(application.am_ports, interface, &node_host).await {
        Ok(place) => place,
        Err(error) => return refuse(&context, &node_host, &error).await,
    };
    let ending = CancellationToken::new();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut listening = JoinSet::new();
    let terminated = ending.clone();
    listening.spawn(async move {
        terminate.recv().await;
        terminated.cancel();
    });
    Box::pin(serve(context, place, ending, None)).await
}

/// The job cannot be run from here: YARN is told so in one sentence, and through it the client.
async fn refuse(context: &AmContext, node_host: &str, error: &anyhow::Error) -> Result<()> {
    let sentence = format!("{error:#}");
    tracing::error!("{sentence}");
    let application = &context.description.application;
    let rm =
        ApplicationMasterClient::new(application.rm_scheduler.clone(), context.amrm_token.clone());
    register(&rm, node_host, None, &context.page, application).await?;
    let told = diagnostics(&sentence, Exit::Impossible.code());
    rm.finish(FinalApplicationStatus::Failed, &told, &context.page)
        .await
        .context("cannot unregister")
}
