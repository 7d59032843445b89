//! What this process was given: the job, its keys, its token, its place.

use anyhow::{Context, Result, bail};
use credentials::{Credentials, Token};
use job::{Description, secrets};

/// Everything an AM starts from.
pub(crate) struct Seat {
    pub description: Description,
    pub keys: Keys,
    /// Logs in to the ResourceManager's scheduler port.
    pub amrm_token: Token,
    /// This AM's own container.
    pub container: String,
    /// The name under which this node is known to the cluster.
    pub node_host: String,
    /// The credentials as they came; Hadoop's other tokens in them are handed on.
    pub credentials: Credentials,
}

/// PEM texts of the job's own authority.
pub(crate) struct Keys {
    pub authority: Vec<u8>,
    pub certificate: Vec<u8>,
    pub key: Vec<u8>,
    pub launcher_certificate: Vec<u8>,
    pub launcher_key: Vec<u8>,
    pub client_certificate: Vec<u8>,
}

/// Token kind by which an AM logs in to the ResourceManager.
const AMRM_TOKEN: &str = "YARN_AM_RM_TOKEN";

impl Seat {
    /// Reads it from the environment that YARN gives a container.
    pub(crate) fn read() -> Result<Self> {
        let file = variable("HADOOP_TOKEN_FILE_LOCATION")?;
        let bytes =
            std::fs::read(&file).with_context(|| format!("cannot read the credentials {file}"))?;
        let credentials =
            Credentials::read(&bytes).with_context(|| format!("cannot understand {file}"))?;
        let secret = |alias: &str| match credentials.secret(alias) {
            Some(secret) => Ok(secret.to_vec()),
            None => bail!("the credentials {file} hold no secret {alias}"),
        };
        let description: Description = serde_json::from_slice(&secret(secrets::DESCRIPTION)?)
            .context("cannot understand the job description")?;
        if description.build != job::BUILD {
            bail!(
                "the client is build {}, this ApplicationMaster is build {}",
                description.build,
                job::BUILD
            );
        }
        let Some(amrm_token) = credentials.token_of_kind(AMRM_TOKEN).cloned() else {
            bail!("the credentials {file} hold no token of kind {AMRM_TOKEN}");
        };
        Ok(Self {
            description,
            keys: Keys {
                authority: secret(secrets::AUTHORITY)?,
                certificate: secret(secrets::CERTIFICATE)?,
                key: secret(secrets::KEY)?,
                launcher_certificate: secret(secrets::LAUNCHER_CERTIFICATE)?,
                launcher_key: secret(secrets::LAUNCHER_KEY)?,
                client_certificate: secret(secrets::CLIENT_CERTIFICATE)?,
            },
            amrm_token,
            container: variable("CONTAINER_ID")?,
            node_host: variable("NM_HOST")?,
            credentials,
        })
    }

    /// Hadoop's tokens that a launcher's container may need, this AM's own log-in left out: a
    /// rank must not be able to act as the AM.
    pub(crate) fn tokens_for_launchers(&self) -> Credentials {
        let tokens = self.credentials.tokens.iter();
        Credentials {
            tokens: tokens
                .filter(|(_, token)| token.kind != AMRM_TOKEN)
                .map(|(alias, token)| (alias.clone(), token.clone()))
                .collect(),
            ..Credentials::default()
        }
    }
}

fn variable(name: &'static str) -> Result<String> {
    std::env::var(name)
        .with_context(|| format!("{name} is not set: this role is started by YARN, not by hand"))
}
