//! What is said to a launcher and heard of it, and its streams.

use super::*;

#[tokio::test]
async fn orders_for_a_peer_that_reads_nothing_cost_the_loop_no_time_and_none_is_dropped() {
    let mut port = PortBed::open().await;
    port.expect("container_1", b"one");
    // It says hello and never reads the answer: behind its window everything stands still.
    let (_said, answer) = join(&mut port.launcher().await, "container_1", b"one").await;
    let _unread = answer.unwrap();
    let ContainerEvent::Joined { orders, .. } = port.heard().await else {
        panic!("something else was heard");
    };
    let piece = wire::FenceDone {
        puts: vec![0; 256 * 1024].into(),
        ..wire::FenceDone::default()
    };
    let piece = wire::MpiOrder {
        job: 0,
        order: Some(wire::mpi_order::Order::FenceDone(piece)),
    };
    let began = std::time::Instant::now();
    for _ in 0..1000 {
        orders.say(Order::Mpi(piece.clone()));
    }
    assert!(began.elapsed() < Duration::from_secs(1));
    match port.heard().await {
        ContainerEvent::Misbehaved { what, .. } => {
            assert!(what.starts_with("does not take its orders"), "{what}");
        }
        _ => panic!("something else was heard"),
    }
}

#[tokio::test]
async fn output_and_input_are_for_the_launcher_that_has_joined() {
    let mut port = PortBed::open().await;
    port.expect("container_1", b"one");
    port.expect("container_2", b"two");
    let mut launcher = port.launcher().await;
    let (_said, answer) = join(&mut launcher, "container_1", b"one").await;
    assert!(answer.is_ok());
    assert!(matches!(port.heard().await, ContainerEvent::Joined { .. }));
    let chunk = |number: u64, data: &'static [u8]| wire::OutputChunk {
        data: data.into(),
        number,
        ..wire::OutputChunk::default()
    };
    let words = || tokio_stream::iter([chunk(1, b"forged")]);
    let request = || tokio_stream::iter([wire::InputRequest::default()]);
    // Nobody; one that has not come yet; a guess; a name without its ticket.
    for pass in [
        None,
        Some(("container_2", b"two".as_slice())),
        Some(("container_1", b"two")),
        Some(("container_1", b"")),
    ] {
        let refused = launcher.output(shown(words(), pass)).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied, "{pass:?}");
        let input = shown(request(), pass);
        let refused = launcher.input(input).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied, "{pass:?}");
    }
    let own = Some(("container_1", b"one".as_slice()));
    let input = launcher.input(shown(request(), own)).await;
    assert!(input.is_ok());
    let mut taken = port.streams.output.lock().unwrap().take().unwrap();
    // One call breaks off, and the next brings again what it is not known to have brought.
    for said in [
        vec![chunk(1, b"one"), chunk(2, b"two")],
        vec![chunk(1, b"one"), chunk(2, b"two"), chunk(3, b"three")],
    ] {
        let call = shown(tokio_stream::iter(said), own);
        let mut answer = launcher.output(call).await.unwrap().into_inner();
        while timeout(SOON, answer.message())
            .await
            .unwrap()
            .unwrap()
            .is_some()
        {}
    }
    for expected in [b"one".as_slice(), b"two", b"three"] {
        assert_eq!(&taken.recv().await.unwrap().data[..], expected);
    }
    assert!(taken.try_recv().is_err());
    // What was not taken is given again, and nothing else.
    let to_rank = port.streams.input.lock().unwrap().take().unwrap();
    let given = |data: &'static [u8]| wire::InputChunk {
        data: data.into(),
        ..wire::InputChunk::default()
    };
    to_rank.send(given(b"1")).await.unwrap();
    to_rank.send(given(b"2")).await.unwrap();
    drop(to_rank);
    for (had, expected) in [(0, vec![1, 2]), (1, vec![2]), (1, vec![2])] {
        let request = wire::InputRequest {
            taken: had,
            ..wire::InputRequest::default()
        };
        let call = shown(tokio_stream::iter([request]), own);
        let mut input = launcher.input(call).await.unwrap().into_inner();
        let mut numbers = Vec::new();
        while let Some(chunk) = timeout(SOON, input.message()).await.unwrap().unwrap() {
            numbers.push(chunk.number);
        }
        assert_eq!(numbers, expected);
    }
}
