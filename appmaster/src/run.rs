//! Sets an AM up, wherever it runs: its port, its registration, its one loop.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use holding::{Admitted, BoundPort, ContainerEventSender, Doors, Holding, Opening, Port};
use job::JobId;
use job::wire::clients_server::ClientsServer;
use job::{ApplicationWork, Description, MpiJob, transport, wire};
use policy::lending::Lending;
use policy::lifecycle::MpiMachine;
use policy::{Demand, MiB, ResourceTypes, Resources};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::service::Routes;

use crate::am_context::AmContext;
use crate::application::{Edge, Session, SingleJob, Turns};
use crate::clients::ClientService;
use crate::consoles::Consoles;
use crate::detached::Detached;
use crate::loop_event::{LoopEvent, LoopEventSender, NEWS_QUEUE};
use crate::mpi::checkpoints::Checkpoints;
use crate::mpi::explain::Story;
use crate::mpi::{Beginning, Mpi};
use crate::output_stream::OutputReceiver;
use crate::work::JobWork;

/// Clients that a session is made for.
const CLIENTS: u32 = 64;

/// Is the AM of `context`'s job at `place`, until the job is over, and YARN, launchers and client know it.
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
    context: AmContext,
    place: BoundPort,
    ending: CancellationToken,
    beside: Option<oneshot::Sender<OutputReceiver>>,
) -> Result<()> {
    let born = now_us();
    let Description {
        application, jobs, ..
    } = context.description.clone();
    let (news, inbox) = mpsc::channel(NEWS_QUEUE);
    let tasks = TaskTracker::new();
    let leaving = CancellationToken::new();
    let _dropped = leaving.clone().drop_guard();
    let consoles = Arc::new(Consoles::default());
    if let ApplicationWork::One(_) = jobs {
        let console = consoles.begin(JobId::OF_APPLICATION);
        if let Some(beside) = beside
            && let Some(chunks) = console.take_output()
        {
            let _taken = beside.send(OutputReceiver::new(chunks, &console)).is_ok();
        }
    }
    let detached = Arc::new(Detached::here());
    let clients = ClientsServer::new(ClientService {
        admitted: Admitted::new(&context.keys.client_certificate, "client")?,
        news: news.clone(),
        consoles: Arc::clone(&consoles),
        detached: Arc::clone(&detached),
        tasks: tasks.clone(),
    })
    .max_decoding_message_size(transport::MESSAGE_MAX);
    let doors = Doors {
        heard: ContainerEventSender::new(news.clone()),
        streams: Arc::clone(&consoles) as _,
        others: Routes::new(clients),
        tasks: tasks.clone(),
        leaving: leaving.clone(),
    };
    let port = Port::open(place, &context.keys, doors, peers(&jobs))?;
    let (exclude, types) = match &jobs {
        ApplicationWork::One(job) => (&job.exclude, &job.types),
        ApplicationWork::Session(plan) => (&plan.exclude, &plan.types),
    };
    let opening = Opening {
        application: &application,
        exclude,
        types,
        keys: &context.keys,
        attempt: context.attempt,
        amrm_token: context.amrm_token.clone(),
        container: context.container,
        node: context.node.clone(),
        page: &context.page,
        tokens: context.tokens_for_launchers(),
    };
    let holding = Box::pin(Holding::register(opening, port)).await?;
    let checkpoints = match &jobs {
        ApplicationWork::One(job) => tokio::select! {
            checkpoints = Box::pin(Checkpoints::open(job, context.attempt)) => checkpoints,
            // The file system of the checkpoints hangs, and nothing runs yet.
            () = ending.cancelled() => Checkpoints::unreachable(),
        },
        ApplicationWork::Session(_) => Checkpoints::default(),
    };
    tasks.spawn(end(ending, leaving.clone(), news.clone()));

    let turns = Turns::new(inbox);
    let edge = Edge::new(
        holding,
        consoles,
        Arc::clone(&detached),
        context.attempt,
        tasks.clone(),
        news,
    );
    match jobs {
        ApplicationWork::One(job) => {
            let work = JobWork::Mpi(Box::new(only_job(*job, &edge, checkpoints, born)));
            SingleJob::new(work, edge).run(turns).await;
        }
        ApplicationWork::Session(plan) => {
            let policy = policy::schedule::of_session(&plan.policy)?;
            let lending = Lending::new(policy, edge.limits().types.clone());
            Session::new(*plan, lending, edge).run(turns).await;
        }
    }
    leaving.cancel();
    tasks.close();
    // What is still under way serves no job any more.
    let _ended = timeout(Duration::from_secs(1), tasks.wait()).await.is_ok();
    let clearing = spawn_blocking(move || detached.clear());
    // What a disk that hangs does not let go goes with this container.
    let _gone = timeout(Duration::from_secs(1), clearing).await.is_ok();
    Ok(())
}

/// Peers that the port is made for: launchers, which are no more than the processes, and clients.
fn peers(jobs: &ApplicationWork) -> u32 {
    match jobs {
        ApplicationWork::One(job) => job.processes(),
        ApplicationWork::Session(plan) => plan.most.get().saturating_add(CLIENTS),
    }
}

/// The one job that the application was started for.
fn only_job(job: MpiJob, edge: &Edge, checkpoints: Checkpoints, born: i64) -> Mpi {
    let (limits, attempt) = (edge.limits().clone(), edge.attempt());
    let demand = demand(&job, limits.step, &limits.types);
    Mpi::new(Beginning {
        attempt,
        name: attempt.to_string(),
        limits,
        candidates: edge.candidates(),
        story: Story::new(demand.clone(), job.explain),
        job: MpiMachine::new(demand, job.limits, rand::random()),
        checkpoints,
        timing: wire::Timing {
            appmaster_started_us: born,
            registered_us: us(edge.registered()),
            ..wire::Timing::default()
        },
        began_us: now_us(),
        description: job,
    })
}

/// Ends the job in order, when that is asked for before it is over.
async fn end(ending: CancellationToken, over: CancellationToken, news: LoopEventSender) {
    tokio::select! {
        () = over.cancelled() => {}
        () = ending.cancelled() => {
            let _heard = news.send(LoopEvent::Terminated).await.is_ok();
        }
    }
}

/// What the job wants, in the amounts of this cluster: by its `types`, and where the user gave no memory
/// by its `step`.
fn demand(job: &MpiJob, step: MiB, types: &ResourceTypes) -> Demand {
    let unit = job.demand.unit;
    let asked: BTreeMap<&str, u64> = sort::map(job.types.named(unit.counts));
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
