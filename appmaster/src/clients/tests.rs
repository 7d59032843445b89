//! The client's service at the open port: the test is the AM's loop on one side, and clients on the
//! other.

use std::time::Duration;

use holding::{BoundPort, ContainerEventSender, Doors, Port};
use job::JobId;
use job::secrets;
use job::wire::clients_client::ClientsClient;
use job::wire::clients_server::ClientsServer;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tonic::Code;
use tonic::service::Routes;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use policy::lifecycle::KillReason;

use super::*;
use crate::loop_event::{JobEvents, NEWS_QUEUE};
use crate::test_keys::JobKeys;
use crate::work::JobEvent;

/// Whatever is waited for comes within this time, or the test fails.
const SOON: Duration = Duration::from_secs(8);

struct ClientsBed {
    keys: JobKeys,
    address: String,
    inbox: mpsc::Receiver<LoopEvent>,
    consoles: Arc<Consoles>,
    leaving: CancellationToken,
}

impl ClientsBed {
    async fn open() -> Self {
        let keys = JobKeys::new();
        let place = BoundPort::take(None, Some("lo"), "localhost")
            .await
            .unwrap();
        let address = place.own_address();
        let (news, inbox) = mpsc::channel(NEWS_QUEUE);
        let (consoles, tasks) = (Arc::new(Consoles::default()), TaskTracker::new());
        consoles.begin(JobId::OF_APPLICATION);
        let leaving = CancellationToken::new();
        let clients = ClientsServer::new(ClientService {
            admitted: Admitted::new(&keys.appmaster.client_certificate, "client").unwrap(),
            news: news.clone(),
            consoles: Arc::clone(&consoles),
            detached: Arc::new(Detached::here()),
            tasks: tasks.clone(),
        });
        let doors = Doors {
            heard: ContainerEventSender::new(news),
            streams: consoles.clone(),
            others: Routes::new(clients),
            tasks,
            leaving: leaving.clone(),
        };
        let _port = Port::open(place, &keys.appmaster, doors, 4).unwrap();
        Self {
            keys,
            address,
            inbox,
            consoles,
            leaving,
        }
    }

    /// A connection by TLS, with that certificate.
    async fn dial(
        &self,
        identity: Option<&(String, String)>,
    ) -> Result<Channel, tonic::transport::Error> {
        let mut tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(&self.keys.appmaster.authority))
            .domain_name(secrets::APPMASTER_NAME);
        if let Some((certificate, key)) = identity {
            tls = tls.identity(Identity::from_pem(certificate, key));
        }
        let endpoint = Endpoint::from_shared(format!("https://{}", self.address))?;
        endpoint.tls_config(tls)?.connect().await
    }

    async fn client(&self) -> ClientsClient<Channel> {
        ClientsClient::new(self.dial(Some(&self.keys.client)).await.unwrap())
    }

    async fn heard(&mut self) -> LoopEvent {
        timeout(SOON, self.inbox.recv()).await.unwrap().unwrap()
    }

    fn heard_nothing(&mut self) {
        assert!(self.inbox.try_recv().is_err());
    }

    /// The next client that wants to follow, let in or not; where it hears of the job.
    async fn answer(&mut self, with: Result<(), Status>) -> JobEvents {
        match self.heard().await {
            LoopEvent::ClientAttached {
                events, admitted, ..
            } => {
                admitted.send(with).unwrap();
                events
            }
            _ => panic!("something else was heard"),
        }
    }

    /// The next news, once `other` is over.
    async fn heard_while(&mut self, other: impl Future) -> LoopEvent {
        tokio::join!(self.heard(), other).0
    }
}

impl Drop for ClientsBed {
    fn drop(&mut self) {
        self.leaving.cancel();
    }
}

type Attached = Result<Response<Streaming<wire::JobEvent>>, Status>;

/// Says hello; what is kept open so that more can be said, and the answer, which comes when the loop has
/// given one.
fn attach(
    mut client: ClientsClient<Channel>,
) -> (
    mpsc::Sender<wire::ClientOrder>,
    impl Future<Output = Attached>,
) {
    let (said, saying) = mpsc::channel(4);
    let hello = wire::client_order::Order::Hello(wire::ClientHello {
        build: job::BUILD.into(),
        ..wire::ClientHello::default()
    });
    said.try_send(wire::ClientOrder { order: Some(hello) })
        .unwrap();
    let answer = async move {
        timeout(SOON, client.attach(ReceiverStream::new(saying)))
            .await
            .unwrap()
    };
    (said, answer)
}

fn kill() -> wire::ClientOrder {
    let reason = wire::kill::Reason::Interrupted.into();
    wire::ClientOrder {
        order: Some(wire::client_order::Order::Kill(wire::Kill { reason })),
    }
}

#[tokio::test]
async fn only_the_client_of_this_job_follows_it() {
    let mut stage = ClientsBed::open().await;
    let others = JobKeys::new();
    for identity in [None, Some(&others.launcher), Some(&others.client)] {
        // With TLS 1.3 a client hears of its refusal when it wants to say something.
        if let Ok(channel) = stage.dial(identity).await {
            let (_said, answer) = attach(ClientsClient::new(channel));
            assert!(answer.await.is_err(), "{identity:?}");
        }
    }
    let wrong = ClientsClient::new(stage.dial(Some(&stage.keys.launcher)).await.unwrap());
    let (_said, answer) = attach(wrong);
    assert_eq!(answer.await.unwrap_err().code(), Code::PermissionDenied);
    stage.heard_nothing();
    let (_said, answer) = attach(stage.client().await);
    let (_events, answer) = tokio::join!(stage.answer(Ok(())), answer);
    assert!(answer.is_ok());
}

