//! A container's part in fetches: its port is opened when a map first leaves something, its keys are read when
//! a reduce first wants something.

use std::sync::Arc;

use job::tls::TlsError;

use super::serve::ServeError;
use super::{Fetcher, MapOutputs, Server};
use crate::launcher_context::LauncherKeys;

/// What is kept here, the port at which others fetch it, and the keys to fetch from others.
pub(crate) struct Exchange {
    keys: Arc<LauncherKeys>,
    kept: MapOutputs,
    server: Option<Server>,
    fetcher: Option<Fetcher>,
}

impl Exchange {
    /// One in which nothing was left yet.
    pub(crate) fn new(keys: Arc<LauncherKeys>) -> Self {
        Self {
            keys,
            kept: MapOutputs::default(),
            server: None,
            fetcher: None,
        }
    }

    /// What maps have left here.
    pub(crate) const fn kept(&self) -> &MapOutputs {
        &self.kept
    }

    /// The port at which others fetch that, and its address where an interface was named.
    ///
    /// # Errors
    ///
    /// None can be had.
    pub(crate) fn port(&mut self) -> Result<(Option<String>, u16), ServeError> {
        let server = match self.server.take() {
            Some(server) => server,
            None => Server::open(&self.keys, self.kept.clone())?,
        };
        let address = self.server.insert(server).address();
        let host = (!address.ip().is_unspecified()).then(|| address.ip().to_string());
        Ok((host, address.port()))
    }

    /// What fetches from others.
    ///
    /// # Errors
    ///
    /// Keys that make no sense.
    pub(crate) fn fetcher(&mut self) -> Result<Fetcher, TlsError> {
        let fetcher = match self.fetcher.take() {
            Some(fetcher) => fetcher,
            None => Fetcher::new(&self.keys)?,
        };
        Ok(self.fetcher.insert(fetcher).clone())
    }
}
