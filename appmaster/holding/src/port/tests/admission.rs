//! Who is let in.

use super::*;

#[tokio::test]
async fn only_certificates_of_this_job_open_anything() {
    let mut port = PortBed::open().await;
    port.expect("container_1", b"ticket");
    let others = JobKeys::new();
    for identity in [None, Some(&others.launcher), Some(&others.client)] {
        // With TLS 1.3 a client hears of its refusal when it wants to say something.
        if let Ok(channel) = port.dial(identity).await {
            let mut client = LaunchersClient::new(channel);
            let (_said, answer) = join(&mut client, "container_1", b"ticket").await;
            assert!(answer.is_err(), "{identity:?}");
        }
    }
    port.heard_nothing();
    port.admits_a_launcher().await;
}

#[tokio::test]
async fn no_other_role_is_a_launcher() {
    let mut port = PortBed::open().await;
    port.expect("container_1", b"ticket");
    let mut wrong = LaunchersClient::new(port.dial(Some(&port.keys.client)).await.unwrap());
    let (_said, answer) = join(&mut wrong, "container_1", b"ticket").await;
    assert_eq!(answer.unwrap_err().code(), Code::PermissionDenied);
    port.heard_nothing();
    port.admits_a_launcher().await;
}

#[tokio::test]
async fn garbage_is_answered_by_a_closed_door() {
    let mut port = PortBed::open().await;
    let noise: Vec<u8> = (0..100_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    for bytes in [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".as_slice(),
        b"SSH-2.0-Elsewhere\r\n",
        b"\x16\x03\x01\xff\xff",
        &noise,
    ] {
        let mut stream = TcpStream::connect(port.address).await.unwrap();
        // It may close before all of it is said.
        let _said = stream.write_all(bytes).await.is_ok();
        stream.shutdown().await.ok();
        let mut rest = Vec::new();
        let _reset = timeout(SOON, stream.read_to_end(&mut rest)).await.unwrap();
        assert!(rest.len() < 100, "an alert at most: {rest:?}");
    }
    port.heard_nothing();
    port.admits_a_launcher().await;
}

#[tokio::test]
async fn a_ticket_is_good_for_one_launcher_of_its_own_container() {
    let mut port = PortBed::open().await;
    port.expect("container_1", b"one");
    port.expect("container_2", b"two");
    let mut launcher = port.launcher().await;
    for (container, ticket) in [
        ("container_1", b"two".as_slice()),
        ("container_1", b""),
        ("container_3", b"one"),
    ] {
        let (_said, answer) = join(&mut launcher, container, ticket).await;
        let status = answer.unwrap_err();
        assert_eq!(status.code(), Code::PermissionDenied);
        assert!(status.message().contains(container), "{status}");
    }
    port.heard_nothing();
    let (_said, answer) = join(&mut launcher, "container_1", b"one").await;
    assert!(answer.is_ok());
    assert!(matches!(port.heard().await, ContainerEvent::Joined { .. }));
    // Neither on its own link nor on another one.
    for mut second in [launcher, port.launcher().await] {
        let (_said, answer) = join(&mut second, "container_1", b"one").await;
        assert_eq!(answer.unwrap_err().code(), Code::PermissionDenied);
    }
    port.heard_nothing();
}

#[tokio::test]
async fn a_launcher_may_dial_again_and_nobody_else_in_its_name() {
    let mut port = PortBed::open().await;
    port.expect("container_1", b"one");
    let (_said, answer) = join_as(&mut port.launcher().await, "container_1", b"one", b"life").await;
    let mut first = answer.unwrap().into_inner();
    let ContainerEvent::Joined { orders, .. } = port.heard().await else {
        panic!("something else was heard");
    };
    let (_said, answer) = join(&mut port.launcher().await, "container_1", b"one").await;
    assert_eq!(answer.unwrap_err().code(), Code::PermissionDenied);
    let (_said, answer) = join_as(&mut port.launcher().await, "container_1", b"one", b"").await;
    assert_eq!(answer.unwrap_err().code(), Code::PermissionDenied);
    orders.say(Order::EndJob(wire::EndJob { job: 1 }));
    let greeting = first.message().await.unwrap().unwrap();
    let order = match greeting.order {
        None => first.message().await.unwrap().unwrap(),
        Some(_) => greeting,
    };
    assert_eq!(order.number, 1);
    // It was not acknowledged, so it comes again.
    let (_said, answer) = join_as(&mut port.launcher().await, "container_1", b"one", b"life").await;
    let again = answer.unwrap().into_inner().message().await;
    assert_eq!(again.unwrap().unwrap().order, order.order);
    orders.end();
    let (_said, answer) = join_as(&mut port.launcher().await, "container_1", b"one", b"life").await;
    assert_eq!(answer.unwrap_err().code(), Code::PermissionDenied);
}

/// Its ticket is used by then, and good for no other.
#[tokio::test]
async fn a_launcher_whose_link_breaks_while_the_loop_is_behind_is_not_lost() {
    let mut port = PortBed::with_room(1).await;
    port.expect("container_0", b"zero");
    port.expect("container_1", b"one");
    let (_said, first) = join(&mut port.launcher().await, "container_0", b"zero").await;
    assert!(first.is_ok());
    // The loop has not heard of that one, and there is no room for another.
    let mut launcher = port.launcher().await;
    let tickets = port.port.tickets.clone();
    let redeemed = async {
        let container = ContainerId("container_1".into());
        while !tickets.is_there(&container, b"one") {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        (_said, answer) = join_as(&mut launcher, "container_1", b"one", b"life") => {
            panic!("{answer:?}");
        }
        () = redeemed => {}
    }
    drop(launcher);
    let mut again = port.launcher().await;
    let joined = join_as(&mut again, "container_1", b"one", b"life");
    let hears = async {
        [port.heard().await, port.heard().await].map(|heard| match heard {
            ContainerEvent::Joined { container, .. } => container.0,
            other => panic!("{other:?}"),
        })
    };
    let ((_said, answer), heard) = tokio::join!(joined, hears);
    assert!(answer.is_ok(), "{answer:?}");
    assert_eq!(heard, ["container_0", "container_1"]);
}

#[tokio::test]
async fn a_peer_that_never_says_hello_is_not_waited_for() {
    let mut port = PortBed::open().await;
    let (_said, saying) = mpsc::channel::<wire::LauncherEvent>(1);
    let mut launcher = port.launcher().await;
    let waited = timeout(
        Duration::from_secs(30),
        launcher.join(ReceiverStream::new(saying)),
    );
    let status = waited.await.unwrap().unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    port.admits_a_launcher().await;
}
