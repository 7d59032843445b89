//! The table of what is tried again, and where, row by row.

use super::*;

/// What a scripted server does with one call.
#[derive(Clone, Copy, Debug)]
enum Act {
    Answer,
    /// An exception in place of an answer.
    Error(&'static str),
    /// An exception in place of the connection.
    Fatal(&'static str),
    Close,
    Silent,
}

/// Serves calls by the script, whichever connections they come on, and answers what comes after it.
/// Returns how many calls came once `over`.
async fn serve(
    listener: &tokio::net::TcpListener,
    script: &[Act],
    over: tokio::sync::oneshot::Receiver<()>,
) -> usize {
    let mut calls = 0;
    let mut held = Vec::new();
    let serving = async {
        loop {
            let mut peer = accept(listener).await;
            let mut received = Some(peer.first_call().await);
            while let Some(call) = received {
                calls += 1;
                match script.get(calls - 1).copied().unwrap_or(Act::Answer) {
                    Act::Answer => peer.answer(call.id, &text("done")).await,
                    Act::Error(class) => peer.error(call.id, class, "not now").await,
                    Act::Fatal(class) => {
                        peer.fatal(class, "not now").await;
                        break;
                    }
                    Act::Close => break,
                    Act::Silent => {
                        held.push(peer);
                        break;
                    }
                }
                received = peer.call().await;
            }
        }
    };
    tokio::select! {
        () = serving => {}
        _ = over => {}
    }
    calls
}

/// Each row of the table in `retry`, seen from a caller that has patience: how many calls the server
/// gets, and whether the last is answered.
#[tokio::test]
async fn every_row_of_the_table_through_the_channel() {
    const BUSY: &str = "org.apache.hadoop.ipc.RetriableException";
    const STANDBY: &str = "org.apache.hadoop.ipc.StandbyException";
    const NOT_READY: &str = "org.apache.hadoop.yarn.exceptions.NMNotYetReadyException";
    const NO: &str = "org.apache.hadoop.yarn.exceptions.YarnException";
    /// How many calls, and whether the last is answered.
    type SeenCalls = (usize, bool);
    // (script, seen when idempotent, seen when at most once)
    let table: [(&[Act], SeenCalls, SeenCalls); 8] = [
        (&[Act::Error(BUSY), Act::Error(BUSY)], (3, true), (3, true)),
        (&[Act::Fatal(BUSY)], (2, true), (2, true)),
        (&[Act::Error(NOT_READY)], (2, true), (2, true)),
        (&[Act::Error(STANDBY)], (2, true), (2, true)),
        (&[Act::Error(NO)], (1, false), (1, false)),
        (&[Act::Close], (2, true), (1, false)),
        (&[Act::Close, Act::Close, Act::Close], (4, true), (1, false)),
        (&[Act::Silent], (2, true), (1, false)),
    ];
    for (script, idempotent, at_most_once) in table {
        for (idempotence, expected) in [(Idempotent, idempotent), (AtMostOnce, at_most_once)] {
            let (listener, address) = listen().await;
            let timing = Timing {
                patience: Duration::from_secs(5),
                call: Duration::from_millis(400),
                ..brisk()
            };
            let channel = Channel::new(PROTOCOL, vec![address], user()).with_timing(timing);
            let (over, stop) = tokio::sync::oneshot::channel();
            let parameter = text("q");
            let call = async {
                let called = channel.call("m", idempotence, &parameter, |_: TokenProto| Ok(()));
                let outcome = called.await;
                over.send(()).unwrap();
                outcome
            };
            let (outcome, calls) = tokio::join!(call, serve(&listener, script, stop));
            assert_eq!(
                (calls, outcome.is_ok()),
                expected,
                "{script:?} {idempotence:?}: {outcome:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_server_that_stays_too_busy_is_given_up_in_its_own_words() {
    let (listener, address) = listen().await;
    let timing = Timing {
        patience: Duration::from_millis(300),
        ..brisk()
    };
    let channel = Channel::new(PROTOCOL, vec![address], user()).with_timing(timing);
    let (over, stop) = tokio::sync::oneshot::channel();
    let began = Instant::now();
    let call = async {
        let outcome = simple_call(&channel).await;
        over.send(()).unwrap();
        outcome
    };
    let script = [Act::Error("org.apache.hadoop.ipc.RetriableException"); 64];
    let (outcome, calls) = tokio::join!(call, serve(&listener, &script, stop));
    let error = outcome.unwrap_err();
    assert!(error.is("RetriableException"), "{error}");
    assert!(began.elapsed() < Duration::from_millis(600));
    // The pauses grow: 10, 20, 40, 80, 80 ms at most.
    assert!((4..=14).contains(&calls), "{calls} calls");
}
