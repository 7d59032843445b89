//! What a file system tells of a file or folder.

use std::fmt;

use nix::unistd::{Uid, User};

/// A file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Absolute path.
    pub path: String,
    /// Length, bytes; 0 for a folder.
    pub size: u64,
    /// Modification time, ms since 1970, as NodeManagers will read it.
    pub modified_ms: i64,
    /// When it was last used, ms since 1970, where a use after its making is known
    /// ([`crate::Storage::mark_used`]).
    pub used_ms: Option<i64>,
    /// A folder.
    pub is_folder: bool,
    /// Whose it is.
    pub owner: Owner,
    /// That is who asks.
    pub is_ours: bool,
    /// Permission bits.
    pub mode: u32,
}

/// A user of a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// As HDFS names it.
    Named(String),
    /// As the operating system counts it.
    Numbered(u32),
}

impl Status {
    /// Name without its folder.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Why it may have been put there, or changed, by somebody else; `None`: by nobody.
    #[must_use]
    pub fn doubt(&self) -> Option<String> {
        /// Others than the owner may write.
        const WRITABLE: u32 = 0o022;
        if !self.is_ours {
            return Some(format!("belongs to {}", self.owner));
        }
        let mode = self.mode;
        (mode & WRITABLE != 0).then(|| format!("may be written by others (its mode is {mode:04o})"))
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::Numbered(uid) => match User::from_uid(Uid::from_raw(*uid)) {
                Ok(Some(user)) => f.write_str(&user.name),
                Ok(None) | Err(_) => write!(f, "the user of number {uid}"),
            },
        }
    }
}
