use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use job::lane::{TAKEN, WELCOME, header};
use job::secrets::CLIENT_NAME;
use job::tls;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use tokio::task::{JoinSet, spawn_blocking};

use super::{Door, Lanes, MOST};
use crate::keys::{Identity, JobKeys};

type LaneStream = StreamOwned<ClientConnection, TcpStream>;

/// Whoever shows the certificate `of`.
fn dial(keys: &JobKeys, of: &Identity, address: &str) -> LaneStream {
    let keys = tls::PeerKeys {
        authority: keys.authority.as_bytes(),
        certificate: of.certificate.as_bytes(),
        key: of.key.as_bytes(),
    };
    let config = keys.client().unwrap();
    let name = ServerName::try_from(CLIENT_NAME).unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    StreamOwned::new(connection, stream)
}

fn send(to: &mut LaneStream, piece: &[u8]) {
    to.write_all(&header(piece.len())).unwrap();
    to.write_all(piece).unwrap();
}

fn answer(from: &mut LaneStream) -> Option<u8> {
    let mut answer = [0];
    from.read_exact(&mut answer).ok().map(|()| answer[0])
}

async fn open(keys: &JobKeys, lanes: &Lanes) -> (String, JoinSet<()>) {
    let door = Door::new(Ipv4Addr::LOCALHOST.into(), &keys.client_keys()).unwrap();
    let (address, accepting) = door.open(lanes.clone()).await.unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(accepting);
    (address.address, tasks)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_by_a_lane_is_taken_whole_and_only_once_it_is_announced() {
    let (keys, lanes) = (JobKeys::generate().unwrap(), Lanes::default());
    let (address, _tasks) = open(&keys, &lanes).await;
    spawn_blocking(move || {
        let mut launcher = dial(&keys, &keys.launcher, &address);
        send(&mut launcher, &7_u64.to_le_bytes());
        assert_eq!(answer(&mut launcher), Some(WELCOME));
        let pieces: Vec<Vec<u8>> = (1..200).map(|n| vec![n; usize::from(n) * 300]).collect();
        let taken = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&taken);
        lanes.begin(8, Box::new(|_| panic!("there is no lane 8")));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                pieces.iter().for_each(|piece| send(&mut launcher, piece));
                send(&mut launcher, &[]);
                assert_eq!(answer(&mut launcher), Some(TAKEN));
            });
            let take = Box::new(move |piece: bytes::Bytes| {
                to.lock().unwrap().push(piece.to_vec());
                true
            });
            lanes.begin(7, take);
        });
        assert!(*taken.lock().unwrap() == pieces);
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_launchers_of_this_job_are_heard_and_not_too_many() {
    let (keys, lanes) = (JobKeys::generate().unwrap(), Lanes::default());
    let (address, _tasks) = open(&keys, &lanes).await;
    spawn_blocking(move || {
        let other = JobKeys::generate().unwrap();
        let foreign = JobKeys {
            authority: keys.authority.clone(),
            ..JobKeys::generate().unwrap()
        };
        for (keys, of) in [(&keys, &keys.appmaster), (&foreign, &other.launcher)] {
            let mut stranger = dial(keys, of, &address);
            let _sent = stranger
                .write_all(&[header(8).as_slice(), &[1; 8]].concat())
                .is_ok();
            assert_eq!(answer(&mut stranger), None);
        }
        // Strangers give their places back.
        let mut all: Vec<LaneStream> = (0..MOST)
            .map(|_| dial(&keys, &keys.launcher, &address))
            .collect();
        for (number, launcher) in (1_u64..).zip(&mut all) {
            send(launcher, &number.to_le_bytes());
            assert_eq!(answer(launcher), Some(WELCOME));
        }
        let mut one_too_many = dial(&keys, &keys.launcher, &address);
        let number = 99_u64.to_le_bytes();
        let _sent = one_too_many
            .write_all(&[header(8).as_slice(), &number].concat())
            .is_ok();
        assert_eq!(answer(&mut one_too_many), None);
        lanes.close();
        for launcher in &mut all {
            assert_eq!(answer(launcher), None);
        }
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rank_that_ends_while_its_lane_opens_gives_its_place_back() {
    let (keys, lanes) = (JobKeys::generate().unwrap(), Lanes::default());
    let (address, _tasks) = open(&keys, &lanes).await;
    spawn_blocking(move || {
        for round in 0..2_u64 {
            // All places, and nobody ever announces one of them.
            let mut all: Vec<LaneStream> = (0..MOST)
                .map(|_| dial(&keys, &keys.launcher, &address))
                .collect();
            for (number, launcher) in (1 + 100 * round..).zip(&mut all) {
                send(launcher, &number.to_le_bytes());
                assert_eq!(answer(launcher), Some(WELCOME), "{number}");
            }
            drop(all);
            let by = Instant::now() + Duration::from_secs(10);
            while !lanes.lock().connections.is_empty() {
                assert!(Instant::now() < by, "the places are not given back");
                std::thread::park_timeout(Duration::from_millis(20));
            }
        }
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_ends_a_lane() {
    let (keys, lanes) = (JobKeys::generate().unwrap(), Lanes::default());
    let (address, _tasks) = open(&keys, &lanes).await;
    spawn_blocking(move || {
        for nonsense in [
            &header(8)[..3],
            &header(usize::MAX),
            &[header(2).as_slice(), b"no"].concat(),
        ] {
            let mut launcher = dial(&keys, &keys.launcher, &address);
            launcher.write_all(nonsense).unwrap();
            launcher.conn.send_close_notify();
            launcher.flush().unwrap();
            assert_eq!(answer(&mut launcher), None);
        }
    })
    .await
    .unwrap();
}
