use std::net::Ipv4Addr;

use tokio::io::AsyncReadExt as _;
use tokio_rustls::TlsConnector;

use super::*;
use crate::test_keys::JobKeys;

/// Whatever is waited for comes within this time, or the test fails.
const SOON: Duration = Duration::from_secs(20);

/// A port with few places, and those who came in.
async fn port(
    bounds: StrangerBounds,
    keys: &Keys,
) -> (
    SocketAddr,
    mpsc::Receiver<io::Result<KnownPeer>>,
    JoinSet<()>,
) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (known, came) = mpsc::channel(4);
    let tls = acceptor(keys).unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(let_in(
        listener,
        tls,
        bounds,
        known,
        CancellationToken::new(),
    ));
    (address, came, tasks)
}

fn connector(keys: &JobKeys) -> TlsConnector {
    let (certificate, key) = &keys.launcher;
    let own = tls::PeerKeys {
        authority: &keys.appmaster.authority,
        certificate: certificate.as_bytes(),
        key: key.as_bytes(),
    };
    TlsConnector::from(Arc::new(own.client().unwrap()))
}

async fn come_in(address: SocketAddr, keys: &JobKeys) {
    let stream = TcpStream::connect(address).await.unwrap();
    let name = job::secrets::APPMASTER_NAME.try_into().unwrap();
    connector(keys).connect(name, stream).await.unwrap();
}

#[tokio::test]
async fn who_means_it_gets_in_beside_a_flood_that_says_nothing() {
    let keys = JobKeys::new();
    let bounds = StrangerBounds {
        most: 8,
        deadline: Duration::from_secs(2),
        spared: Duration::from_millis(100),
        ..StrangerBounds::default()
    };
    let (address, mut came, _tasks) = port(bounds, &keys.appmaster).await;
    let mut flood = Vec::new();
    for _ in 0..100 {
        flood.push(TcpStream::connect(address).await.unwrap());
    }
    timeout(SOON, come_in(address, &keys)).await.unwrap();
    assert!(timeout(SOON, came.recv()).await.unwrap().unwrap().is_ok());
    // All of them are turned away in the end.
    for mut stream in flood {
        let read = timeout(SOON, stream.read(&mut [0])).await.unwrap();
        assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    }
    assert!(came.try_recv().is_err());
}

#[tokio::test]
async fn a_handshake_byte_by_byte_ends_at_its_deadline() {
    let keys = JobKeys::new();
    let bounds = StrangerBounds {
        deadline: Duration::from_millis(500),
        ..StrangerBounds::default()
    };
    let (address, mut came, _tasks) = port(bounds, &keys.appmaster).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let began = Instant::now();
    // The head of a record of 16 KiB, which is still not there after a minute.
    for byte in [22, 3, 1, 64, 0].into_iter().chain(std::iter::repeat(1)) {
        sleep(Duration::from_millis(20)).await;
        if tokio::io::AsyncWriteExt::write_all(&mut stream, &[byte])
            .await
            .is_err()
        {
            break;
        }
        assert!(began.elapsed() < SOON);
    }
    assert!(began.elapsed() >= bounds.deadline);
    assert!(came.try_recv().is_err());
    timeout(SOON, come_in(address, &keys)).await.unwrap();
}

#[tokio::test]
async fn a_flood_of_refusals_is_none_of_lines() {
    let mut strangers = Strangers::new(StrangerBounds::default());
    for _ in 0..1000 {
        strangers.refused("a peer", "no certificate");
    }
    assert_eq!(strangers.unsaid, 999);
}
