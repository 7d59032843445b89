use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Instant;

use gerbil_task::Partition;
use job::JobId;
use job::LauncherContext;
use policy::scratch::ScratchLimits;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::net::TcpSocket;

use super::bring::{FetchError, Fetched, Onto, PartitionFetch, Unfetched};
use super::*;
use crate::disks::{Disks, Room};
use crate::launcher_context::LauncherKeys;

pub(super) const JOB: JobId = JobId(3);

/// The keys of a launcher, of an application of its own; the second is a peer of the same application that is
/// no launcher.
pub(super) fn keys() -> (LauncherKeys, LauncherKeys) {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let signed = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap();
        LauncherKeys {
            context: LauncherContext {
                build: job::BUILD.into(),
                appmaster: String::new(),
                container: String::new(),
                ticket: Vec::new(),
                links: Vec::new(),
                memory: policy::MiB(0),
                ports: None,
                interface: None,
                scan: None,
                disk_percent: 0,
            },
            authority: authority.pem().into_bytes(),
            certificate: certificate.pem().into_bytes(),
            key: key.serialize_pem().into_bytes(),
            life: [0; 16],
        }
    };
    (
        signed(job::secrets::LAUNCHER_NAME),
        signed(job::secrets::CLIENT_NAME),
    )
}

pub(super) fn output(parts: &[&[u8]]) -> MapOutput {
    let mut file = tempfile::tempfile().unwrap();
    let mut partitions = Vec::new();
    let mut offset = 0;
    for part in parts {
        file.write_all(part).unwrap();
        let length = u64::try_from(part.len()).unwrap();
        partitions.push(Partition {
            offset,
            length,
            records: length / 2,
            ..Partition::default()
        });
        offset += length;
    }
    MapOutput { file, partitions }
}

const PATIENT: Waiting<'_> = Waiting {
    is_over: &|| false,
    gets_on: &|| {},
};

/// As much room as there is.
fn anywhere() -> Room {
    within(std::env::temp_dir())
}

/// The same, in one folder.
fn within(folder: PathBuf) -> Room {
    Room::new(Disks::at(vec![folder]), ScratchLimits::default())
}

const fn onto<'a>(file: &'a File, at: u64, room: &'a Room) -> Onto<'a> {
    Onto { file, at, room }
}

/// What maps have left for partition 1.
fn of(maps: &[u32]) -> PartitionFetch<'_> {
    PartitionFetch {
        job: JOB,
        partition: 1,
        maps,
    }
}

/// Behind three bytes.
pub(super) fn bring_onto(
    fetcher: &Fetcher,
    server: &Server,
    maps: &[u32],
    into: &File,
) -> Result<Vec<Fetched>, Unfetched> {
    let address = format!("localhost:{}", server.address().port());
    fetcher.bring(&address, of(maps), onto(into, 3, &anywhere()), PATIENT)
}

fn bring(
    fetcher: &Fetcher,
    server: &Server,
    maps: &[u32],
) -> Result<(Vec<Fetched>, Vec<u8>), Unfetched> {
    let into = tempfile::tempfile().unwrap();
    let all = bring_onto(fetcher, server, maps, &into)?;
    let mut bytes = Vec::new();
    let mut read: &File = &into;
    read.rewind().unwrap();
    read.read_to_end(&mut bytes).unwrap();
    Ok((all, bytes))
}

