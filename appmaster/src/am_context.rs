//! What an AM was given: the job, its keys, its token.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result, bail};
use credentials::{Credentials, Token};
use holding::Keys;
use job::{Description, secrets};
use proto_hadoop::{AppAttemptId, ContainerId, NodeId};

/// Everything an AM starts from, whether YARN gave it to a container or the client to itself.
pub struct AmContext {
    /// The job.
    pub description: Description,
    /// The job's own authority and what it signed.
    pub keys: Keys,
    /// Logs in to the ResourceManager's scheduler port.
    pub amrm_token: Token,
    /// What YARN counts this AM as.
    pub attempt: AppAttemptId,
    /// This AM's own container; `None` outside the cluster.
    pub container: Option<ContainerId>,
    /// Web page with this AM's log, without its scheme, which YARN knows; empty where there is none.
    pub page: String,
    /// The node that it is on.
    pub node: Option<NodeId>,
    /// Hadoop's tokens; those that are not this AM's own log-in are handed on to the launchers.
    pub credentials: Credentials,
}

impl fmt::Debug for AmContext {
    /// Without keys and tokens.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AmContext")
            .field("attempt", &self.attempt)
            .field("container", &self.container)
            .finish_non_exhaustive()
    }
}

/// The NodeManager's own page of the file into which this AM writes its log.
fn log_page(host: &str, container: &ContainerId) -> String {
    let port = variable("NM_HTTP_PORT").ok().filter(|port| port != "0");
    match (port, variable("USER")) {
        (Some(port), Ok(user)) => {
            format!("{host}:{port}/node/containerlogs/{container}/{user}/stderr")
        }
        _ => String::new(),
    }
}

/// Token kind by which an AM logs in to the ResourceManager.
const AMRM_TOKEN: &str = "YARN_AM_RM_TOKEN";

impl AmContext {
    /// Reads it from the environment that YARN gives a container; with it, the name under which
    /// this node is known to the cluster.
    pub(crate) fn read() -> Result<(Self, String)> {
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
        let container: ContainerId = variable("CONTAINER_ID")?
            .parse()
            .context("CONTAINER_ID is no container id")?;
        let node_host = variable("NM_HOST")?;
        let node = variable("NM_PORT").ok();
        let node = node.and_then(|port| format!("{node_host}:{port}").parse().ok());
        let context = Self {
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
            attempt: container.attempt,
            container: Some(container),
            page: log_page(&node_host, &container),
            node,
            credentials,
        };
        Ok((context, node_host))
    }

    /// Hadoop's tokens that a launcher's container may need, this AM's own log-in left out: a
    /// rank must not be able to act as the AM.
    pub(crate) fn tokens_for_launchers(&self) -> BTreeMap<String, Token> {
        let tokens = self.credentials.tokens.iter();
        let others = tokens.filter(|(_, token)| token.kind != AMRM_TOKEN);
        others
            .map(|(alias, token)| (alias.clone(), token.clone()))
            .collect()
    }
}

fn variable(name: &'static str) -> Result<String> {
    std::env::var(name)
        .with_context(|| format!("{name} is not set: this role is started by YARN, not by hand"))
}
