//! Where a session's ApplicationMaster was found, beside the session's file: whoever comes next asks it, and YARN only
//! where it is not there any more.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use super::{SessionRecord, SessionsFolder};

/// What a file's name ends with.
const SUFFIX: &str = ".at";

impl SessionsFolder {
    /// Where the ApplicationMaster was, `host:port`; `None`: nobody has found it yet.
    pub(crate) fn noted(&self, kept: &SessionRecord) -> Option<String> {
        let text = fs::read_to_string(self.noted_at(kept)).ok()?;
        let (application, address) = text.split_once(' ')?;
        let is_its = application == kept.owned.application.to_string();
        is_its.then(|| address.to_owned())
    }

    /// It is there. Who cannot write that asks YARN again.
    pub(crate) fn note(&self, kept: &SessionRecord, address: &str) {
        let write = || -> std::io::Result<()> {
            let mut temporary = tempfile::Builder::new()
                .prefix(".found-")
                .tempfile_in(&self.path)?;
            write!(temporary, "{} {address}", kept.owned.application)?;
            temporary.persist(self.noted_at(kept))?;
            Ok(())
        };
        let _noted = write().is_ok();
    }

    /// It is over.
    pub(super) fn forget_noted(&self, name: &super::Name) {
        let _gone = fs::remove_file(self.noted_as(name)).is_ok();
    }

    pub(super) fn noted_as(&self, name: &super::Name) -> PathBuf {
        self.path.join(format!("{name}{SUFFIX}"))
    }

    fn noted_at(&self, kept: &SessionRecord) -> PathBuf {
        self.noted_as(&kept.name)
    }
}
