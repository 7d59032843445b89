//! The task against a scheduler that answers by a script.

use std::collections::{BTreeSet, VecDeque};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use credentials::Token;
use policy::{NodeShare, Placement};
use proto_hadoop::server::{
    AllocateAnswer, AllocateCall, AmRmIdentifier, ApplicationMasterService, Door, Fault, Faults,
    FinishCall, Keyring, MasterKey, Protocol, Refusal, RegisterCall, Server,
};
use proto_hadoop::yarn::{
    AllocateRequest, Container, ContainerState, ContainerStatus, Counted, Registration,
};
use proto_hadoop::{AppAttemptId, ApplicationId, NodeId};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::*;
use crate::next_allocate::Nodes;
use crate::requests::{Asking, RequestTable};

/// Whatever a test waits for comes within this.
const SOON: Duration = Duration::from_secs(10);
const ATTEMPT: AppAttemptId = AppAttemptId {
    application: ApplicationId {
        cluster_timestamp: 1,
        id: 1,
    },
    attempt: 1,
};

/// What is answered to the next allocate calls; then nothing is to be told.
type Answers = VecDeque<Result<AllocateResponse, Refusal>>;

struct Script {
    key: MasterKey,
    answers: Mutex<Answers>,
    heard: Mutex<Vec<AllocateRequest>>,
    registered: Mutex<bool>,
    /// What the next call is to bring; out of step with it, nothing is taken.
    response_id: Mutex<i32>,
}

impl Keyring for Script {
    fn password(&self, identifier: &[u8]) -> Result<Vec<u8>, Refusal> {
        Ok(self.key.sign(identifier))
    }
}

impl ApplicationMasterService for Script {
    fn register(&self, _token: &[u8], _call: RegisterCall) -> Result<Registration, Refusal> {
        let mut registered = self.registered.lock().unwrap();
        if *registered {
            let words = "Application Master is already registered : application_1_0001";
            return Err(Refusal::yarn(
                "InvalidApplicationMasterRequestException",
                words,
            ));
        }
        *registered = true;
        *self.response_id.lock().unwrap() = 0;
        Ok(Registration {
            maximum: Resource::new(4096, 4),
            queue: "default".into(),
            counted: Counted::Memory,
            resource_types: Vec::new(),
            previous_containers: Vec::new(),
            nm_tokens: Vec::new(),
        })
    }

    fn allocate(&self, _token: &[u8], call: AllocateCall) -> Result<AllocateAnswer, Refusal> {
        if !*self.registered.lock().unwrap() {
            let class = "ApplicationMasterNotRegisteredException";
            return Err(Refusal::yarn(class, "register first"));
        }
        let mut expected = self.response_id.lock().unwrap();
        if call.response_id != *expected && call.response_id + 1 != *expected {
            let class = "InvalidApplicationMasterRequestException";
            return Err(Refusal::yarn(
                class,
                "Invalid responseId in AllocateRequest",
            ));
        }
        *expected = call.response_id + 1;
        drop(expected);
        self.heard.lock().unwrap().push(call.request);
        let answer = self.answers.lock().unwrap().pop_front();
        Ok(AllocateAnswer {
            response_id: call.response_id + 1,
            response: answer.unwrap_or_else(|| Ok(AllocateResponse::default()))?,
            token: None,
        })
    }

    fn finish(&self, _token: &[u8], _call: FinishCall) -> Result<bool, Refusal> {
        Ok(true)
    }
}

/// The task under test between a scripted scheduler and a test that plays the loop.
struct SchedulerBed {
    script: Arc<Script>,
    faults: Faults,
    news: mpsc::Receiver<ContainerEvent>,
    draft: Draft,
    _server: Server,
    task: JoinSet<()>,
}

impl SchedulerBed {
    /// `places` for what is told.
    async fn new(answers: Answers, places: usize) -> Self {
        Self::expiring(answers, places, Duration::from_secs(600)).await
    }

