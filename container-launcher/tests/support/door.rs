//! A client's door that does what a test says.

use std::sync::{Arc, Mutex};

use job::lane::{Pieces, TAKEN, WELCOME};
use job::{tls, wire};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::Appmaster;

/// The number of each lane and what came by it.
pub type ReceivedLanes = Vec<(u64, Vec<u8>)>;

/// Takes lanes, one after the other.
pub struct Door {
    pub address: String,
    pub lanes: Arc<Mutex<ReceivedLanes>>,
    _task: JoinSet<()>,
}

impl Door {
    /// Each lane is cut when it has brought `most` bytes.
    pub async fn open(am: &Appmaster, most: usize) -> Self {
        let keys = &am.keys;
        let own = tls::PeerKeys {
            authority: keys.authority.as_bytes(),
            certificate: keys.client.0.as_bytes(),
            key: keys.client.1.as_bytes(),
        };
        let config = own.server().unwrap();
        let tls = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let lanes: Arc<Mutex<ReceivedLanes>> = Arc::default();
        let taken = Arc::clone(&lanes);
        let mut task = JoinSet::new();
        task.spawn(async move {
            loop {
                let (stream, _from) = listener.accept().await.unwrap();
                let mut stream = tls.accept(stream).await.unwrap();
                let mut pieces = Pieces::default();
                let mut buffer = vec![0; 64 * 1024];
                let mut is_over = false;
                let mut number = None;
                while !is_over {
                    let Ok(read @ 1..) = stream.read(&mut buffer).await else {
                        break;
                    };
                    let mut data = &buffer[..read];
                    let mut is_new = false;
                    while let Some(piece) = pieces.next(&mut data).unwrap() {
                        let mut lanes = taken.lock().unwrap();
                        if number.is_none() {
                            let said = u64::from_le_bytes(piece[..].try_into().unwrap());
                            lanes.push((*number.insert(said), Vec::new()));
                            is_new = true;
                            continue;
                        }
                        is_over = piece.is_empty();
                        lanes.last_mut().unwrap().1.extend(piece);
                    }
                    if is_new {
                        stream.write_u8(WELCOME).await.unwrap();
                    }
                    if taken
                        .lock()
                        .unwrap()
                        .last()
                        .is_some_and(|lane| lane.1.len() >= most)
                    {
                        break;
                    }
                }
                if is_over {
                    stream.write_u8(TAKEN).await.unwrap();
                }
            }
        });
        Self {
            address,
            lanes,
            _task: task,
        }
    }

    /// What the launchers are told.
    pub fn order(&self) -> wire::Door {
        wire::Door {
            address: self.address.clone(),
        }
    }
}
