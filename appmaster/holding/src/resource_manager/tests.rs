//! The task against a scheduler that answers by a script.

mod news;
mod outages;
mod refusals;

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
    AllocateRequest, Container, ContainerState, ContainerStatus, Counted, FinalApplicationStatus,
    Registration,
};
use proto_hadoop::{AppAttemptId, ApplicationId, NodeId};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::*;
use crate::next_allocate::{Finish, Nodes};
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
    /// It takes one more registration though it has one.
    takes_another: Mutex<bool>,
    /// Containers that it knows when it is registered with.
    kept: Mutex<Vec<Container>>,
    /// What the next call is to bring; out of step with it, nothing is taken.
    response_id: Mutex<i32>,
    /// The largest container that it grants.
    maximum: Mutex<Resource>,
    /// The calls that it has taken.
    taken: Mutex<Vec<AllocateRequest>>,
    /// As after a restart without the recovery of what runs: it has not the attempt that unregisters.
    has_forgotten: Mutex<bool>,
}

impl Script {
    /// As `DefaultAMSProcessor.allocate` looks at a call before it takes anything of it.
    fn validate(&self, call: &AllocateRequest) -> Result<(), Refusal> {
        let maximum = self.maximum.lock().unwrap();
        for row in &call.asks {
            if row.capability.memory_mib > maximum.memory_mib {
                let words = format!(
                    "Invalid resource request! Cannot allocate containers as requested resource is greater than \
                     maximum allowed allocation. Requested resource type=[memory-mb], Requested \
                     resource=<memory:{}, vCores:1>",
                    row.capability.memory_mib
                );
                return Err(Refusal::yarn("InvalidResourceRequestException", &words));
            }
        }
        match call.releases.iter().find(|id| id.attempt != ATTEMPT) {
            Some(id) => Err(Refusal::yarn(
                "InvalidContainerReleaseException",
                format!(
                    "Cannot release container : {id} not belonging to this application attempt : {ATTEMPT}"
                ),
            )),
            None => Ok(()),
        }
    }
}

impl Keyring for Script {
    fn password(&self, identifier: &[u8]) -> Result<Vec<u8>, Refusal> {
        Ok(self.key.sign(identifier))
    }
}

impl ApplicationMasterService for Script {
    fn register(&self, _token: &[u8], _call: RegisterCall) -> Result<Registration, Refusal> {
        let mut registered = self.registered.lock().unwrap();
        let takes_another = std::mem::take(&mut *self.takes_another.lock().unwrap());
        if *registered && !takes_another {
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
            previous_containers: self.kept.lock().unwrap().clone(),
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
        self.heard.lock().unwrap().push(call.request.clone());
        self.validate(&call.request)?;
        self.taken.lock().unwrap().push(call.request);
        let answer = self.answers.lock().unwrap().pop_front();
        Ok(AllocateAnswer {
            response_id: call.response_id + 1,
            response: answer.unwrap_or_else(|| Ok(AllocateResponse::default()))?,
            token: None,
        })
    }

    fn finish(&self, _token: &[u8], _call: FinishCall) -> Result<bool, Refusal> {
        match *self.has_forgotten.lock().unwrap() {
            true => Err(Refusal::yarn(
                "InvalidApplicationMasterRequestException",
                format!("Application doesn't exist in cache {ATTEMPT}"),
            )),
            false => Ok(true),
        }
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
            takes_another: Mutex::default(),
            kept: Mutex::default(),
            response_id: Mutex::default(),
            maximum: Mutex::new(Resource::new(4096, 4)),
            taken: Mutex::default(),
            has_forgotten: Mutex::default(),
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
        let task = ResourceManagerTask::new(
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

fn succeeded() -> Finish {
    Finish {
        status: FinalApplicationStatus::Succeeded,
        diagnostics: String::new(),
    }
}

fn refusal() -> Refusal {
    Refusal::yarn(
        "InvalidLabelResourceRequestException",
        "no access to label gpu",
    )
}
