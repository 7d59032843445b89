//! Sets an AM up, wherever it runs: its port, its registration, the task that talks to the ResourceManager.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use job::{Application, Description, MpiJob, wire};
use policy::lifecycle::{Event, Job, KillReason};
use policy::{Demand, MiB, ResourceTypes, Resources};
use proto_hadoop::yarn::{Counted, Registration};
use proto_hadoop::{ApplicationClient, ApplicationMasterClient, Timing};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::address::Place;
use crate::checkpoints::Checkpoints;
use crate::console::Console;
use crate::containers::LaunchTemplate;
use crate::draft::Draft;
use crate::exits::Exits;
use crate::explain::Story;
use crate::follow::{Appmaster, Client};
use crate::handing::Output;
use crate::heard::HeardSender;
use crate::holding::{Cluster, Holding, Parts};
use crate::names::Names;
use crate::news::{NEWS_QUEUE, News, NewsSender};
use crate::nodes;
use crate::requests::RequestTable;
use crate::resource_manager::ResourceManager;
use crate::results::Delivery;
use crate::seat::Seat;
use crate::seats::Seats;
use crate::serve::{self, Doors};
use crate::spawn::Groups;
use crate::standoff::Standoff;
use crate::tickets::Tickets;
use crate::usage::Usages;

/// Between two tries to register.
const REGISTER_PAUSE: Duration = Duration::from_secs(1);
/// For a read of the cluster whose ResourceManager restarts or is too busy. Who waits for less says so.
const RM_PATIENCE: Duration = Duration::from_secs(20);
/// For the limits of the queue; without them the job waits where it could be told that it has to.
const QUEUE_DEADLINE: Duration = Duration::from_secs(2);

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
        application, job, ..
    } = seat.description.clone();
    let appmaster = place.address();
    let Place {
        listener,
        host,
        port,
    } = place;

    let (news, inbox) = mpsc::channel(NEWS_QUEUE);
    let tasks = TaskTracker::new();
    let leaving = CancellationToken::new();
    let _dropped = leaving.clone().drop_guard();
    let console = Arc::new(Console::new());
    let tickets = Tickets::default();
    serve::start(
        listener,
        &seat.keys,
        &Doors {
            news: news.clone(),
            console: Arc::clone(&console),
            tickets: tickets.clone(),
            tasks: tasks.clone(),
            leaving: leaving.clone(),
        },
        job.processes(),
    )?;
    if let Some(beside) = beside
        && let Some(chunks) = console.take_output()
    {
        let _taken = beside
            .send(Output::new(chunks, &console, &news, &tasks))
            .is_ok();
    }

    let rm =
        ApplicationMasterClient::new(application.rm_scheduler.clone(), seat.amrm_token.clone());
    let registration = register(&rm, &host, Some(port), &seat.page, &application).await?;
    let cluster = ApplicationClient::new(application.rm_client.clone(), &application.user);
    let cluster = Arc::new(cluster.with_timing(Timing::patient(RM_PATIENCE)));
    let registration = match registration {
        Some(registration) => registration,
        None => registration_of(&cluster).await?,
    };
    let registered = now_us();
    tracing::info!(
        "{} is registered, listening on {appmaster}: attempt {} of {}",
        seat.attempt,
        seat.attempt.attempt,
        application.attempts
    );

    let (step, share) = tokio::join!(step(&cluster, &seat), share(&cluster, &registration.queue));
    let own = application.am_memory.0.next_multiple_of(step.0.max(1));
    let own = Resources::new(own, 1);
    let types = nodes::types(&job.types, &registration);
    let own = seat.node.clone().map(|node| (node, own));

    let expiry = Duration::from_millis(application.am_expiry_ms);
    let table = RequestTable::new(
        application.node_label.clone(),
        nodes::names(&application),
        types.clone(),
    );
    let heard = HeardSender::new(news.clone());
    let draft = Draft::new(table);
    let rm = ResourceManager::new(rm, host, port, expiry, draft.clone(), heard.clone());
    tasks.spawn(rm.with_page(seat.page.clone()).run());

    let checkpoints = tokio::select! {
        checkpoints = Box::pin(Checkpoints::open(&seat)) => checkpoints,
        // The file system of the checkpoints hangs, and nothing runs yet.
        () = ending.cancelled() => Checkpoints::unreachable(),
    };
    tasks.spawn(end(ending, leaving.clone(), news.clone()));

    let demand = demand(&job, step, &types);
    let mut appmaster = Appmaster {
        holding: Holding::new(Parts {
            draft,
            launch: LaunchTemplate::new(&seat, appmaster)?,
            tickets,
            heard,
            tasks: tasks.clone(),
            cluster: Cluster::new(
                cluster,
                nodes::Limits::new(&registration, types, step),
                nodes::Candidates::new(&application, &job.exclude, &registration.queue, share, own),
            ),
        }),
        story: Story::new(demand.clone(), job.explain),
        job: Job::new(demand, job.limits, rand::random()),
        began: Instant::now(),
        tasks: tasks.clone(),
        news,
        console,
        streams: BTreeMap::new(),
        seats: Seats::default(),
        groups: Groups::default(),
        firsts: BTreeMap::new(),
        names: Names::default(),
        client: Client::Awaited,
        door: None,
        hasty: false,
        leaving: false,
        phase: wire::Phase::default(),
        reports: BTreeMap::new(),
        seen: BTreeMap::new(),
        exits: Exits::default(),
        usages: Usages::new(job.processes()),
        timing: wire::Timing {
            appmaster_started_us: born,
            registered_us: registered,
            ..wire::Timing::default()
        },
        finished: None,
        standoff: Standoff::default(),
        checkpoints,
        delivery: Delivery::default(),
        seat,
    };
    let outcome = appmaster.follow(inbox).await;
    leaving.cancel();
    tasks.close();
    // What is still under way has nobody to serve any more.
    let _ended = timeout(Duration::from_secs(1), tasks.wait()).await.is_ok();
    outcome
}