    /// YARN takes the task for dead after `expiry`.
    async fn expiring(answers: Answers, places: usize, expiry: Duration) -> Self {
        let script = Arc::new(Script {
            key: MasterKey::generate(1),
            answers: Mutex::new(answers),
            heard: Mutex::default(),
            registered: Mutex::new(true),
            response_id: Mutex::default(),
        });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let faults = Faults::default();
        let protocol = Protocol::application_master(Arc::clone(&script));
        let door = Door::Token(Arc::clone(&script) as _);
        let server = Server::start(listener, protocol, door, faults.clone()).unwrap();
        let token = AmRmIdentifier::token(ATTEMPT, &script.key);
        let client = ApplicationMasterClient::new(vec![server.address().to_string()], token);
        let (news_sender, news) = mpsc::channel(places);
        let draft = Draft::new(RequestTable::default());
        let host = "here".to_owned();
        let task = ResourceManager::new(
            client,
            host,
            1,
            expiry,
            draft.clone(),
            ContainerEventSender::new(news_sender),
        );
        let mut tasks = JoinSet::new();
        tasks.spawn(task.run());
        Self {
            script,
            faults,
            news,
            draft,
            _server: server,
            task: tasks,
        }
    }

    async fn hear(&mut self) -> ContainerEvent {
        timeout(SOON, self.news.recv()).await.unwrap().unwrap()
    }

    /// The first call is under way, or over.
    async fn begun(&self) {
        self.comes(|| !self.script.heard.lock().unwrap().is_empty())
            .await;
    }

    /// A call has said something.
    async fn said_something(&self) {
        self.comes(|| !self.heard().is_empty()).await;
    }

    async fn comes(&self, what: impl Fn() -> bool) {
        let coming = async {
            while !what() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(SOON, coming).await.unwrap();
    }

    async fn finished(&mut self) -> Finished {
        loop {
            if let ContainerEvent::Finished(finished) = self.hear().await {
                return finished;
            }
        }
    }

    /// What the scheduler has heard, the calls that said nothing aside.
    fn heard(&self) -> Vec<AllocateRequest> {
        let heard = self.script.heard.lock().unwrap();
        let said = |call: &&AllocateRequest| !call.asks.is_empty() || !call.releases.is_empty();
        heard.iter().filter(said).cloned().collect()
    }
}

fn id(number: i64) -> proto_hadoop::ContainerId {
    proto_hadoop::ContainerId {
        attempt: ATTEMPT,
        id: number,
    }
}

fn container(number: i64) -> Container {
    let node = NodeId {
        host: format!("n{number}"),
        port: 1,
    };
    Container {
        id: id(number),
        http_address: String::new(),
        node,
        resource: Resource::new(1024, 1),
        priority: 1,
        allocation_request_id: 1,
        token: Some(Token {
            identifier: Vec::new(),
            password: Vec::new(),
            kind: "ContainerToken".into(),
            service: String::new(),
        }),
    }
}

#[tokio::test]
async fn who_writes_more_than_is_sent_and_hears_less_than_is_told_waits_for_nobody() {
    let ended = |number: i64| ContainerStatus {
        id: id(number),
        state: ContainerState::Complete,
        is_localizing: false,
        exit_status: -100,
        diagnostics: String::new(),
    };
    let answer = AllocateResponse {
        completed: (1..=200).map(ended).collect(),
        ..AllocateResponse::default()
    };
    let mut stage = SchedulerBed::new(VecDeque::from([Ok(answer)]), 2).await;
    let mut left = 200;
    while left > 0 {
        if let ContainerEvent::Ended { .. } = stage.hear().await {
            left -= 1;
            for again in 0..3 {
                stage.draft.release(&[id(1000 + again)]);
            }
        }
    }
    stage.draft.finish(succeeded());
    assert!(stage.finished().await.unregistered);
    let heard = stage.heard();
    assert!(heard.iter().all(|call| call.releases.len() <= 3));
    assert!(heard.iter().any(|call| call.releases.len() == 3));
}

#[tokio::test]
async fn the_containers_of_one_answer_are_one_piece_of_news_and_go_back_in_one_call() {
    let answer = AllocateResponse {
        allocated: (1..=2000).map(container).collect(),
        ..AllocateResponse::default()
    };
    let mut stage = SchedulerBed::new(VecDeque::from([Ok(answer)]), 64).await;
    let granted = loop {
        if let ContainerEvent::Granted(granted) = stage.hear().await {
            break granted;
        }
    };
    assert_eq!(granted.len(), 2000);
    for half in granted.chunks(1000) {
        let ids: Vec<_> = half.iter().map(|granted| granted.container.id).collect();
        stage.draft.release(&ids);
    }
    stage.draft.finish(succeeded());
    let finished = stage.finished().await;
    assert!(finished.unregistered);
    let heard = stage.heard();
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0].releases.len(), 2000);
}

