//! Where lanes come in.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use job::tls::{self, TlsError};
use job::wire;
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::time::sleep;

use super::{Lanes, lane};
use crate::keys::ClientKeys;

/// After the kernel had no descriptor or memory for one more connection.
const SHORT_PAUSE: Duration = Duration::from_millis(100);

/// Opens when it is wanted.
pub(crate) struct Door {
    /// By which the ApplicationMaster was reached: its nodes reach us by the same, or not at all.
    address: IpAddr,
    tls: Arc<ServerConfig>,
    launcher: Arc<[u8]>,
}

impl Door {
    /// With the keys of the job.
    ///
    /// # Errors
    ///
    /// Keys that make no sense.
    pub(crate) fn new(address: IpAddr, keys: &ClientKeys) -> Result<Self, TlsError> {
        let own = tls::PeerKeys {
            authority: keys.authority.as_bytes(),
            certificate: keys.client.certificate.as_bytes(),
            key: keys.client.key.as_bytes(),
        };
        let launcher = tls::certificate(keys.launcher_certificate.as_bytes())?;
        Ok(Self {
            address,
            tls: Arc::new(own.server()?),
            launcher: launcher.as_ref().into(),
        })
    }

    /// Opens it. The second part lets in who comes, for as long as it is awaited.
    pub(crate) async fn open(
        self,
        lanes: Lanes,
    ) -> io::Result<(wire::Door, impl Future<Output = ()> + Send)> {
        let listener = TcpListener::bind((self.address, 0)).await?;
        let address = listener.local_addr()?.to_string();
        let letting_in = async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _from)) => {
                        if let Ok(stream) = stream.into_std() {
                            self.let_in(stream, &lanes);
                        }
                    }
                    Err(_exhausted) => sleep(SHORT_PAUSE).await,
                }
            }
        };
        Ok((wire::Door { address }, letting_in))
    }

    /// Who finds no place goes on as before.
    fn let_in(&self, stream: std::net::TcpStream, lanes: &Lanes) {
        let Some(entered) = lanes.enter(&stream) else {
            return;
        };
        let (tls, launcher) = (Arc::clone(&self.tls), Arc::clone(&self.launcher));
        let thread = thread::Builder::new().name("lane".into());
        let _started = thread.spawn(move || {
            // A launcher that is cut off tells what is missing; a stranger is no news.
            let _ended = lane::serve(stream, tls, &launcher, entered).is_ok();
        });
    }
}
