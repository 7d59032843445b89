//! Where a session's ApplicationMaster is, and the connection to it.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use follow::FollowError;
use follow::dial::{Dialled, dial};
use follow::ended::{Ended, chain, judge};
use follow::follower::{address, reason};
use follow::timeout::call_timing;
use job::exit::Exit;
use job::wire::clients_client::ClientsClient;
use mini::RunFolder;
use proto_hadoop::yarn::YarnApplicationState;
use proto_hadoop::{ApplicationClient, ApplicationId};
use tokio::time::{Instant, sleep, timeout};
use tonic::transport::Channel;
use tonic::{Response, Status};

use crate::error::SessionError;
use crate::name::Name;
use crate::record::{Owned, SessionRecord, SessionsFolder};

/// For an ApplicationMaster that is reached to answer.
const ANSWER: Duration = Duration::from_secs(15);
/// For YARN to say where a session is. A ResourceManager that takes over from another knows that only when
/// the ApplicationMaster has registered with it.
const PLACED: Duration = Duration::from_secs(30);
/// For an ApplicationMaster to be where it was found before; YARN is asked for one that has moved.
const NOTED: Duration = Duration::from_secs(1);
/// For YARN to know of an ApplicationMaster that listens no more that it has ended, or that another takes its place.
const KNOWN: Duration = Duration::from_secs(3);
/// Between two questions where it is.
const LOOK: Duration = Duration::from_millis(500);
/// For a process that is being killed to be gone.
const KILLED: Duration = Duration::from_secs(1);

/// Where a session is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionAddress {
    /// Its ApplicationMaster listens at `host:port`.
    At(String),
    /// It has none yet, for this reason.
    Starting(String),
    /// YARN calls it over.
    Over {
        /// What YARN has to say of it.
        why: String,
        /// What a command returns that has waited for it to begin.
        exit: Exit,
    },
}

/// The ResourceManagers of a session.
#[must_use]
pub fn resource_managers(owned: &Owned) -> ApplicationClient {
    let addresses = owned.resource_managers.clone();
    let timing = call_timing(addresses.len());
    ApplicationClient::new(addresses, &owned.user).with_timing(timing)
}

/// Asks YARN where a session is. A cluster that was started for it on this machine, and is gone, is not asked.
///
/// # Errors
///
/// No ResourceManager answers; or its cluster is another machine.
pub async fn place(rm: &ApplicationClient, owned: &Owned) -> Result<SessionAddress, SessionError> {
    let Some(folder) = &owned.local else {
        return place_of(rm, owned.application).await;
    };
    if let Some(host) = owned.other_host() {
        // Its folder is not seen from here, and says nothing.
        return Err(SessionError::OtherHost {
            application: owned.application,
            host: host.to_owned(),
        });
    }
    let gone = || lost("the process that was its cluster on this machine is gone");
    if !RunFolder::is_held(folder) {
        return Ok(gone());
    }
    match place_of(rm, owned.application).await {
        Err(_) if is_released(folder).await => Ok(gone()),
        found => found,
    }
}

/// Whether the process that was a cluster here is gone. One that is being killed gives its ports back before its files.
async fn is_released(folder: &Path) -> bool {
    let until = Instant::now() + KILLED;
    while RunFolder::is_held(folder) {
        if Instant::now() >= until {
            return false;
        }
        sleep(KILLED / 20).await;
    }
    true
}

/// Asks YARN where an application is.
///
/// # Errors
///
/// No ResourceManager answers.
pub async fn place_of(
    rm: &ApplicationClient,
    id: ApplicationId,
) -> Result<SessionAddress, SessionError> {
    let report = match rm.report(&id).await {
        Ok(report) => report,
        Err(error) if error.is("ApplicationNotFoundException") => {
            return Ok(lost("YARN does not know it any more"));
        }
        Err(error) => return Err(FollowError::from(error).into()),
    };
    if report.state.is_final() {
        return Ok(over(judge(&report), &report.diagnostics));
    }
    let address = (report.state == YarnApplicationState::Running).then(|| address(&report));
    Ok(match address.flatten() {
        Some(address) => SessionAddress::At(address),
        None => {
            let why = reason(&report);
            SessionAddress::Starting(
                why.unwrap_or_else(|| "YARN has not started its ApplicationMaster yet".to_owned()),
            )
        }
    })
}