#[test]
fn parts_of_a_partition_come_in_the_order_of_the_request() {
    let (launcher, _) = keys();
    let kept = MapOutputs::default();
    let server = Server::open(&launcher, kept.clone()).unwrap();
    let long = vec![7; 3 * PIECE + 1];
    kept.keep(JOB, 0, output(&[b"other", &long]));
    kept.keep(JOB, 5, output(&[b"", b"five", b"else"]));
    kept.keep(JOB, 6, output(&[b"nothing", b""]));
    let fetcher = Fetcher::new(&launcher).unwrap();
    let (all, bytes) = bring(&fetcher, &server, &[5, 6, 0]).unwrap();
    let length = u64::try_from(long.len()).unwrap();
    let parts: Vec<(u32, u64, u64, u64)> = all
        .iter()
        .map(|part| (part.map, part.offset, part.length, part.records))
        .collect();
    assert_eq!(
        parts,
        [(5, 3, 4, 2), (6, 7, 0, 0), (0, 7, length, length / 2)]
    );
    assert_eq!(&bytes[..7], b"\0\0\0five");
    assert!(bytes[7..] == long);
    // Whoever finds no place waits for one.
    std::thread::scope(|scope| {
        for _ in 0..SERVED_MAX + 8 {
            scope.spawn(|| bring(&fetcher, &server, &[0]).unwrap());
        }
    });
}

