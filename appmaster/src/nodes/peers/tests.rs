//! Launchers that join one after the other, and what they answer.

use super::*;

fn id(number: u32) -> ContainerId {
    ContainerId(format!("c{number}"))
}

/// The launcher of a container has a port, the container's number, and reaches all but these.
fn answer(number: u32, order: &Try, but: &[u32]) -> wire::PeersTried {
    let but: Vec<ContainerId> = but.iter().copied().map(id).collect();
    let tried = order.peers.iter().map(|peer| wire::PeerTried {
        container: peer.container.clone(),
        trouble: match but.contains(&ContainerId(peer.container.clone())) {
            true => "connection timed out".into(),
            false => String::new(),
        },
    });
    wire::PeersTried {
        port: number,
        tried: tried.collect(),
        ..wire::PeersTried::default()
    }
}

fn words(order: &Try) -> String {
    let peers = order.peers.iter().map(|peer| peer.address.as_str());
    format!("{}: {}", order.by, peers.collect::<Vec<_>>().join(" "))
}

/// Launchers of nodes that are named after them join, and all orders are answered.
fn played(peers: &mut Peers, hosts: &[&str], but: &[u32]) -> (Vec<String>, Vec<String>) {
    let (mut orders, mut told) = (Vec::new(), Vec::new());
    let mut open: Vec<Try> = (1..)
        .zip(hosts)
        .map(|(number, host)| peers.joined(&id(number), (*host).to_owned()))
        .collect();
    while !open.is_empty() {
        let order = open.remove(0);
        let number = order.by.0.get(1..).and_then(|text| text.parse().ok());
        let answer = answer(number.unwrap(), &order, but);
        if !order.peers.is_empty() {
            orders.push(words(&order));
        }
        let (more, news) = peers.tried(&order.by, answer);
        open.extend(more);
        told.extend(news.into_iter().map(|unreached| unreached.sentence));
    }
    (orders, told)
}

#[test]
fn each_tries_two_others_whoever_comes_first() {
    let mut peers = Peers::default();
    let (orders, told) = played(&mut peers, &["n1", "n2", "n3", "n4"], &[]);
    let wanted = [
        "c2: n1:1",
        "c1: n2:2",
        "c3: n1:1 n2:2",
        "c1: n3:3",
        "c2: n3:3",
        "c4: n1:1 n2:2",
    ];
    assert_eq!(orders, wanted);
    assert!(told.is_empty() && peers.sentences().is_empty());
}

#[test]
fn two_of_one_node_tell_nothing_of_the_way_between_nodes() {
    let mut peers = Peers::default();
    let (orders, _) = played(&mut peers, &["n1", "n1", "n2"], &[]);
    assert_eq!(orders, ["c3: n1:1 n1:2", "c1: n2:3", "c2: n2:3"]);
}

#[test]
fn who_is_not_reached_is_told_once_and_forgotten_when_it_is_gone() {
    let mut peers = Peers::default();
    let (_, told) = played(&mut peers, &["n1", "n2"], &[1]);
    assert_eq!(told, peers.sentences());
    let [sentence] = &*told else {
        panic!("{told:?}")
    };
    assert!(sentence.starts_with("n2 cannot reach n1:1 (connection timed out)"));
    let others = [id(1), id(3)];
    assert_eq!(peers.between(&id(2), &others).count(), 1);
    assert_eq!(peers.between(&id(1), &[id(2)]).count(), 1);
    assert_eq!(peers.between(&id(2), &[id(3)]).count(), 0);
    peers.lost(&id(1));
    assert!(peers.sentences().is_empty());
    // What is said of one that is gone is no news.
    let late = wire::PeersTried {
        tried: vec![wire::PeerTried {
            container: "c1".into(),
            trouble: "connection refused".into(),
        }],
        ..wire::PeersTried::default()
    };
    assert!(peers.tried(&id(2), late).1.is_empty());
}

#[test]
fn one_without_a_port_is_told_and_tried_by_nobody() {
    let mut peers = Peers::default();
    let first = peers.joined(&id(1), "n1".into());
    let none = wire::PeersTried {
        trouble: "no port of 7-7 is free".into(),
        ..wire::PeersTried::default()
    };
    assert_eq!(peers.tried(&first.by, none), (Vec::new(), Vec::new()));
    let second = peers.joined(&id(2), "n2".into());
    let (orders, _) = peers.tried(&second.by, answer(2, &second, &[]));
    assert!(orders.is_empty());
    assert_eq!(peers.sentences(), ["n1: no port of 7-7 is free"]);
}
