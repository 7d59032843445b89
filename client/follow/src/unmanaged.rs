//! `--deploy-mode client`: the ApplicationMaster is a task of this process.
//!
//! YARN knows such an application as unmanaged: it starts no container for the ApplicationMaster,
//! and shows the token by which that logs in to the application's owner. Everything else is as in a
//! container; this command attaches to it over the same port, on the loopback, except that the ranks'
//! output, which may be much, is handed over inside the process. Neither the token nor the keys of the
//! job are written anywhere, except the launchers' in their own containers.
//!
//! Caveats: the nodes must reach this machine. When this process is killed the launchers lose their
//! link and end their ranks at once, but YARN keeps the application, without a container, until the
//! ApplicationMaster's expiry (`yarn.am.liveness-monitor.expiry-interval-ms`), or until
//! `gerbil-run -k`.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use appmaster::{AmContext, BoundPort};
use job::exit::Exit;
use job::{ApplicationWork, Description};
use policy::Millis;
use proto_hadoop::credentials::{Credentials, Token};
use proto_hadoop::yarn::{ApplicationFilter, ApplicationReport, YarnApplicationState};
use proto_hadoop::{AppAttemptId, ApplicationClient, ApplicationId};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::conclusion::Written;
use crate::ended::{Ended, chain, judge};
use crate::error::FollowError;
use crate::follower::{SubmittedApplication, patiently, reason};
use crate::keys::JobKeys;
use crate::kill::kill;
use crate::local_address;
use crate::pace::Pace;
use crate::progress::{Aside, Progress};

/// Between two looks for the token: it takes the ResourceManager some hundredths of a second.
const PACE: Pace = Pace {
    soon: Duration::from_millis(10),
    soon_ends: Duration::from_secs(2),
};
/// Between two looks at one that is about to be over.
const LATER: Duration = Duration::from_millis(250);
/// For the ApplicationMaster to leave, when everything is said.
const LEAVE: Duration = Duration::from_secs(3);
/// For it to end the job in order, when this command cannot go on.
const END: Duration = Duration::from_secs(20);

/// For an order to end the application, when the ResourceManager did not answer before.
const LAST_ORDER: Duration = Duration::from_secs(10);

/// For YARN to record how the application ended.
const SETTLE: Duration = Duration::from_secs(5);
/// A job that holds no container after this is told who may be in its way.
const NOTHING_YET: Duration = Duration::from_secs(10);

/// Opens the ApplicationMaster's port, before anything is submitted: one of `ports`, on `interface`, where
/// these are given. The cluster's ResourceManagers show by which address it knows this machine.
pub async fn place(
    rm: &ApplicationClient,
    ports: Option<(u16, u16)>,
    interface: Option<&str>,
    resource_managers: &[String],
) -> Result<BoundPort, FollowError> {
    let host = match interface {
        Some(_) => "this machine".to_owned(),
        None => local_address::find(rm, resource_managers)
            .await?
            .to_string(),
    };
    let place = BoundPort::take(ports, interface, &host);
    let place = place.await;
    place.map_err(FollowError::NoPort)
}

/// What the ResourceManager says of an application that has just been submitted.
enum Admission {
    Admitted(AppAttemptId, Token),
    Over(Box<ApplicationReport>),
}

/// Runs the ApplicationMaster and follows the job to its end.
pub async fn follow(
    mut own: SubmittedApplication<'_>,
    keys: &JobKeys,
    place: BoundPort,
    mut description: Description,
) -> Result<Ended, FollowError> {
    let (rm, id) = (own.follower.rm, own.follower.id);
    let mut said = String::new();
    let admission = tokio::select! {
        admission = admission(rm, id, &mut own.follower.progress, &mut said) => admission,
        signal = own.follower.signals.ending() => return own.interrupted(signal, Written::Part).await,
        () = own.wait_timeout.over() => return own.given_up(&said).await,
    };
    let (attempt, amrm_token) = match admission {
        Ok(Admission::Admitted(attempt, token)) => (attempt, token),
        Ok(Admission::Over(report)) => return Ok(judge(&report)),
        Err(failure) => {
            // It would hold a place in the queue until its expiry; if YARN cannot be told, it does.
            let told = kill(
                rm,
                &id,
                "its client could not learn whether it was admitted",
            );
            let _told = timeout(LAST_ORDER, told).await.is_ok();
            return Err(failure);
        }
    };
    // The ApplicationMaster keeps what is left of it.
    if let (Some(left), ApplicationWork::One(job)) =
        (own.wait_timeout.left(), &mut description.jobs)
    {
        let left = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        job.limits.gang.wait = Some(Millis(left.max(1)));
    }
    let context = AmContext {
        node: None,
        description,
        keys: seat_keys(keys),
        amrm_token,
        attempt,
        container: None,
        page: String::new(),
        credentials: Credentials::default(),
    };
    let address = place.own_address();
    let ending = CancellationToken::new();
    let aside = own.follower.progress.beside();
    let (beside, output) = oneshot::channel();
    let mut appmaster = JoinSet::new();
    appmaster.spawn(appmaster::serve(
        context,
        place,
        ending.clone(),
        Some(beside),
    ));
    let followed = tokio::select! {
        followed = Box::pin(own.follow_at(&address, output)) => followed,
        never = Box::pin(explain_waiting(rm, id, aside)) => match never {},
        why = broken(&mut appmaster) => {
            let sentence = format!("the ApplicationMaster of {id} in this process {why}");
            // If YARN cannot be told either, it ends the application at its expiry.
            let told = kill(rm, &id, &sentence);
            let _told = timeout(LAST_ORDER, told).await.is_ok();
            Err(FollowError::AppmasterBroke { sentence })
        }
    };
    match &followed {
        // It has said its last word, and leaves when it sees that we have heard it.
        Ok(ended) if ended.verdict.is_some() => {
            let _left = timeout(LEAVE, appmaster.join_next()).await.is_ok();
        }
        // YARN has ended the application.
        Ok(_) => {}
        Err(_) => {
            ending.cancel();
            let _ended = timeout(END, appmaster.join_next()).await.is_ok();
        }
    }
    appmaster.shutdown().await;
    match followed {
        Ok(ended) if ended.code == Exit::Lost.code() => Ok(really_lost(rm, id, ended).await),
        other => other,
    }
}

