//! Sets an AM up, wherever it runs: its port, its registration, its one loop.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use holding::{Admitted, Doors, HeardSender, Holding, Opening, Place, Port};
use job::wire::clients_server::ClientsServer;
use job::{Description, Jobs, MpiJob, wire};
use policy::lifecycle::Job;
use policy::{Demand, MiB, ResourceTypes, Resources};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::service::Routes;

use crate::clients::ClientService;
use crate::console::Console;
use crate::consoles::Consoles;
use crate::handing::Output;
use crate::mpi::checkpoints::Checkpoints;
use crate::mpi::explain::Story;
use crate::mpi::{Beginning, Mpi};
use crate::news::{NEWS_QUEUE, News, NewsSender};
use crate::seat::Seat;
use crate::session::{Entry, MPI, Session};
use crate::work::Work;

/// Is the AM of `seat`'s job at `place`, until the job is over and everybody has been told.
///
/// A client in this same process is given the ranks' output through `beside`; any other asks for it over
/// the wire.
///
/// When `ending` is cancelled the job is ended in order, as if YARN had killed it. Dropping the
/// future leaves at once: the port closes, and the launchers that lose their link end their ranks.
///
/// # Errors
/// The ResourceManager does not take the registration, or the job description makes no sense. No
/// container runs then.
pub async fn serve(
    seat: Seat,
    place: Place,
    ending: CancellationToken,
    beside: Option<oneshot::Sender<Output>>,
) -> Result<()> {
    let born = now_us();
    let Description {
        application, jobs, ..
    } = seat.description.clone();
    let Jobs::One(job) = jobs else {
        bail!("this ApplicationMaster runs one job, and serves no session");
    };
    let (news, inbox) = mpsc::channel(NEWS_QUEUE);
    let tasks = TaskTracker::new();
    let leaving = CancellationToken::new();
    let _dropped = leaving.clone().drop_guard();
    let (console, consoles) = (Arc::new(Console::new()), Arc::new(Consoles::default()));
    consoles.insert(MPI, Arc::clone(&console));
    let clients = ClientsServer::new(ClientService {
        admitted: Admitted::new(&seat.keys.client_certificate, "client")?,
        news: news.clone(),
        consoles: Arc::clone(&consoles),
        tasks: tasks.clone(),
    });
    let doors = Doors {
        heard: HeardSender::new(news.clone()),
        streams: consoles as _,
        others: Routes::new(clients),
        tasks: tasks.clone(),
        leaving: leaving.clone(),
    };
    // Launchers are no more than the processes.
    let port = Port::open(place, &seat.keys, doors, job.processes())?;
    if let Some(beside) = beside
        && let Some(chunks) = console.take_output()
    {
        let _taken = beside.send(Output::new(chunks, &console)).is_ok();
    }

    let opening = Opening {
        application: &application,
        exclude: &job.exclude,
        types: &job.types,
        keys: &seat.keys,
        attempt: seat.attempt,
        amrm_token: seat.amrm_token.clone(),
        container: seat.container,
        node: seat.node.clone(),
        page: &seat.page,
        tokens: seat.tokens_for_launchers(),
    };
    let holding = Box::pin(Holding::register(opening, port)).await?;
    let checkpoints = tokio::select! {
        checkpoints = Box::pin(Checkpoints::open(&job, seat.attempt)) => checkpoints,
        // The file system of the checkpoints hangs, and nothing runs yet.
        () = ending.cancelled() => Checkpoints::unreachable(),
    };
    tasks.spawn(end(ending, leaving.clone(), news.clone()));

    let limits = holding.cluster().limits();
    let demand = demand(&job, limits.step, &limits.types);
    let began = Instant::now();
    let mpi = Mpi::new(Beginning {
        attempt: seat.attempt,
        limits: limits.clone(),
        candidates: holding.cluster().candidates().words(),
        story: Story::new(demand.clone(), job.explain),
        job: Job::new(demand, job.limits, rand::random()),
        checkpoints,
        timing: wire::Timing {
            appmaster_started_us: born,
            registered_us: us(holding.registered()),
            ..wire::Timing::default()
        },
        began_us: now_us(),
        description: *job,
    });
    let mut session = Session {
        jobs: BTreeMap::from([(MPI, Entry::new(Work::Mpi(Box::new(mpi)), console))]),
        application: seat.attempt.application,
        holding,
        began,
        tasks: tasks.clone(),
        news,
    };
    session.run(inbox).await;
    leaving.cancel();
    tasks.close();
    // What is still under way has nobody to serve any more.
    let _ended = timeout(Duration::from_secs(1), tasks.wait()).await.is_ok();
    Ok(())
}

/// Ends the job in order, when that is asked for before it is over.
async fn end(ending: CancellationToken, over: CancellationToken, news: NewsSender) {
    tokio::select! {
        () = over.cancelled() => {}
        () = ending.cancelled() => {
            let _heard = news.send(News::Terminated).await.is_ok();
        }
    }
}

/// What the job wants, in the amounts of this cluster: by its `types`, and where the user gave no memory
/// by its `step`.
fn demand(job: &MpiJob, step: MiB, types: &ResourceTypes) -> Demand {
    let unit = job.demand.unit;
    let asked: BTreeMap<&str, u64> = job.types.named(unit.counts).collect();
    Demand {
        unit: Resources {
            memory: match job.demand.memory_is_explicit {
                true => unit.memory,
                false => step,
            },
            counts: types.counts(|name| asked.get(name).copied()),
            ..unit
        },
        ..job.demand.clone()
    }
}

/// Microseconds since 1970, on this node's clock.
pub(crate) fn now_us() -> i64 {
    us(SystemTime::now())
}

/// Microseconds since 1970.
fn us(at: SystemTime) -> i64 {
    let since = at.duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    })
}
