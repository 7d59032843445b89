//! Something that was left, with what becomes of it.

use std::path::PathBuf;

/// Something of gerbil's, or of the user's in one of gerbil's folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// For people.
    pub what: &'static str,
    /// The folder, as people write it.
    pub place: String,
    pub files: u64,
    pub bytes: u64,
    pub fate: Fate,
    pub removable: Removable,
}

/// What becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Goes,
    /// And why.
    Stays(String),
}

/// What is removed where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Removable {
    /// Of the staging folder: its paths there, and the folder that goes when it is empty then.
    Staged { paths: Vec<String>, folder: String },
    /// Files and folders of this machine.
    Here(Vec<PathBuf>),
}

impl Kept {
    /// Nothing is there.
    pub(super) fn is_empty(&self) -> bool {
        self.files == 0
    }
}

/// As people read a number of bytes.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        for (bytes, text) in [
            (0, "0 B"),
            (9_999, "9999 B"),
            (10_000, "10 kB"),
            (363_400_000, "363 MB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