/// Who kills the application through YARN kills its containers, whose end is heard of here before the
/// ResourceManager is asked again: then nothing was lost.
async fn really_lost(rm: &ApplicationClient, id: ApplicationId, ended: Ended) -> Ended {
    let settled = Instant::now() + SETTLE;
    while Instant::now() < settled {
        match rm.report(&id).await {
            Ok(report) if report.state == YarnApplicationState::Killed => return judge(&report),
            Ok(report) if report.state.is_final() => return ended,
            Ok(_) | Err(_) => sleep(LATER).await,
        }
    }
    ended
}

/// Until YARN has admitted the application and shows its token. `said` learns its last word before.
async fn admission(
    rm: &ApplicationClient,
    id: ApplicationId,
    progress: &mut Progress,
    said: &mut String,
) -> Result<Admission, FollowError> {
    let since = Instant::now();
    loop {
        let report = patiently(rm, &id).await?;
        if report.state.is_final() {
            return Ok(Admission::Over(Box::new(report)));
        }
        if let Some(reason) = reason(&report) {
            progress.wait(&reason);
            *said = reason;
        }
        if let (Some(attempt), Some(token)) = (report.current_attempt, report.am_rm_token) {
            return Ok(Admission::Admitted(attempt, token));
        }
        sleep(PACE.pause(since.elapsed())).await;
    }
}

/// Says, once, why YARN may give the job nothing: of an unmanaged ApplicationMaster that is beyond
/// the queue's limit its reports do not tell. What fills that limit unseen are masters like this one
/// whose process is gone.
async fn explain_waiting(rm: &ApplicationClient, id: ApplicationId, aside: Aside) -> Infallible {
    sleep(NOTHING_YET).await;
    let running = ApplicationFilter {
        states: vec![YarnApplicationState::Running],
        ..ApplicationFilter::default()
    };
    if let (Ok(own), Ok(all)) = tokio::join!(rm.report(&id), rm.applications(&running))
        && let Some(sentence) = in_the_way(&own, &all)
    {
        aside.remark(sentence);
    }
    pending().await
}

fn in_the_way(own: &ApplicationReport, all: &[ApplicationReport]) -> Option<String> {
    let idle = all.iter().filter(|other| {
        let unmanaged = other.unmanaged && other.usage.containers == 0;
        unmanaged && other.queue == own.queue && other.id != own.id
    });
    let idle: Vec<String> = idle.map(|other| other.id.to_string()).collect();
    if own.state.is_final() || own.usage.containers > 0 || idle.is_empty() {
        return None;
    }
    Some(format!(
        "no container yet, and in queue {} there are other ApplicationMasters outside the cluster \
         that hold none ({}): until they end, or YARN misses them, they count against the queue's \
         limit for ApplicationMasters; gerbil-run -k ends one whose process is gone",
        own.queue,
        idle.join(", ")
    ))
}

/// Why the ApplicationMaster has failed. One that ends in order is not waited for here: the follower
/// hears its last word.
async fn broken(appmaster: &mut JoinSet<anyhow::Result<()>>) -> String {
    match appmaster.join_next().await {
        Some(Ok(Err(error))) => chain(&error),
        Some(Err(error)) => format!("broke: {error}"),
        Some(Ok(Ok(()))) | None => pending().await,
    }
}

fn seat_keys(keys: &JobKeys) -> appmaster::Keys {
    let bytes = |text: &String| text.clone().into_bytes();
    appmaster::Keys {
        authority: bytes(&keys.authority),
        certificate: bytes(&keys.appmaster.certificate),
        key: bytes(&keys.appmaster.key),
        launcher_certificate: bytes(&keys.launcher.certificate),
        launcher_key: bytes(&keys.launcher.key),
        client_certificate: bytes(&keys.client.certificate),
    }
}