/// Ends the job in order, when that is asked for before it is over.
async fn end(ending: CancellationToken, over: CancellationToken, news: NewsSender) {
    tokio::select! {
        () = over.cancelled() => {}
        () = ending.cancelled() => {
            let terminated = Event::KillRequested(KillReason::Terminated);
            let _heard = news.send(News::Machine(terminated)).await.is_ok();
        }
    }
}

/// Registers, also with a ResourceManager that is just restarting, failing over or too busy. `None`:
/// an earlier try was taken, and its answer lost.
pub(crate) async fn register(
    rm: &ApplicationMasterClient,
    host: &str,
    port: Option<u16>,
    page: &str,
    application: &Application,
) -> Result<Option<Registration>> {
    let give_up = Instant::now() + Duration::from_millis(application.am_expiry_ms / 2);
    loop {
        match rm.register(host, port, page).await {
            Ok(registration) => return Ok(Some(registration)),
            Err(error) if error.is_already_registered() => {
                tracing::warn!("{error}: the answer to an earlier try was lost; going on");
                return Ok(None);
            }
            Err(error) if error.is_final() || Instant::now() > give_up => {
                return Err(error).context("cannot register with the ResourceManager");
            }
            Err(error) => tracing::warn!("registerApplicationMaster: {error}"),
        }
        sleep(REGISTER_PAUSE).await;
    }
}

/// What a lost answer to the registration would have told. Whether the scheduler counts cores is told
/// nowhere else; most do not, and a job that takes them for uncounted at worst waits longer.
async fn registration_of(cluster: &ApplicationClient) -> Result<Registration> {
    let offer = cluster.new_application().await;
    let offer = offer.context("cannot read the largest container that YARN grants")?;
    Ok(Registration {
        maximum: offer.maximum,
        queue: String::new(),
        counted: Counted::Memory,
        resource_types: Vec::new(),
        previous_containers: Vec::new(),
        nm_tokens: Vec::new(),
    })
}

/// To multiples of what the ResourceManager rounds containers up: what the client's settings say,
/// unless this AM's own container proves them wrong.
async fn step(cluster: &ApplicationClient, seat: &Seat) -> MiB {
    let application = &seat.description.application;
    let said = MiB(application.allocation_step.0.max(1));
    let asked = application.am_memory.0;
    let report = match &seat.container {
        Some(container) => cluster.report(&container.attempt.application).await.ok(),
        None => None,
    };
    match report.map(|report| report.usage.used.memory_mib) {
        None | Some(0) => said,
        Some(got) if asked.div_ceil(said.0) * said.0 == got => said,
        Some(got) => {
            tracing::warn!("the cluster rounds to {got} MiB, the client's settings say {said}");
            MiB(got)
        }
    }
}

/// The share of the cluster that all of `queue` may hold; `None`: no limit is known.
async fn share(cluster: &ApplicationClient, queue: &str) -> Option<f64> {
    let root = timeout(QUEUE_DEADLINE, cluster.queue_info("root")).await;
    let root = root.ok()?.ok()??;
    Some(root.share_of(queue)?.maximum)
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
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    })
}
