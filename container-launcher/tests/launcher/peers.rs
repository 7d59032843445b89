//! A launcher that is to see whether others can be reached: another one, a port that nobody has, and one whose owner is
//! no launcher. Whoever is not reached is tried twice.

use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use job::wire::launcher_event::Event as Told;
use job::wire::launcher_order::Order as Said;
use job::wire::{Peer, PeersTried, TryPeers};

use crate::support::{Appmaster, Launcher, Link};

/// For a launcher to come.
const DEADLINE: Duration = Duration::from_secs(30);

/// The next connection.
#[cfg(test)]
fn taken(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).unwrap();
    let until = Instant::now() + DEADLINE;
    loop {
        match listener.accept() {
            Ok((stream, _from)) => {
                stream.set_nonblocking(false).unwrap();
                return stream;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                assert!(Instant::now() < until, "no launcher came");
                thread::park_timeout(Duration::from_millis(10));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Takes the next connection, and joins it to the launcher that listens there.
#[cfg(test)]
fn pass_on(listener: &TcpListener, launcher: u16) {
    let near = taken(listener);
    let far = TcpStream::connect((Ipv4Addr::LOCALHOST, launcher)).unwrap();
    let (mut from_near, mut to_far) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    let there = thread::spawn(move || {
        // However it ends: the other launcher breaks off as soon as it has been reached.
        drop(io::copy(&mut from_near, &mut to_far));
        to_far.shutdown(Shutdown::Both)
    });
    let (mut from_far, mut to_near) = (far, near);
    drop(io::copy(&mut from_far, &mut to_near));
    drop(to_near.shutdown(Shutdown::Both));
    drop(there.join().unwrap());
}

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

/// Two launchers of one ApplicationMaster.
struct Two {
    _am: Appmaster,
    _launchers: [Launcher; 2],
    first: Link,
    second: Link,
    /// Where the first can be reached.
    opened: PeersTried,
}

#[cfg(test)]
impl Two {
    async fn start() -> Self {
        let mut am = Appmaster::start().await;
        let one = am.launcher(&[]);
        let mut first = am.link().await;
        let other = am.launcher(&[]);
        let second = am.link().await;
        let opened = tried(&mut first, &[]).await;
        Self {
            _am: am,
            _launchers: [one, other],
            first,
            second,
            opened,
        }
    }
}

#[tokio::test]
async fn whom_a_launcher_reaches_is_told_and_why_it_does_not_reach_the_others() {
    let mut two = Two::start().await;
    let opened = two.opened.clone();
    assert!(opened.port > 0 && opened.trouble.is_empty(), "{opened:?}");

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let closed = u32::from(listener.local_addr().unwrap().port());
    drop(listener);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let stranger = u32::from(listener.local_addr().unwrap().port());
    let turns_away = thread::spawn(move || {
        drop(taken(&listener));
        drop(taken(&listener));
        listener
    });
    let all = [("c1", opened.port), ("c2", closed), ("c3", stranger)];
    let answer = tried(&mut two.second, &all).await;
    let listener = turns_away.join().unwrap();
    let third = listener.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(third, Err(io::ErrorKind::WouldBlock));
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
    assert_eq!(tried(&mut two.first, &[]).await, opened);
}

#[tokio::test]
async fn who_is_busy_for_a_moment_is_reached() {
    let mut two = Two::start().await;

    // Its first connection is turned away, the second goes to a launcher.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let busy = u32::from(listener.local_addr().unwrap().port());
    let launcher = u16::try_from(two.opened.port).unwrap();
    let passes_on = thread::spawn(move || {
        drop(taken(&listener));
        pass_on(&listener, launcher);
    });
    let answer = tried(&mut two.second, &[("c1", busy)]).await;
    passes_on.join().unwrap();
    assert_eq!(answer.tried.len(), 1);
    assert_eq!(answer.tried[0].trouble, "");
}