/// One of which YARN says no more.
fn lost(why: &str) -> SessionAddress {
    SessionAddress::Over {
        why: why.to_owned(),
        exit: Exit::Lost,
    }
}

/// One that has ended, as YARN tells it: refused, killed, failed, or stopped in good order.
/// `said` is what its ApplicationMaster has told YARN.
fn over(ended: Ended, said: &str) -> SessionAddress {
    match ended {
        Ended { sentence, .. } if sentence.is_empty() => match said.trim() {
            sentences::NO_JOB_CAME => lost(sentences::NO_JOB_CAME),
            _ => lost("it was stopped"),
        },
        Ended { sentence, code, .. } => SessionAddress::Over {
            why: sentence,
            exit: Exit::of_code(code).unwrap_or(Exit::Lost),
        },
    }
}

/// Asks YARN where a session is, until YARN knows, or has not known for 30 s.
///
/// # Errors
///
/// No ResourceManager answers.
pub(crate) async fn placed(
    rm: &ApplicationClient,
    owned: &Owned,
) -> Result<SessionAddress, SessionError> {
    let until = Instant::now() + PLACED;
    loop {
        match place(rm, owned).await? {
            SessionAddress::Starting(_) if Instant::now() < until => sleep(LOOK).await,
            place => return Ok(place),
        }
    }
}

/// A connection to a session's ApplicationMaster. Its clones are the same.
#[derive(Clone, Debug)]
pub struct Reached {
    /// By which it is asked.
    pub client: ClientsClient<Channel>,
    /// Where it is, `host:port`.
    pub address: String,
    /// From which address it was dialled.
    pub local: Option<IpAddr>,
}

impl Reached {
    /// The same connection, for whoever follows a job over it.
    #[must_use]
    pub fn dialled(self) -> Dialled {
        let Self {
            client,
            address,
            local,
        } = self;
        Dialled {
            client,
            address,
            local,
        }
    }

    /// Connects where the session was found before, or asks YARN where it is. Waits for one that is starting, or that
    /// a ResourceManager has just taken over, for 30 s. What is kept of one that is over is removed.
    ///
    /// # Errors
    ///
    /// It is over, is not there in time, or cannot be reached.
    pub async fn new(
        rm: &ApplicationClient,
        folder: &SessionsFolder,
        kept: &SessionRecord,
    ) -> Result<Self, SessionError> {
        if let Some(address) = folder.noted(kept)
            && let Ok(Ok(reached)) = timeout(NOTED, Self::at(address, kept)).await
        {
            return Ok(reached);
        }
        let ask = || placed(rm, &kept.owned);
        let reached = Self::found(ask, folder, kept).await?;
        folder.note(kept, &reached.address);
        Ok(reached)
    }

    /// The same, without waiting for one that is starting: for who asks what it waits for.
    ///
    /// # Errors
    ///
    /// It is over, is not there yet, or cannot be reached.
    pub async fn now(
        rm: &ApplicationClient,
        folder: &SessionsFolder,
        kept: &SessionRecord,
    ) -> Result<Self, SessionError> {
        Self::found(|| place(rm, &kept.owned), folder, kept).await
    }

    /// Connects where YARN says that the session is. One that is just ending listens no more, and still runs for YARN:
    /// that is asked again for 3 s.
    async fn found<F>(
        ask: impl Fn() -> F,
        folder: &SessionsFolder,
        kept: &SessionRecord,
    ) -> Result<Self, SessionError>
    where
        F: Future<Output = Result<SessionAddress, SessionError>>,
    {
        let until = Instant::now() + KNOWN;
        loop {
            match Self::there(ask().await?, folder, kept).await {
                Err(SessionError::Unreachable { .. }) if Instant::now() < until => {
                    sleep(LOOK).await
                }
                reached => return reached,
            }
        }
    }

    async fn there(
        place: SessionAddress,
        folder: &SessionsFolder,
        kept: &SessionRecord,
    ) -> Result<Self, SessionError> {
        let (name, application) = (kept.name.clone(), kept.owned.application);
        match place {
            SessionAddress::At(address) => Self::at(address, kept).await,
            SessionAddress::Starting(why) => Err(SessionError::Starting {
                name,
                application,
                why,
            }),
            SessionAddress::Over { why, .. } => {
                folder.forget(&name, application)?;
                Err(SessionError::Over {
                    name,
                    application,
                    why,
                })
            }
        }
    }

