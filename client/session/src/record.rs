//! What a user keeps of a session: one file each, which nobody else may read, in
//! `$XDG_STATE_HOME/gerbil/sessions`.
//!
//! Whoever has the file can run programs in the session, as the user who started it. Of an application that a command
//! has for itself the same is kept beside them, in `applications`, while that command lives.

mod find;
mod key;
mod noted;

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

use follow::keys::{ClientKeys, Identity};
use nix::fcntl::OFlag;
use proto_hadoop::ApplicationId;
use serde::{Deserialize, Serialize};

use crate::error::SessionError;
use crate::name::Name;

/// Bytes of a file; what is larger is none of ours.
const FILE_MAX: u64 = 256 * 1024;
/// What a file's name ends with.
const SUFFIX: &str = ".json";

/// A session, by its file.
#[derive(Clone, Debug)]
pub struct SessionRecord {
    /// By which its user calls it.
    pub name: Name,
    /// What it is to YARN.
    pub owned: Owned,
    /// By which its ApplicationMaster knows us, and we know it.
    pub keys: ClientKeys,
}

/// What is read of sessions of other builds, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owned {
    /// `job::BUILD` of the session.
    pub build: String,
    /// Its application.
    #[serde(with = "id")]
    pub application: ApplicationId,
    /// `host:port` of each ResourceManager's client port.
    pub resource_managers: Vec<String>,
    /// Who has started it, by the name on the cluster.
    pub user: String,
    /// The folder of the cluster that was started for it on this machine; `None`: Hadoop's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<PathBuf>,
    /// The host that has that folder; `None`: it is not known, and taken for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl Owned {
    /// The host of the cluster that was started for it, where that is another one than this: the user's home folder may
    /// be on both.
    #[must_use]
    pub fn other_host(&self) -> Option<&str> {
        self.local.as_ref()?;
        let host = self.host.as_deref()?;
        (this_host().as_deref() != Some(host)).then_some(host)
    }
}

/// What this host is called; `None`: it has no name that can be kept.
#[must_use]
pub fn this_host() -> Option<String> {
    nix::unistd::gethostname().ok()?.into_string().ok()
}

/// The file.
#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(flatten)]
    owned: Owned,
    authority: String,
    certificate: String,
    key: String,
    launcher_certificate: String,
}

impl From<&SessionRecord> for Written {
    fn from(kept: &SessionRecord) -> Self {
        Self {
            owned: kept.owned.clone(),
            authority: kept.keys.authority.clone(),
            certificate: kept.keys.client.certificate.clone(),
            key: kept.keys.client.key.clone(),
            launcher_certificate: kept.keys.launcher_certificate.clone(),
        }
    }
}

mod id {
    use proto_hadoop::ApplicationId;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(id: &ApplicationId, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(id)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<ApplicationId, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// Where a user's sessions are kept.
#[derive(Clone, Debug)]
pub struct SessionsFolder {
    path: PathBuf,
}

impl SessionsFolder {
    /// Below the user's state folder.
    ///
    /// # Errors
    ///
    /// [`SessionError::NoFolder`] where the user has none.
    pub fn below(state: Option<PathBuf>) -> Result<Self, SessionError> {
        let state = state.ok_or(SessionError::NoFolder)?;
        Ok(Self {
            path: state.join("gerbil/sessions"),
        })
    }

    /// The same for applications that belong to one command each, called by their ids.
    ///
    /// # Errors
    ///
    /// [`SessionError::NoFolder`] where the user has none.
    pub fn of_applications(state: Option<PathBuf>) -> Result<Self, SessionError> {
        let state = state.ok_or(SessionError::NoFolder)?;
        Ok(Self {
            path: state.join("gerbil/applications"),
        })
    }

    /// Where they are.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The files that are kept of a session.
    #[must_use]
    pub fn files_of(&self, name: &Name) -> Vec<PathBuf> {
        let all = [self.path_of(name), self.noted_as(name)];
        all.into_iter().filter(|path| path.exists()).collect()
    }

    /// Removes files that were written longer ago than this: whoever is to remove his was killed. What cannot be
    /// removed stays.
    pub fn sweep(&self, age: Duration) {
        for name in self.names().unwrap_or_default() {
            let path = self.path_of(&name);
            let written = fs::metadata(&path).and_then(|about| about.modified());
            let is_old = written.is_ok_and(|at| at.elapsed().is_ok_and(|since| since > age));
            if is_old {
                let _gone = fs::remove_file(path).is_ok();
            }
        }
    }

    /// The names of all files, in order.
    ///
    /// # Errors
    ///
    /// The folder cannot be read; one that is not there is empty.
    pub fn names(&self) -> Result<Vec<Name>, SessionError> {
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(file("read", &self.path, source)),
        };
        let names = entries.flatten().filter_map(|entry| {
            let name = entry.file_name();
            name.to_str()?.strip_suffix(SUFFIX)?.parse().ok()
        });
        let mut names: Vec<Name> = names.collect();
        sort::ascending(&mut names);
        Ok(names)
    }

    /// The session of that name.
    ///
    /// # Errors
    ///
    /// There is none, which says which there are; or its file is not to be used, a sentence each.
    pub fn find_session(&self, name: &Name) -> Result<SessionRecord, SessionError> {
        match self.read(name)? {
            Some(kept) => Ok(kept),
            None => Err(SessionError::Unknown {
                name: name.to_string(),
                there: self.names()?.iter().map(ToString::to_string).collect(),
            }),
        }
    }

    /// The session of that name, if there is one.
    ///
    /// # Errors
    ///
    /// Its file is not to be used, a sentence each.
    pub fn read(&self, name: &Name) -> Result<Option<SessionRecord>, SessionError> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        understood(&text, name, &self.path_of(name)).map(Some)
    }

