use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::net::TcpListener;

use gerbil_task::Partition;
use job::Seat;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use super::bring::FetchError;
use super::*;
use crate::process::JobId;
use crate::seat::LauncherKeys;

const JOB: JobId = JobId(3);

/// The keys of a launcher, of an application of its own; the second is a peer of the same application that is
/// no launcher.
fn keys() -> (LauncherKeys, LauncherKeys) {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let signed = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap();
        LauncherKeys {
            seat: Seat {
                build: job::BUILD.into(),
                appmaster: String::new(),
                container: String::new(),
                ticket: Vec::new(),
                links: Vec::new(),
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

fn output(parts: &[&[u8]]) -> MapOutput {
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

fn bring(
    fetcher: &Fetcher,
    server: &Server,
    maps: &[u32],
) -> Result<(Vec<Fetched>, Vec<u8>), FetchError> {
    let into = tempfile::tempfile().unwrap();
    let address = format!("localhost:{}", server.port());
    let all = fetcher.bring(&address, (JOB, 1, maps), (&into, 3), &|| false)?;
    let mut bytes = Vec::new();
    let mut read: &File = &into;
    read.rewind().unwrap();
    read.read_to_end(&mut bytes).unwrap();
    Ok((all, bytes))
}

#[test]
fn parts_of_a_partition_come_in_the_order_of_the_request() {
    let (launcher, _) = keys();
    let kept = Kept::default();
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
    // An application's launchers may all fetch at a time.
    std::thread::scope(|scope| {
        for _ in 0..SERVED_MAX / 2 {
            scope.spawn(|| bring(&fetcher, &server, &[0]).unwrap());
        }
    });
}

#[test]
fn what_is_not_there_is_said() {
    let (launcher, _) = keys();
    let kept = Kept::default();
    let server = Server::open(&launcher, kept.clone()).unwrap();
    kept.keep(JOB, 0, output(&[b"one"]));
    let fetcher = Fetcher::new(&launcher).unwrap();
    for map in [0, 1] {
        let refused = bring(&fetcher, &server, &[map]).unwrap_err();
        let said = format!("it has no output of map {map}");
        assert!(refused.to_string().ends_with(&said), "{refused}");
        assert!(refused.accuses());
    }
    kept.forget(JOB);
    assert!(kept.get(JOB, 0).is_none());
}

#[test]
fn nobody_but_a_launcher_of_the_application_is_served() {
    let (launcher, client) = keys();
    let kept = Kept::default();
    let server = Server::open(&launcher, kept.clone()).unwrap();
    kept.keep(JOB, 0, output(&[b"", b"secret"]));
    let (other, _) = keys();
    for stranger in [client, other] {
        let fetcher = Fetcher::new(&stranger).unwrap();
        let refused = bring(&fetcher, &server, &[0]).unwrap_err();
        assert!(matches!(refused, FetchError::Io { .. }), "{refused}");
    }
}

#[test]
fn a_task_that_is_gone_is_not_fetched_for_and_a_port_that_is_closed_is_named() {
    let (launcher, _) = keys();
    let kept = Kept::default();
    let server = Server::open(&launcher, kept.clone()).unwrap();
    kept.keep(JOB, 0, output(&[b"", b"some"]));
    let fetcher = Fetcher::new(&launcher).unwrap();
    let into = tempfile::tempfile().unwrap();
    let address = format!("localhost:{}", server.port());
    let ended = fetcher.bring(&address, (JOB, 1, &[0]), (&into, 0), &|| true);
    assert!(matches!(ended, Err(FetchError::Over)), "{ended:?}");
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let refused = fetcher.bring(&address, (JOB, 1, &[0]), (&into, 0), &|| true);
    let refused = refused.unwrap_err();
    assert!(refused.to_string().contains(&address), "{refused}");
}
