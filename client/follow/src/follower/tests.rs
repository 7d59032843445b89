//! Waits for a ResourceManager that takes calls and answers none.

use std::ops::ControlFlow;
use std::time::Duration;

use job::exit::Exit;
use proto_hadoop::{AppAttemptId, ApplicationClient, ApplicationId};
use terminal::signals::{SignalRequest, Signals};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::{Follower, SubmittedApplication};
use crate::attempts::Attempts;
use crate::ended::Ended;
use crate::keys::JobKeys;
use crate::output::Layout;
use crate::progress::Progress;
use crate::streams::InputSource;
use crate::timeout::WaitTimeout;

const ID: ApplicationId = ApplicationId {
    cluster_timestamp: 1,
    id: 7,
};

#[tokio::test]
async fn a_signal_ends_each_wait_for_yarns_words() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let rm = ApplicationClient::new(vec![address], "me");
    let keys = JobKeys::generate().unwrap().client_keys();
    let (sender, asked) = mpsc::channel(1);
    let mut signals = Signals::from(asked);
    let follower = Follower {
        rm: &rm,
        id: ID,
        keys: &keys,
        progress: Progress::new(true),
        signals: &mut signals,
        layout: Layout::default(),
        input: InputSource::Nothing,
        terminal: false,
        explain: None,
    };
    let mut followed = SubmittedApplication {
        follower,
        wait_timeout: WaitTimeout::new(None),
        attempts: Attempts::new(2, Duration::ZERO),
    };
    let mut ended = Ended {
        code: Exit::Lost.code(),
        sentence: "lost".to_owned(),
        verdict: None,
    };
    let lost = AppAttemptId {
        application: ID,
        attempt: 1,
    };
    let asking = async {
        sender.send(SignalRequest::End(2)).await.unwrap();
        let said = followed.say_replaced(lost, "attempt 2 of 2").await;
        assert_eq!(said, ControlFlow::Break(2));
        sender.send(SignalRequest::End(2)).await.unwrap();
        assert!(matches!(followed.asked().await, ControlFlow::Break(2)));
        sender.send(SignalRequest::End(2)).await.unwrap();
        followed.find_the_root(&mut ended, "at n1").await;
        // Heard: there is room for another.
        sender.try_send(SignalRequest::End(2)).unwrap();
    };
    timeout(Duration::from_secs(60), asking).await.unwrap();
    assert_eq!(ended.sentence, "lost");
}