    /// What a session of any build is to YARN.
    ///
    /// # Errors
    ///
    /// As [`SessionsFolder::find_session`], other builds aside.
    pub fn owned(&self, name: &Name) -> Result<Option<Owned>, SessionError> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        match serde_json::from_str(&text) {
            Ok(owned) => Ok(Some(owned)),
            Err(error) => Err(SessionError::Broken {
                path: self.path_of(name),
                why: error.to_string(),
            }),
        }
    }

    /// Keeps a session; whether its name was free. The file appears whole.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn keep(&self, kept: &SessionRecord) -> Result<bool, SessionError> {
        let writing = |source| file("write", &self.path, source);
        let made = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.path);
        made.map_err(writing)?;
        fs::set_permissions(&self.path, Permissions::from_mode(0o700)).map_err(writing)?;
        let written = Written::from(kept);
        // Others cannot read a temporary file of this kind.
        let mut temporary = tempfile::Builder::new()
            .prefix(".starting-")
            .permissions(Permissions::from_mode(0o600))
            .tempfile_in(&self.path)
            .map_err(writing)?;
        let text = serde_json::to_vec_pretty(&written).map_err(|error| writing(error.into()))?;
        temporary.write_all(&text).map_err(writing)?;
        temporary.as_file().sync_all().map_err(writing)?;
        match temporary.persist_noclobber(self.path_of(&kept.name)) {
            Ok(_file) => Ok(true),
            Err(taken) if taken.error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(failed) => Err(writing(failed.error)),
        }
    }

    /// Forgets the session of that name, if it is still this application's.
    ///
    /// # Errors
    ///
    /// The file cannot be removed.
    pub fn forget(&self, name: &Name, application: ApplicationId) -> Result<(), SessionError> {
        let path = self.path_of(name);
        match self.owned(name) {
            Ok(Some(owned)) if owned.application == application => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error),
        }
        self.forget_noted(name);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                Err(file("remove", &path, source))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn path_of(&self, name: &Name) -> PathBuf {
        self.path.join(format!("{name}{SUFFIX}"))
    }

    /// What is in a file that is ours alone.
    fn text(&self, name: &Name) -> Result<Option<String>, SessionError> {
        let path = self.path_of(name);
        let reading = |source| file("read", &path, source);
        // A pipe in its place is not waited for.
        let opened = File::options()
            .read(true)
            .custom_flags(OFlag::O_NONBLOCK.bits())
            .open(&path);
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(reading(error)),
        };
        // Of what is open, not of what may lie there by now.
        let about = opened.metadata().map_err(reading)?;
        if !about.is_file() {
            return Err(SessionError::Broken {
                path,
                why: "it is no file".to_owned(),
            });
        }
        let own = nix::unistd::geteuid().as_raw();
        let mut text = String::new();
        let read = opened.take(FILE_MAX).read_to_string(&mut text);
        check(&path, about.uid(), own, about.mode(), &text)?;
        match read {
            Ok(_) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::InvalidData => Err(SessionError::Broken {
                path,
                why: "it is no text".to_owned(),
            }),
            Err(error) => Err(reading(error)),
        }
    }
}

/// The session of a file's text.
fn understood(text: &str, name: &Name, path: &Path) -> Result<SessionRecord, SessionError> {
    let broken = |error: serde_json::Error| SessionError::Broken {
        path: path.to_path_buf(),
        why: error.to_string(),
    };
    let owned: Owned = serde_json::from_str(text).map_err(broken)?;
    if owned.build != job::BUILD {
        return Err(SessionError::OtherBuild {
            name: name.clone(),
            theirs: owned.build,
            ours: job::BUILD,
        });
    }
    let written: Written = serde_json::from_str(text).map_err(broken)?;
    Ok(SessionRecord {
        name: name.clone(),
        owned: written.owned,
        keys: ClientKeys {
            authority: written.authority,
            client: Identity {
                certificate: written.certificate,
                key: written.key,
            },
            launcher_certificate: written.launcher_certificate,
        },
    })
}

/// Whether a file is its user's own and nobody else's.
fn check(path: &Path, owner: u32, own: u32, mode: u32, text: &str) -> Result<(), SessionError> {
    let path = path.to_path_buf();
    if owner != own {
        return Err(SessionError::Foreign { path, owner });
    }
    let mode = mode & 0o7777;
    if mode & 0o077 != 0 {
        let owned: Option<Owned> = serde_json::from_str(text).ok();
        let application = owned.map(|owned| owned.application.to_string());
        return Err(SessionError::Open {
            path,
            mode,
            application: application.unwrap_or_default(),
        });
    }
    Ok(())
}

fn file(doing: &'static str, path: &Path, source: io::Error) -> SessionError {
    let path = path.to_path_buf();
    SessionError::File {
        doing,
        path,
        source,
    }
}

#[cfg(test)]
mod tests;
