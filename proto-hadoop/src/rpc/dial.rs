//! One connection to a host that has several addresses, of which some may not answer: those of both families in turn,
//! each a moment after the one before or as soon as that is refused (RFC 8305, §4 and §5).

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// After this time the next address is tried beside the one that has not answered: RFC 8305's recommendation.
const BESIDE: Duration = Duration::from_millis(250);

/// Connects to the first of them that answers.
///
/// # Errors
///
/// What the last one said; all of them have refused. Those that say nothing are waited for.
pub(super) async fn first(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut next = in_turn(addresses).into_iter();
    let mut trying = JoinSet::new();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    loop {
        let begun = next.next();
        let more = begun.is_some();
        if let Some(address) = begun {
            trying.spawn(connect(address));
        }
        tokio::select! {
            ended = trying.join_next() => match ended {
                // The others are broken off.
                Some(Ok(Ok(stream))) => return Ok(stream),
                Some(Ok(Err(error))) => last = error,
                Some(Err(broken)) => last = io::Error::other(broken),
                None => return Err(last),
            },
            () = sleep(BESIDE), if more => {}
        }
    }
}

/// Their order, but each followed by one of the other family, as long as there are any.
fn in_turn(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let Some(of_first) = addresses.first().map(SocketAddr::is_ipv6) else {
        return addresses;
    };
    let (ones, others): (Vec<_>, Vec<_>) = addresses
        .into_iter()
        .partition(|address| address.is_ipv6() == of_first);
    let longest = ones.len().max(others.len());
    let pair = |at: usize| [ones.get(at), others.get(at)];
    (0..longest).flat_map(pair).flatten().copied().collect()
}

async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = match address.is_ipv4() {
        true => TcpSocket::new_v4()?,
        false => TcpSocket::new_v6()?,
    };
    socket.set_keepalive(true)?;
    let stream = socket.connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// A port whose queue is full: the kernel leaves out who knocks there, as a firewall does.
    fn black_hole() -> (SocketAddr, TcpListener, Vec<TcpStream>) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap().into_std().unwrap();
        let address = listener.local_addr().unwrap();
        let (mut queue, mut unanswered) = (Vec::new(), 0);
        let soon = Duration::from_millis(100);
        // A machine that is busy may be late once.
        while unanswered < 3 {
            match TcpStream::connect_timeout(&address, soon) {
                Ok(stream) => queue.push(stream),
                Err(_late) => unanswered += 1,
            }
        }
        (address, listener, queue)
    }

    #[tokio::test]
    async fn an_address_that_says_nothing_does_not_hide_one_that_answers() {
        let (silent, _listener, _queue) = black_hole();
        let live = TcpListener::bind("127.0.0.1:0").unwrap();
        let live = live.local_addr().map(|address| (address, live)).unwrap();
        // Held, so that no other gets the port, and not listened at.
        let held = TcpSocket::new_v4().unwrap();
        held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let refusing = held.local_addr().unwrap();
        for addresses in [
            vec![silent, live.0],
            vec![refusing, silent, live.0],
            vec![silent, refusing, live.0],
            vec![live.0, silent],
        ] {
            let stream = first(addresses.clone()).await.unwrap();
            assert_eq!(stream.peer_addr().unwrap(), live.0, "{addresses:?}");
        }
        let refused = first(vec![refusing, refusing]).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let none = first(Vec::new()).await.unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn the_families_take_turns() {
        let six = |last: u16| SocketAddr::from(([0xfe80, 0, 0, 0, 0, 0, 0, last], 1));
        let four = |last: u8| SocketAddr::from(([10, 0, 0, last], 1));
        let ordered = in_turn(vec![six(1), six(2), six(3), four(1), four(2)]);
        assert_eq!(ordered, [six(1), four(1), six(2), four(2), six(3)]);
        let ordered = in_turn(vec![four(1), six(1), four(2)]);
        assert_eq!(ordered, [four(1), six(1), four(2)]);
        assert_eq!(in_turn(Vec::new()), []);
    }
}