#[tokio::test]
async fn a_second_client_is_refused_and_not_heard() {
    let mut stage = ClientsBed::open().await;
    let (first, answer) = attach(stage.client().await);
    let (_events, answer) = tokio::join!(stage.answer(Ok(())), answer);
    let _stream = answer.unwrap();

    let (second, answer) = attach(stage.client().await);
    second.send(kill()).await.unwrap();
    let refusal = Status::failed_precondition("another client follows this job");
    let (_gone, answer) = tokio::join!(stage.answer(Err(refusal)), answer);
    assert!(answer.unwrap_err().message().contains("another client"));
    let _closed = second.send(kill()).await.is_ok();
    drop(second);
    sleep(Duration::from_millis(200)).await;
    // Neither its order nor its end.
    stage.heard_nothing();

    first.send(kill()).await.unwrap();
    assert!(matches!(
        stage.heard().await,
        LoopEvent::Of(
            JobId::OF_APPLICATION,
            WorkEvent::Every(JobEvent::ClientKill(KillReason::Interrupted))
        )
    ));
    drop(first);
    assert!(matches!(
        stage.heard().await,
        LoopEvent::Of(
            JobId::OF_APPLICATION,
            WorkEvent::Every(JobEvent::ClientLeft)
        )
    ));
}

#[tokio::test]
async fn it_is_heard_when_the_owner_of_a_session_has_gone() {
    let mut stage = ClientsBed::open().await;
    let mut client = stage.client().await;
    let (said, saying) = mpsc::channel(4);
    let hello = wire::client_order::Order::Hello(wire::ClientHello {
        build: job::BUILD.into(),
        owns: true,
        ..wire::ClientHello::default()
    });
    let say = |order| said.try_send(wire::ClientOrder { order: Some(order) });
    say(hello).unwrap();
    let attaching = timeout(SOON, client.attach(ReceiverStream::new(saying)));
    let attached = async {
        let LoopEvent::OwnerAttached { events, admitted } = stage.heard().await else {
            panic!("something else was heard");
        };
        admitted.send(Ok(())).unwrap();
        events
    };
    let (_events, attached) = tokio::join!(attached, attaching);
    let _stream = attached.unwrap().unwrap();
    // Whatever else it says is of no job.
    say(wire::client_order::Order::Alive(wire::Alive {})).unwrap();
    drop(said);
    assert!(matches!(stage.heard().await, LoopEvent::OwnerLeft));
}

#[tokio::test]
async fn a_client_that_goes_away_before_it_is_let_in_has_left() {
    let mut stage = ClientsBed::open().await;
    let (said, answer) = attach(stage.client().await);
    let waiting = timeout(Duration::from_millis(300), answer);
    let LoopEvent::ClientAttached { admitted, .. } = stage.heard_while(waiting).await else {
        panic!("something else was heard");
    };
    drop(said);
    admitted.send(Ok(())).unwrap();
    assert!(matches!(
        stage.heard().await,
        LoopEvent::Of(
            JobId::OF_APPLICATION,
            WorkEvent::Every(JobEvent::ClientLeft)
        )
    ));
}

#[tokio::test]
async fn only_an_end_that_is_said_is_one_to_rank_0() {
    let mut stage = ClientsBed::open().await;
    let console = stage.consoles.get(JobId::OF_APPLICATION).unwrap();
    let mut rank = console.take_input().unwrap();
    let give = async |chunks: Vec<wire::InputChunk>| {
        let mut client = stage.client().await;
        let mut request = Request::new(tokio_stream::iter(chunks));
        job::pass::show_job(&mut request, JobId::OF_APPLICATION.0);
        timeout(SOON, client.input(request)).await.unwrap()
    };
    let chunk = |data: &'static [u8], last| wire::InputChunk {
        data: data.into(),
        last,
        ..wire::InputChunk::default()
    };
    let read = async |rank: &mut mpsc::Receiver<wire::InputChunk>| {
        let read = timeout(SOON, rank.recv()).await.unwrap();
        read.map(|chunk| chunk.data)
    };
    // The call has an end, and the input has not.
    let broken = give(vec![chunk(b"one", false)]).await.unwrap_err();
    assert_eq!(broken.code(), Code::Aborted);
    assert_eq!(read(&mut rank).await.as_deref(), Some(&b"one"[..]));

    // The client is gone in the middle of its call.
    let mut client = stage.client().await;
    let (said, saying) = mpsc::channel(1);
    let mut request = Request::new(ReceiverStream::new(saying));
    job::pass::show_job(&mut request, JobId::OF_APPLICATION.0);
    let mut calling = Box::pin(client.input(request));
    said.try_send(chunk(b"two", false)).unwrap();
    tokio::select! {
        taken = &mut calling => panic!("{taken:?}"),
        piece = read(&mut rank) => assert_eq!(piece.as_deref(), Some(&b"two"[..])),
    }
    assert!(console.input().is_none(), "it is given");
    drop(calling);
    drop(client);
    let kept = async {
        loop {
            match console.input() {
                Some(kept) => break kept,
                None => sleep(Duration::from_millis(5)).await,
            }
        }
    };
    let kept = timeout(SOON, kept).await.unwrap();
    assert!(rank.try_recv().is_err() && !rank.is_closed());
    console.keep_input(kept);

    give(vec![chunk(b"three", false), chunk(b"", true)])
        .await
        .unwrap();
    assert_eq!(read(&mut rank).await.as_deref(), Some(&b"three"[..]));
    assert_eq!(read(&mut rank).await, None);
    stage.heard_nothing();
}