#[test]
fn a_job_that_fetches_little_does_not_wait_for_another_that_fetches_much() {
    /// More than all buffers between two launchers hold.
    const MUCH: u64 = 64 << 20;
    let (launcher, _) = keys();
    let kept = MapOutputs::default();
    let server = Server::open(&launcher, kept.clone()).unwrap();
    let file = tempfile::tempfile().unwrap();
    file.set_len(MUCH).unwrap();
    let whole = Partition {
        length: MUCH,
        ..Partition::default()
    };
    let partitions = vec![Partition::default(), whole];
    kept.keep(JOB, 0, MapOutput { file, partitions });
    let other = JobId(JOB.0 + 1);
    kept.keep(other, 0, output(&[b"", b"little"]));
    let fetcher = Fetcher::new(&launcher).unwrap();
    let address = format!("localhost:{}", server.address().port());
    let (begun, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    // Each has its first bytes, and takes no more until it is over.
    let gets_on = || {
        begun.fetch_add(1, Ordering::Relaxed);
        while !is_over.load(Ordering::Relaxed) {
            std::thread::park_timeout(Duration::from_millis(10));
        }
    };
    let stuck = Waiting {
        is_over: &|| is_over.load(Ordering::Relaxed),
        gets_on: &gets_on,
    };
    const MANY: usize = 40;
    std::thread::scope(|scope| {
        for _ in 0..MANY {
            scope.spawn(|| {
                let into = tempfile::tempfile().unwrap();
                let room = anywhere();
                let ended = fetcher.bring(&address, of(&[0]), onto(&into, 0, &room), stuck);
                assert!(matches!(
                    ended,
                    Err(Unfetched {
                        why: FetchError::Over,
                        ..
                    })
                ));
            });
        }
        let by = Instant::now() + Duration::from_secs(5);
        while begun.load(Ordering::Relaxed) < MANY && Instant::now() < by {
            std::thread::park_timeout(Duration::from_millis(10));
        }
        let into = tempfile::tempfile().unwrap();
        let wanted = PartitionFetch {
            job: other,
            ..of(&[0])
        };
        let asked = Instant::now();
        let brought = fetcher.bring(&address, wanted, onto(&into, 0, &anywhere()), PATIENT);
        let took = asked.elapsed();
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(brought.unwrap().len(), 1);
        assert!(took < Duration::from_secs(5), "{took:?}");
        assert_eq!(begun.load(Ordering::Relaxed), MANY);
    });
}

#[test]
fn ports_that_are_given_are_kept_to() {
    let (mut launcher, _) = keys();
    let free = TcpListener::bind("[::]:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    launcher.context.ports = Some((port, port));
    let first = Server::open(&launcher, MapOutputs::default()).unwrap();
    assert_eq!(first.address().port(), port);
    let second = Server::open(&launcher, MapOutputs::default()).unwrap_err();
    let said =
        format!("no port of {port}-{port} is free for this launcher; widen --launcher-ports");
    assert!(second.to_string().starts_with(&said), "{second}");
}

#[test]
fn what_is_not_there_is_said() {
    let (launcher, _) = keys();
    let kept = MapOutputs::default();
    let server = Server::open(&launcher, kept.clone()).unwrap();
    kept.keep(JOB, 0, output(&[b"one"]));
    let fetcher = Fetcher::new(&launcher).unwrap();
    kept.keep(JOB, 2, output(&[b"", b"two"]));
    // Of map 0 there is no such part; what else there is came nevertheless.
    let refused = bring(&fetcher, &server, &[0, 2, 1]).unwrap_err();
    let said = "it has no output of map 0";
    assert!(refused.to_string().ends_with(said), "{refused}");
    assert_eq!(refused.maps, [0, 1]);
    kept.forget(JOB);
    assert!(kept.get(JOB, 0).is_none());
}

#[test]
fn nobody_but_a_launcher_of_the_application_is_served() {
    let (launcher, client) = keys();
    let kept = MapOutputs::default();
    let server = Server::open(&launcher, kept.clone()).unwrap();
    kept.keep(JOB, 0, output(&[b"", b"secret"]));
    let (other, _) = keys();
    for stranger in [client, other] {
        let fetcher = Fetcher::new(&stranger).unwrap();
        let refused = bring(&fetcher, &server, &[0]).unwrap_err();
        assert!(matches!(refused.why, FetchError::Io { .. }), "{refused}");
    }
}

/// More connections than are served at a time, all of one address.
#[tokio::test(flavor = "multi_thread")]
async fn strangers_who_say_nothing_keep_no_launcher_out() {
    let (launcher, _) = keys();
    let kept = MapOutputs::default();
    let server = Server::open(&launcher, kept.clone()).unwrap();
    kept.keep(JOB, 0, output(&[b"", b"part"]));
    let address = SocketAddr::from(([127, 0, 0, 1], server.address().port()));
    let mut strangers = Vec::new();
    for _ in 0..SERVED_MAX + 50 {
        let stranger = TcpSocket::new_v4().unwrap();
        stranger
            .bind(SocketAddr::from(([127, 0, 0, 2], 0)))
            .unwrap();
        strangers.push(stranger.connect(address).await.unwrap());
    }
    let fetcher = Fetcher::new(&launcher).unwrap();
    let (_, bytes) = bring(&fetcher, &server, &[0]).unwrap();
    assert_eq!(bytes, b"\0\0\0part");
    // Their handshakes are still waited for.
    let waits = strangers[0].try_read(&mut [0]).unwrap_err();
    assert_eq!(waits.kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn a_task_that_is_gone_is_not_fetched_for_and_a_port_that_is_closed_is_named() {
    let (launcher, _) = keys();
    let kept = MapOutputs::default();
    let server = Server::open(&launcher, kept.clone()).unwrap();
    kept.keep(JOB, 0, output(&[b"", b"some"]));
    let fetcher = Fetcher::new(&launcher).unwrap();
    let into = tempfile::tempfile().unwrap();
    let address = format!("localhost:{}", server.address().port());
    let over = Waiting {
        is_over: &|| true,
        ..PATIENT
    };
    let ended = fetcher.bring(&address, of(&[0]), onto(&into, 0, &anywhere()), over);
    assert!(
        matches!(&ended, Err(Unfetched { why: FetchError::Over, maps }) if maps.is_empty()),
        "{ended:?}"
    );
    let address = closed();
    let refused = fetcher.bring(&address, of(&[0]), onto(&into, 0, &anywhere()), PATIENT);
    let refused = refused.unwrap_err();
    assert!(refused.to_string().contains(&address), "{refused}");
    assert_eq!(refused.maps, [0]);
    // It listens and says nothing, as one that was stopped: whoever does not wait any more leaves soon.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let begun = Instant::now();
    let is_over = || begun.elapsed() > Duration::from_millis(50);
    let waiting = Waiting {
        is_over: &is_over,
        ..PATIENT
    };
    let ended = fetcher.bring(&address, of(&[0]), onto(&into, 0, &anywhere()), waiting);
    assert!(ended.is_err() && begun.elapsed() < SILENCE / 2);
}

/// An address at which nobody listens.
fn closed() -> String {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap().to_string()
}

#[test]
fn several_are_fetched_from_at_once_and_one_that_is_broken_is_named_alone() {
    let (launcher, _) = keys();
    let fetcher = Fetcher::new(&launcher).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let servers: Vec<(Server, MapOutputs)> = (0..3)
        .map(|map| {
            let kept = MapOutputs::default();
            kept.keep(JOB, map, output(&[b"", b"some"]));
            (Server::open(&launcher, kept.clone()).unwrap(), kept)
        })
        .collect();
    let addresses: Vec<String> = (servers.iter())
        .map(|(server, _)| format!("localhost:{}", server.address().port()))
        .chain([closed()])
        .collect();
    let from = |maps: &[u32]| -> Vec<From<'_>> {
        (addresses.iter().zip(0..))
            .filter(|(_, map)| maps.contains(map))
            .map(|(address, map)| From {
                address,
                maps: vec![map],
            })
            .collect()
    };
    let gather = Gather {
        fetcher: &fetcher,
        job: JOB,
        partition: 1,
        room: &within(folder.path().to_owned()),
        copies: 3,
    };
    // Each waits with its first bytes until all have some: one after the other they never would.
    let together = Barrier::new(3);
    let gets_on = || {
        together.wait();
    };
    let waiting = Waiting {
        gets_on: &gets_on,
        ..PATIENT
    };
    let brought = gather.bring(&from(&[0, 1, 2]), waiting).unwrap();
    let mut maps: Vec<u32> = (brought.iter())
        .flat_map(|(_, parts)| parts.iter().map(|part| part.map))
        .collect();
    maps.sort_unstable();
    assert_eq!(maps, [0, 1, 2]);
    // One has nothing any more, and one is gone.
    servers[1].1.forget(JOB);
    let (count, copies) = (AtomicUsize::new(0), 1);
    let gets_on = || {
        count.fetch_add(1, Ordering::Relaxed);
    };
    let waiting = Waiting {
        gets_on: &gets_on,
        ..PATIENT
    };
    let gather = Gather { copies, ..gather };
    let missing = gather.bring(&from(&[0, 1, 2, 3]), waiting).unwrap_err();
    assert_eq!(missing.maps, [1, 3]);
    assert!(
        missing.sentence.ends_with("map 1; and one launcher more"),
        "{missing:?}"
    );
    assert_eq!(count.into_inner(), 2);
    // Where nothing can be kept nobody else is to blame.
    let gather = Gather {
        room: &within(folder.path().join("none")),
        ..gather
    };
    let missing = gather.bring(&from(&[0, 3]), PATIENT).unwrap_err();
    assert!(missing.maps.is_empty(), "{missing:?}");
    assert!(
        missing.sentence.contains("cannot be looked at"),
        "{missing:?}"
    );
    let nothing = ScratchLimits {
        most: Some(0),
        fullness: None,
    };
    let none = Room::new(Disks::at(vec![folder.path().to_owned()]), nothing);
    let gather = Gather {
        room: &none,
        ..gather
    };
    let missing = gather.bring(&from(&[0, 3]), PATIENT).unwrap_err();
    assert!(missing.maps.is_empty(), "{missing:?}");
    assert!(missing.sentence.contains("--local-disk"), "{missing:?}");
    // There is a file, and no room for what comes.
    let into = tempfile::tempfile_in(folder.path()).unwrap();
    let full = fetcher.bring(&addresses[0], of(&[0]), onto(&into, 0, &none), PATIENT);
    let full = full.unwrap_err();
    assert!(
        matches!(full.why, FetchError::Full { .. }) && full.maps.is_empty(),
        "{full}"
    );
    assert_eq!(into.metadata().unwrap().len(), 0);
}

#[test]
fn what_a_launcher_cannot_read_any_more_is_not_given_and_what_came_before_is_not_fetched_again() {
    let (launcher, _) = keys();
    let kept = MapOutputs::default();
    let server = Server::open(&launcher, kept.clone()).unwrap();
    let cut = output(&[b"", b"whole"]);
    cut.file.set_len(2).unwrap();
    for map in [0, 1] {
        kept.keep(JOB, map, output(&[b"", b"some"]));
    }
    kept.keep(JOB, 2, cut);
    let fetcher = Fetcher::new(&launcher).unwrap();
    let into = tempfile::tempfile().unwrap();
    let address = format!("localhost:{}", server.address().port());
    let pieces = AtomicUsize::new(0);
    let gets_on = || {
        pieces.fetch_add(1, Ordering::Relaxed);
    };
    let waiting = Waiting {
        gets_on: &gets_on,
        ..PATIENT
    };
    let broken = fetcher.bring(
        &address,
        of(&[0, 1, 2]),
        onto(&into, 0, &anywhere()),
        waiting,
    );
    let broken = broken.unwrap_err();
    assert!(matches!(broken.why, FetchError::Io { .. }), "{broken}");
    assert_eq!(broken.maps, [2]);
    assert_eq!(pieces.into_inner(), 2);
}

#[test]
fn where_an_interface_is_named_nobody_fetches_by_another() {
    let (mut launcher, _) = keys();
    launcher.context.interface = Some("lo".to_owned());
    let mut exchange = Exchange::new(Arc::new(launcher));
    let (host, port) = exchange.port().unwrap();
    assert_eq!(host.as_deref(), Some("127.0.0.1"));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
    assert!(TcpStream::connect(("127.0.0.2", port)).is_err());
    let (mut launcher, _) = keys();
    launcher.context.interface = Some("nope0".to_owned());
    let refused = Exchange::new(Arc::new(launcher)).port().unwrap_err();
    assert!(refused.to_string().contains("nope0"), "{refused}");
    let (launcher, _) = keys();
    let (host, _) = Exchange::new(Arc::new(launcher)).port().unwrap();
    assert_eq!(host, None);
}

#[test]
fn a_full_disk_is_no_fault_of_whoever_gives() {
    let (launcher, _) = keys();
    let kept = MapOutputs::default();
    let server = Server::open(&launcher, kept.clone()).unwrap();
    kept.keep(JOB, 0, output(&[b"", b"some"]));
    let fetcher = Fetcher::new(&launcher).unwrap();
    let address = format!("localhost:{}", server.address().port());
    let full = File::options().write(true).open("/dev/full").unwrap();
    let unfetched = fetcher.bring(&address, of(&[0]), onto(&full, 0, &anywhere()), PATIENT);
    let unfetched = unfetched.unwrap_err();
    assert!(unfetched.maps.is_empty(), "{unfetched:?}");
    let sentence = unfetched.to_string();
    assert!(
        sentence.starts_with("cannot keep what was fetched from localhost:")
            && sentence.contains("No space left on device"),
        "{sentence}"
    );
}

/// A thread that gathers ahead where there is `room`, what it has, and what it tells.
#[cfg(test)]
fn ahead(
    launcher: &LauncherKeys,
    room: Room,
) -> (
    Ahead,
    Copies,
    tokio::sync::mpsc::Receiver<job::wire::GatheredAhead>,
) {
    let (told, hears) = tokio::sync::mpsc::channel(4);
    let copies = Copies::default();
    let gatherer = Gatherer {
        job: JOB,
        fetcher: Fetcher::new(launcher).unwrap(),
        room,
        copies: copies.clone(),
        ends: tokio_util::sync::CancellationToken::new(),
        told,
    };
    (Ahead::begin(gatherer).unwrap(), copies, hears)
}

#[cfg(test)]
fn left(map: u32, output: u32, kept_by: u32) -> job::wire::MapLeft {
    job::wire::MapLeft {
        map,
        output,
        kept_by,
    }
}

#[test]
fn what_is_gathered_ahead_is_there_until_a_task_lacks_room() {
    let (launcher, _) = keys();
    let folder = tempfile::tempdir().unwrap();
    let servers: Vec<(Server, MapOutputs)> = (0..2)
        .map(|_| {
            let kept = MapOutputs::default();
            (Server::open(&launcher, kept.clone()).unwrap(), kept)
        })
        .collect();
    let addresses: Vec<String> = (servers.iter())
        .map(|(server, _)| format!("localhost:{}", server.address().port()))
        .collect();
    servers[0].1.keep(JOB, 0, output(&[b"no", b"first"]));
    servers[0].1.keep(JOB, 2, output(&[b"no", b"third"]));
    servers[1].1.keep(JOB, 1, output(&[b"other", b"second"]));
    let (thread, copies, mut hears) = ahead(&launcher, within(folder.path().to_owned()));
    let order = |partitions: &[u32], sources: Vec<job::wire::MapLeft>| job::wire::GatherAhead {
        partitions: partitions.to_vec(),
        welcome: String::new(),
        launchers: addresses.iter().cloned().chain([closed()]).collect(),
        sources,
    };
    thread.order(order(&[1], vec![left(0, 10, 1), left(1, 11, 2)]));
    let told = hears.blocking_recv().unwrap();
    assert_eq!((told.partitions, told.bytes), (vec![1], vec![11]));
    thread.order(order(&[1, 0], vec![left(2, 12, 1)]));
    let told = hears.blocking_recv().unwrap();
    assert_eq!((told.partitions, told.bytes), (vec![0, 1], vec![2, 16]));
    assert_eq!((told.coming, told.handled), (vec![0, 0], vec![1, 3]));
    for (map, output, text) in [(0, 10, "first"), (1, 11, "second"), (2, 12, "third")] {
        use std::os::unix::fs::FileExt as _;
        let copy = copies.get(1, map, output).unwrap();
        let mut bytes = vec![0; usize::try_from(copy.part.length).unwrap()];
        copy.file
            .read_exact_at(&mut bytes, copy.part.offset)
            .unwrap();
        assert_eq!(bytes, text.as_bytes());
    }
    // Of another attempt at the map, and of what was never gathered, there is nothing.
    assert!(copies.get(1, 0, 13).is_none() && copies.get(2, 0, 10).is_none());
    // What cannot be had keeps nobody from the rest.
    let lost = vec![left(7, 17, 2), left(3, 13, 3), left(0, 20, 1)];
    thread.order(order(&[0], lost));
    let told = hears.blocking_recv().unwrap();
    assert_eq!((told.partitions, told.bytes), (vec![0], vec![4]));
    assert!(told.handled == [4] && !told.is_full);
    assert!(copies.close(Some(1)) && !copies.close(Some(1)));
    assert!(copies.get(0, 2, 12).is_none() && copies.get(1, 2, 12).is_some());
    thread.order(order(&[0], vec![left(2, 12, 1)]));
    thread.order(order(&[1], vec![left(2, 12, 1)]));
    // That it is so is all that is told.
    for partition in [0, 1] {
        let told = hears.blocking_recv().unwrap();
        assert!(told.is_full && told.partitions == [partition]);
    }
    assert!(copies.close(None) && copies.get(1, 2, 12).is_none());
    drop(thread);
    assert!(hears.blocking_recv().is_none());
}

#[test]
fn nothing_is_gathered_ahead_where_tasks_would_lack_room() {
    let (launcher, _) = keys();
    let folder = tempfile::tempdir().unwrap();
    let kept = MapOutputs::default();
    let server = Server::open(&launcher, kept.clone()).unwrap();
    kept.keep(JOB, 0, output(&[b"some"]));
    let limits = ScratchLimits {
        most: Some(4),
        fullness: None,
    };
    let room = Room::ahead(Disks::at(vec![folder.path().to_owned()]), limits);
    let (thread, copies, mut hears) = ahead(&launcher, room);
    thread.order(job::wire::GatherAhead {
        partitions: vec![0],
        welcome: String::new(),
        launchers: vec![format!("localhost:{}", server.address().port())],
        sources: vec![left(0, 10, 1)],
    });
    let told = hears.blocking_recv().unwrap();
    assert_eq!((told.partitions, told.bytes), (vec![0], vec![0]));
    assert!(copies.get(0, 0, 10).is_none());
}
