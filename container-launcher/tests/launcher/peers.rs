//! A launcher that is to see whether others can be reached: another one, a port that nobody has, and one whose owner is
//! no launcher.

use std::net::{Ipv4Addr, TcpListener};
use std::thread;

use job::wire::launcher_event::Event as Told;
use job::wire::launcher_order::Order as Said;
use job::wire::{Peer, PeersTried, TryPeers};

use crate::support::{Appmaster, Link};

#[cfg(test)]
async fn tried(link: &mut Link, addresses: &[(&str, u32)]) -> PeersTried {
    let peers = addresses.iter().map(|(container, port)| Peer {
        container: (*container).to_owned(),
        address: format!("127.0.0.1:{port}"),
    });
    let peers = peers.collect();
    link.say(Said::TryPeers(TryPeers { peers })).await;
    match link.told().await {
        Told::PeersTried(tried) => tried,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn whom_a_launcher_reaches_is_told_and_why_it_does_not_reach_the_others() {
    let mut am = Appmaster::start().await;
    let _first = am.launcher(&[]);
    let mut first = am.link().await;
    let _second = am.launcher(&[]);
    let mut second = am.link().await;
    let opened = tried(&mut first, &[]).await;
    assert!(opened.port > 0 && opened.trouble.is_empty(), "{opened:?}");

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let closed = u32::from(listener.local_addr().unwrap().port());
    drop(listener);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let stranger = u32::from(listener.local_addr().unwrap().port());
    let turns_away = thread::spawn(move || drop(listener.accept()));
    let all = [("c1", opened.port), ("c2", closed), ("c3", stranger)];
    let answer = tried(&mut second, &all).await;
    turns_away.join().unwrap();
    assert!(answer.port > 0 && answer.port != opened.port, "{answer:?}");
    let troubles: Vec<(&str, &str)> = (answer.tried.iter())
        .map(|tried| (tried.container.as_str(), tried.trouble.as_str()))
        .collect();
    let [("c1", ""), ("c2", refused), ("c3", stranger)] = &*troubles else {
        panic!("{troubles:?}");
    };
    assert!(refused.contains("refused"), "{refused}");
    assert!(!stranger.is_empty());
    // It keeps its port.
    assert_eq!(tried(&mut first, &[]).await, opened);
}
