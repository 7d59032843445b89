//! Whose process is at the other end of a loopback connection.
//!
//! The kernel lists every socket with the user who made it, both ends of such a connection among
//! them (`/proc/net/tcp`, `/proc/net/tcp6`; columns as in the kernel's `proc_net_tcp.rst`).

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// The list is not taken at one instant: an entry that is there may be missed while others go.
const LOOKS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(20);
/// What the kernel says of a connection whose ends are both open.
const ESTABLISHED: &str = "01";

/// Whether the process that connected from `peer` to our `own` address belongs to our user.
///
/// # Errors
///
/// When the kernel's list cannot be read.
pub(super) async fn is_ours(own: SocketAddr, peer: SocketAddr) -> io::Result<bool> {
    for look in 1..=LOOKS {
        let both = spawn_blocking(move || both(own, peer)).await;
        if let (Some(ours), Some(theirs)) = both.map_err(io::Error::other)?? {
            return Ok(ours == theirs);
        }
        if look < LOOKS {
            sleep(PAUSE).await;
        }
    }
    Ok(false)
}

/// The users of both ends, as far as they are found.
fn both(own: SocketAddr, peer: SocketAddr) -> io::Result<(Option<u32>, Option<u32>)> {
    let mut found = user("/proc/net/tcp", own, peer)?;
    if found.1.is_none() {
        // A socket for both versions of IP that speaks the older one is among those of the newer.
        if let Ok((ours, theirs)) = user("/proc/net/tcp6", own, peer) {
            found = (found.0.or(ours), theirs);
        }
    }
    Ok(found)
}

fn user(list: &str, own: SocketAddr, peer: SocketAddr) -> io::Result<(Option<u32>, Option<u32>)> {
    find(BufReader::new(File::open(list)?), own, peer)
}

fn find(
    list: impl BufRead,
    own: SocketAddr,
    peer: SocketAddr,
) -> io::Result<(Option<u32>, Option<u32>)> {
    let (own, peer) = (words(own), words(peer));
    let mut found = (None, None);
    for line in list.lines() {
        let line = line?;
        let mut fields = line.split_ascii_whitespace();
        let (Some(local), Some(remote)) = (fields.nth(1), fields.next()) else {
            continue;
        };
        if own.iter().any(|own| own == local) && peer.iter().any(|peer| peer == remote) {
            found.0 = owner(fields);
        } else if peer.iter().any(|peer| peer == local) && own.iter().any(|own| own == remote) {
            found.1 = owner(fields);
        }
        if found.0.is_some() && found.1.is_some() {
            break;
        }
    }
    Ok(found)
}

/// The user in what follows the addresses: state, queues, timer, retransmits, user, timeout, inode.
/// A socket that no process holds any more is listed as root's, without an inode.
fn owner<'a>(mut fields: impl Iterator<Item = &'a str>) -> Option<u32> {
    let state = fields.next()?;
    let user = fields.nth(3)?.parse().ok()?;
    let inode = fields.nth(1)?;
    (state == ESTABLISHED && inode != "0").then_some(user)
}

/// An address as the kernel writes it, in the list of either version of IP: hexadecimal words in the
/// byte order of the machine.
fn words(address: SocketAddr) -> Vec<String> {
    let hex = |bytes: &[u8]| -> String {
        let words = bytes.chunks_exact(4).map(|word| {
            let word = word.try_into().unwrap_or_default();
            format!("{:08X}", u32::from_ne_bytes(word))
        });
        words.collect()
    };
    let port = address.port();
    let forms = match address.ip() {
        IpAddr::V4(ip) => vec![hex(&ip.octets()), hex(&ip.to_ipv6_mapped().octets())],
        IpAddr::V6(ip) => vec![hex(&ip.octets())],
    };
    forms
        .into_iter()
        .map(|ip| format!("{ip}:{port:04X}"))
        .collect()
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use super::*;

    const HEAD: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

    fn line(local: &str, remote: &str, state: &str, user: u32, inode: u32) -> String {
        format!(
            "   7: {local} {remote} {state} 00000000:00000000 00:00000000 00000000 {user:>5}        0 \
             {inode} 1 0000000000000000 20 4 30 10 -1\n"
        )
    }

    fn found(lines: &[String]) -> (Option<u32>, Option<u32>) {
        let text = format!("{HEAD}{}", lines.concat());
        let (own, peer) = ("127.0.0.1:8032", "127.0.0.2:40000");
        let (own, peer) = (own.parse().unwrap(), peer.parse().unwrap());
        find(text.as_bytes(), own, peer).unwrap()
    }

    #[test]
    fn both_ends_are_found_by_their_addresses() {
        let own = line("0100007F:1F60", "0200007F:9C40", "01", 1000, 5);
        let other = line("0100007F:1F60", "0200007F:9C41", "01", 1002, 5);
        let peer = line("0200007F:9C40", "0100007F:1F60", "01", 1001, 6);
        assert_eq!(found(&[other, own.clone(), peer]), (Some(1000), Some(1001)));
        let mapped = line(
            "0000000000000000FFFF00000200007F:9C40",
            "0000000000000000FFFF00000100007F:1F60",
            "01",
            1000,
            6,
        );
        assert_eq!(found(&[own, mapped]), (Some(1000), Some(1000)));
    }

    #[test]
    fn who_has_closed_its_end_is_nobody() {
        let peer = ["04", "05"].map(|state| line("0200007F:9C40", "0100007F:1F60", state, 0, 0));
        assert_eq!(found(&peer), (None, None));
        let orphan = line("0200007F:9C40", "0100007F:1F60", "01", 0, 0);
        assert_eq!(found(&[orphan]), (None, None));
    }
}