    /// Connects to the ApplicationMaster that listens there.
    ///
    /// # Errors
    ///
    /// It cannot be reached.
    pub async fn at(address: String, kept: &SessionRecord) -> Result<Self, SessionError> {
        match dial(&address, &kept.keys).await {
            Ok(Dialled {
                client,
                address,
                local,
            }) => Ok(Self {
                client,
                address,
                local,
            }),
            Err(error) => {
                let (name, why) = (kept.name.clone(), chain(&error));
                Err(match is_of_keys(&why) {
                    true => SessionError::WrongKey { name, why },
                    false => SessionError::Unreachable {
                        name,
                        application: kept.owned.application,
                        address,
                        why,
                    },
                })
            }
        }
    }
}

/// An answer of session `name`, which comes within a stated time.
pub(crate) async fn answer<T>(
    name: &Name,
    call: impl Future<Output = Result<Response<T>, Status>>,
) -> Result<T, SessionError> {
    let late = || Status::deadline_exceeded(format!("no answer within {} s", ANSWER.as_secs()));
    let answered = timeout(ANSWER, call)
        .await
        .unwrap_or_else(|_late| Err(late()));
    match answered {
        Ok(answer) => Ok(answer.into_inner()),
        Err(status) => Err(refused(name, &status)),
    }
}

/// Why a session does not answer.
fn refused(name: &Name, status: &Status) -> SessionError {
    let why = causes(status);
    match is_of_keys(&why) {
        true => SessionError::WrongKey {
            name: name.clone(),
            why,
        },
        false => SessionError::Refused {
            name: name.clone(),
            code: status.code(),
            why,
        },
    }
}

/// What was answered; of a connection that broke, why it did.
fn causes(status: &Status) -> String {
    let mut parts = vec![status.message().to_owned()];
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        let text = error.to_string();
        if parts.last() != Some(&text) {
            parts.push(text);
        }
        source = error.source();
    }
    parts.join(": ")
}

/// Whether two that reach each other do not believe each other's certificates, or one has a key that is none. TLS says
/// so to a client behind its handshake, where that is done for it already.
fn is_of_keys(why: &str) -> bool {
    let words = [
        "received fatal alert",
        "invalid peer certificate",
        "private key",
        "InvalidCertificate",
    ];
    words.iter().any(|word| why.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_do_not_fit_are_told_from_hosts_that_are_not_reached() {
        for of_keys in [
            "transport error: received fatal alert: DecryptError",
            "transport error: invalid peer certificate: BadSignature",
            "failed to parse private key as RSA, ECDSA, or EdDSA",
        ] {
            assert!(is_of_keys(of_keys), "{of_keys}");
        }
        for other in [
            "transport error: Connection refused (os error 111)",
            "no answer within 15 s",
        ] {
            assert!(!is_of_keys(other), "{other}");
        }
        let refused = refused(
            &"k1".parse().unwrap(),
            &Status::not_found("there is no job 7 here"),
        );
        assert_eq!(refused.to_string(), "session k1: there is no job 7 here");
    }

    #[test]
    fn what_has_not_begun_ends_with_yarn_s_code_and_never_as_a_success() {
        let exit = |code: u8, sentence: &str| {
            let ended = Ended {
                code,
                sentence: sentence.into(),
                verdict: None,
            };
            match over(ended, "") {
                SessionAddress::Over { exit, .. } => exit,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(exit(65, "the ResourceManager refused it"), Exit::Impossible);
        assert_eq!(exit(143, "it was killed through YARN"), Exit::Killed);
        assert_eq!(exit(70, "it failed"), Exit::Lost);
        // A program's own code is none of a session.
        assert_eq!(exit(7, "it failed"), Exit::Lost);
        assert_eq!(exit(0, ""), Exit::Lost);
    }

    #[test]
    fn a_session_without_jobs_says_that_it_ended_for_want_of_them() {
        let why = |said: &str| {
            let ended = Ended {
                code: 0,
                sentence: String::new(),
                verdict: None,
            };
            match over(ended, said) {
                SessionAddress::Over { why, .. } => why,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(why("3 jobs were run"), "it was stopped");
        assert_eq!(
            why(&format!("{}\n", sentences::NO_JOB_CAME)),
            sentences::NO_JOB_CAME
        );
    }
}