fn succeeded() -> Finish {
    Finish {
        status: FinalApplicationStatus::Succeeded,
        diagnostics: String::new(),
    }
}

fn read_of_the_nodes() -> Nodes {
    Ok(policy::ClusterView {
        nodes: Vec::new(),
        maximum: policy::Resources::new(4096, 4),
        step: policy::MiB(1024),
        counted: policy::Counted::Memory,
        ..policy::ClusterView::default()
    })
}

#[tokio::test]
async fn a_read_of_the_nodes_is_told_after_the_grants_that_it_may_have_counted() {
    let granted = AllocateResponse {
        allocated: vec![container(1)],
        ..AllocateResponse::default()
    };
    let answers = Answers::from([Ok(AllocateResponse::default()), Ok(granted)]);
    let mut stage = SchedulerBed::new(answers, 64).await;
    stage.begun().await;
    stage.draft.read(read_of_the_nodes());
    let mut granted = false;
    loop {
        match stage.hear().await {
            ContainerEvent::Granted(_) => granted = true,
            ContainerEvent::Nodes(nodes) => {
                assert!(granted && nodes.is_ok(), "{nodes:?}");
                break;
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_read_of_the_nodes_is_of_no_use_where_the_next_call_fails() {
    let answers = Answers::from([Ok(AllocateResponse::default()), Err(refusal())]);
    let mut stage = SchedulerBed::new(answers, 64).await;
    stage.begun().await;
    stage.draft.read(read_of_the_nodes());
    loop {
        if let ContainerEvent::Nodes(nodes) = stage.hear().await {
            let words = nodes.unwrap_err();
            assert!(words.contains("no access to label gpu"), "{words}");
            break;
        }
    }
}

fn refusal() -> Refusal {
    Refusal::yarn(
        "InvalidLabelResourceRequestException",
        "no access to label gpu",
    )
}

/// One container of 1 GiB on one node.
fn asking() -> Asking {
    Asking {
        round: 1,
        placement: Placement {
            shares: vec![NodeShare {
                node: NodeId("n1:1".into()),
                host: "n1".into(),
                rack: "/r".into(),
                processes: 1,
                ask: policy::Resources::new(1024, 1),
            }],
        },
        held: BTreeSet::new(),
        kept: BTreeSet::new(),
    }
}

#[tokio::test]
async fn requests_that_are_refused_again_and_again_are_told_with_the_words_of_the_refusal() {
    let mut stage = SchedulerBed::new(VecDeque::new(), 64).await;
    stage
        .script
        .answers
        .lock()
        .unwrap()
        .extend((0..9).map(|_| Err(refusal())));
    stage.draft.ask(0, &asking());
    let began = Instant::now();
    let words = loop {
        match stage.hear().await {
            ContainerEvent::Refused(words) => break words,
            ContainerEvent::Asked { .. } => panic!("nothing was taken"),
            _ => {}
        }
    };
    assert!(words.ends_with("no access to label gpu"), "{words}");
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test]
async fn a_request_in_doubt_that_is_refused_when_repeated_is_made_again() {
    let mut stage = SchedulerBed::new(VecDeque::new(), 64).await;
    // The answer to the first call: the next one is made for the order.
    assert!(matches!(stage.hear().await, ContainerEvent::Headroom(_)));
    // A call that is cut has run; the channel repeats it once.
    stage.faults.next("allocate", Fault::Cut(5));
    stage.faults.next("allocate", Fault::Cut(5));
    stage.faults.next("allocate", Fault::Refused(refusal()));
    stage.draft.ask(0, &asking());
    loop {
        if let ContainerEvent::Asked { containers, rows } = stage.hear().await {
            assert_eq!((containers, rows), (1, 3));
            break;
        }
    }
    let rows: Vec<usize> = stage.heard().iter().map(|call| call.asks.len()).collect();
    assert_eq!(rows, [3, 3, 3]);
}

#[tokio::test]
async fn a_resource_manager_that_keeps_its_connection_and_answers_nothing_is_missed_in_time() {
    let expiry = Duration::from_secs(2);
    let mut stage = SchedulerBed::expiring(Answers::new(), 64, expiry).await;
    stage.faults.next("allocate", Fault::Lost);
    let began = Instant::now();
    loop {
        if let ContainerEvent::ResourceManagerLost { silent } = stage.hear().await {
            assert!(silent.0 >= 1_000 && silent.0 < 1_900, "{silent:?}");
            break;
        }
    }
    assert!(began.elapsed() < expiry);
    let told = AllocateResponse {
        preempted: vec![proto_hadoop::yarn::PreemptedContainer {
            id: proto_hadoop::ContainerId {
                attempt: ATTEMPT,
                id: 2,
            },
            strict: true,
        }],
        ..AllocateResponse::default()
    };
    stage.script.answers.lock().unwrap().push_back(Ok(told));
    // It goes on asking: whoever unregisters later needs the connection.
    loop {
        if let ContainerEvent::WantedBack(containers) = stage.hear().await {
            assert_eq!(containers.len(), 1);
            break;
        }
    }
}

fn too_busy() -> Refusal {
    Refusal::new(
        "org.apache.hadoop.ipc.RetriableException",
        "Server is too busy",
    )
}

#[tokio::test]
async fn a_resource_manager_that_is_too_busy_or_in_standby_has_refused_nothing() {
    let mut stage = SchedulerBed::new(VecDeque::new(), 64).await;
    assert!(matches!(stage.hear().await, ContainerEvent::Headroom(_)));
    for _ in 0..2 {
        stage.faults.next("allocate", Fault::Refused(too_busy()));
        stage.faults.next("allocate", Fault::Fatal(too_busy()));
        let standby = Refusal::new("org.apache.hadoop.ipc.StandbyException", "in standby");
        stage.faults.next("allocate", Fault::Refused(standby));
    }
    stage.draft.ask(0, &asking());
    loop {
        match stage.hear().await {
            ContainerEvent::Asked { containers, .. } => break assert_eq!(containers, 1),
            ContainerEvent::Headroom(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn words_of_the_layers_before_the_scheduler_are_no_heartbeat() {
    let expiry = Duration::from_secs(4);
    let mut stage = SchedulerBed::expiring(Answers::new(), 64, expiry).await;
    for _ in 0..40 {
        stage.faults.next("allocate", Fault::Refused(too_busy()));
    }
    let began = Instant::now();
    loop {
        match stage.hear().await {
            ContainerEvent::ResourceManagerLost { .. } => break,
            ContainerEvent::Headroom(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(began.elapsed() < expiry, "{:?}", began.elapsed());
}

#[tokio::test]
async fn after_a_restart_of_the_resource_manager_a_registration_may_lose_its_answer() {
    let mut stage = SchedulerBed::new(VecDeque::new(), 64).await;
    assert!(matches!(stage.hear().await, ContainerEvent::Headroom(_)));
    stage.draft.release(&[id(7)]);
    stage.said_something().await;
    *stage.script.registered.lock().unwrap() = false;
    // It has run; the channel repeats it, and is told so.
    let register = "registerApplicationMaster";
    stage.faults.next(register, Fault::Cut(5));
    stage.draft.ask(0, &asking());
    let mut restarted = false;
    loop {
        match stage.hear().await {
            ContainerEvent::ResourceManagerRestarted => restarted = true,
            ContainerEvent::Asked { .. } if restarted => break,
            ContainerEvent::Headroom(_) => {}
            other => panic!("{other:?}"),
        }
    }
    // What was given back is given back again: its end was never told.
    let last = stage.heard().pop().unwrap();
    assert_eq!((last.releases, last.asks.len()), (vec![id(7)], 3));
}

#[tokio::test]
async fn what_was_being_given_back_when_the_resource_manager_fell_over_is_given_back_again() {
    let mut stage = SchedulerBed::new(VecDeque::new(), 64).await;
    assert!(matches!(stage.hear().await, ContainerEvent::Headroom(_)));
    // One that was taken, and whose end was not told yet.
    stage.draft.release(&[id(6)]);
    stage.said_something().await;
    // The call has reached a ResourceManager that is gone before its answer, twice with the repetition.
    stage.faults.next("allocate", Fault::Cut(5));
    stage.faults.next("allocate", Fault::Cut(5));
    stage.draft.release(&[id(7), id(8)]);
    stage.said_something().await;
    *stage.script.registered.lock().unwrap() = false;
    stage.script.heard.lock().unwrap().clear();
    loop {
        match stage.hear().await {
            ContainerEvent::ResourceManagerRestarted => break,
            ContainerEvent::Headroom(_) => {}
            other => panic!("{other:?}"),
        }
    }
    let began = Instant::now();
    stage.said_something().await;
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!(stage.heard()[0].releases, [id(6), id(7), id(8)]);
    // Their ends are told: no further ResourceManager hears of them.
    let ended = |number: i64| ContainerStatus {
        id: id(number),
        state: ContainerState::Complete,
        is_localizing: false,
        exit_status: -100,
        diagnostics: String::new(),
    };
    let told = AllocateResponse {
        completed: vec![ended(6), ended(7), ended(8)],
        ..AllocateResponse::default()
    };
    stage.script.answers.lock().unwrap().push_back(Ok(told));
    stage.draft.hurry();
    for _ in 0..3 {
        assert!(matches!(stage.hear().await, ContainerEvent::Ended { .. }));
    }
    *stage.script.registered.lock().unwrap() = false;
    stage.script.heard.lock().unwrap().clear();
    stage.draft.ask(0, &asking());
    stage.said_something().await;
    let heard = stage.heard();
    assert!(
        heard.iter().all(|call| call.releases.is_empty()),
        "{heard:?}"
    );
}

#[tokio::test]
async fn an_attempt_that_is_over_is_told_so_and_has_nothing_to_unregister() {
    let gone = Refusal::yarn("ApplicationAttemptNotFoundException", "who is that");
    let mut stage = SchedulerBed::new(Answers::from([Err(gone)]), 64).await;
    loop {
        match stage.hear().await {
            ContainerEvent::Killed => break,
            ContainerEvent::Headroom(_) => {}
            other => panic!("{other:?}"),
        }
    }
    stage.draft.release(&[id(7)]);
    stage.draft.finish(succeeded());
    let finished = stage.finished().await;
    assert!(!finished.unregistered);
    assert_eq!(finished.allocates, 1);
}

#[tokio::test]
async fn when_nobody_writes_any_more_nobody_calls() {
    let mut stage = SchedulerBed::new(Answers::new(), 64).await;
    stage.begun().await;
    stage.draft.abandon();
    let ended = timeout(SOON, stage.task.join_next()).await;
    assert!(ended.unwrap().unwrap().is_ok());
}
