//! The launcher's place in the job, from the credentials that YARN put beside it.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use credentials::{Credentials, CredentialsError};
use job::{LauncherContext, secrets};
use policy::MiB;
use thiserror::Error;

use crate::surroundings::Surroundings;

/// YARN's name for the path of the credentials file.
pub(crate) const FILE_VARIABLE: &str = "HADOOP_TOKEN_FILE_LOCATION";
/// Nodes of `--local` (mini's `environment.rs`) set it: they keep account of memory, and do not enforce it.
const MEMORY_IS_COUNTED: &str = "GERBIL_MEMORY_IS_COUNTED";
/// Larger files are none of ours, bytes: the context and three PEM texts need some ten thousand.
const FILE_MAX: u64 = 16 * 1024 * 1024;
/// Bytes that nobody guesses.
const LIFE: usize = 16;
/// The kernel's.
const CHANCE: &str = "/dev/urandom";

/// The credentials do not tell who this launcher is.
#[derive(Debug, Error)]
pub(crate) enum ContextError {
    #[error(
        "{FILE_VARIABLE} is not set: this process is started by YARN for a job, not by hand \
         (users start gerbil-run without --as)"
    )]
    NoFile,
    #[error("cannot read {path}: {source}")]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the credentials at {path} have {length} bytes; at most {FILE_MAX} make sense")]
    TooLarge { path: PathBuf, length: u64 },
    #[error("the credentials at {path} are not such a file: {source}")]
    Malformed {
        path: PathBuf,
        source: CredentialsError,
    },
    #[error("the credentials at {path} lack the secret {alias}")]
    Missing { path: PathBuf, alias: &'static str },
    #[error("the secret {} makes no sense: {source}", secrets::CONTEXT)]
    Context { source: serde_json::Error },
    #[error(
        "the job is run by build {theirs}, this is build {}: one build runs one job",
        job::BUILD
    )]
    Build { theirs: String },
}

/// Who this launcher is, and how it proves it. The keys are not printable.
pub(crate) struct LauncherKeys {
    pub(crate) context: LauncherContext,
    pub(crate) authority: Vec<u8>,
    pub(crate) certificate: Vec<u8>,
    pub(crate) key: Vec<u8>,
    /// Chosen by chance: when this launcher dials again it is known by it.
    pub(crate) life: [u8; LIFE],
}

/// Reads the file that the environment names.
pub(crate) fn read(around: &Surroundings) -> Result<LauncherKeys, ContextError> {
    let path = around.variable(FILE_VARIABLE).ok_or(ContextError::NoFile)?;
    let path = around.folder.join(path);
    let unreadable = |source| ContextError::Unreadable {
        path: path.clone(),
        source,
    };
    let length = std::fs::metadata(&path).map_err(unreadable)?.len();
    if length > FILE_MAX {
        return Err(ContextError::TooLarge { path, length });
    }
    let bytes = std::fs::read(&path).map_err(unreadable)?;
    let credentials = Credentials::read(&bytes).map_err(|source| ContextError::Malformed {
        path: path.clone(),
        source,
    })?;
    let secret = |alias| {
        credentials
            .secret(alias)
            .ok_or_else(|| ContextError::Missing {
                path: path.clone(),
                alias,
            })
    };
    let mut context: LauncherContext = serde_json::from_slice(secret(secrets::CONTEXT)?)
        .map_err(|source| ContextError::Context { source })?;
    if around.variable(MEMORY_IS_COUNTED).is_some() {
        context.memory = MiB(0);
    }
    if context.build != job::BUILD {
        return Err(ContextError::Build {
            theirs: context.build,
        });
    }
    Ok(LauncherKeys {
        context,
        authority: secret(secrets::AUTHORITY)?.to_vec(),
        certificate: secret(secrets::CERTIFICATE)?.to_vec(),
        key: secret(secrets::KEY)?.to_vec(),
        life: chance()?,
    })
}

fn chance() -> Result<[u8; LIFE], ContextError> {
    let mut bytes = [0; LIFE];
    let read = File::open(CHANCE).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|source| ContextError::Unreadable {
        path: CHANCE.into(),
        source,
    })?;
    Ok(bytes)
}
