//! How a file is made.

/// Who is to read what is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Readers {
    /// Whoever may by the user's mask; on HDFS by that of Hadoop's settings (`fs.permissions.umask-mode`).
    #[default]
    ByMask,
    /// The nodes, and as few others as they allow: YARN reads HDFS in the user's name (0600, folders
    /// 0700), and a folder that is mounted everywhere as a user of its own (0755, whatever the mask).
    /// There the modification time is cut to a whole second, so that every Java reads the same: up to
    /// Java 8 a local file's time comes in seconds, and a NodeManager compares exactly.
    Nodes,
    /// Everybody, whatever the mask (0644, folders 0755).
    Everybody,
    /// The user alone, as whom the nodes run too: as [`Readers::Nodes`], and in a folder that is mounted everywhere
    /// 0700 as well.
    Own,
    /// The user alone, as [`Readers::Own`], and a file with no more than the owner's permissions in this mode.
    OwnWith(u32),
}

impl Readers {
    /// Their mode is fixed, whatever the user's mask of new files is.
    pub(crate) const fn are_fixed(self) -> bool {
        !matches!(self, Self::ByMask)
    }
}

/// How a file is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreateOptions {
    /// Who is to read it. The folders above it are made as well, if it is for [`Readers::ByMask`].
    pub readers: Readers,
    /// Its length, bytes, where that is known: HDFS counts whole blocks against a quota while a file is
    /// written, and a small file gets one that just holds it.
    pub size: Option<u64>,
    /// The folder above is not made: where it is gone, that is an error, and it stays gone.
    pub needs_folder: bool,
    /// What has its name is written over; else that is an error.
    pub overwrite: bool,
}

impl CreateOptions {
    /// The folders above it are made as well.
    pub(crate) const fn makes_folders(self) -> bool {
        !self.readers.are_fixed() && !self.needs_folder
    }
}
