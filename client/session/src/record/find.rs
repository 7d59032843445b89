//! Which session is meant by an application, or by a job of one.

use proto_hadoop::ApplicationId;

use super::{SessionRecord, SessionsFolder};
use crate::error::SessionError;
use crate::kill::JobName;
use crate::name::Name;

/// The sessions whose application is meant, and the files of which nobody can say.
#[derive(Debug, Default)]
struct MeantSessions {
    found: Vec<(Name, ApplicationId)>,
    /// Why each is not to be used.
    passed_over: Vec<SessionError>,
}

impl SessionsFolder {
    /// The user's session that a job is of.
    ///
    /// # Errors
    ///
    /// There is none, it cannot be used, or more than one may be meant.
    pub fn session_of(&self, job: JobName) -> Result<SessionRecord, SessionError> {
        match self.session_where(&job, |application| job.is_of(application))? {
            Some(kept) => Ok(kept),
            None => Err(SessionError::NoSuchJob {
                job: job.to_string(),
                there: self.names()?.iter().map(ToString::to_string).collect(),
            }),
        }
    }

    /// What is kept of the application that is `meant`. Files that are not to be used are passed over, with a remark:
    /// they are of other sessions.
    ///
    /// # Errors
    ///
    /// It cannot be used; or applications of several clusters have the number that `meant` says.
    pub fn session_where(
        &self,
        meant: &impl ToString,
        is: impl Fn(ApplicationId) -> bool,
    ) -> Result<Option<SessionRecord>, SessionError> {
        let MeantSessions { found, passed_over } = self.meant(is)?;
        if let Some(remark) = remark(&passed_over) {
            terminal::say(remark);
        }
        let Some((name, application)) = found.first() else {
            return Ok(None);
        };
        // One that was imported under a second name is the same.
        if found.iter().any(|(_, other)| other != application) {
            return Err(SessionError::Ambiguous {
                meant: meant.to_string(),
                choices: found,
            });
        }
        self.find_session(name).map(Some)
    }

    fn meant(&self, is: impl Fn(ApplicationId) -> bool) -> Result<MeantSessions, SessionError> {
        let mut meant = MeantSessions::default();
        for name in self.names()? {
            match self.owned(&name) {
                Ok(Some(owned)) if is(owned.application) => {
                    meant.found.push((name, owned.application));
                }
                // Another's; or it has ended in between.
                Ok(Some(_) | None) => {}
                Err(error) => meant.passed_over.push(error),
            }
        }
        Ok(meant)
    }
}

fn remark(passed_over: &[SessionError]) -> Option<String> {
    let first = passed_over.first()?;
    let others = match passed_over.len().saturating_sub(1) {
        0 => String::new(),
        1 => " (and one more)".to_owned(),
        more => format!(" (and {more} more)"),
    };
    Some(format!("a session is passed over: {first}{others}"))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::tests::{folder, kept};
    use super::*;

    fn keep(folder: &SessionsFolder, name: &str, application: &str) {
        let mut session = kept(name);
        session.owned.application = application.parse().unwrap();
        assert!(folder.keep(&session).unwrap());
    }

    /// Every way in which one file may be unusable, beside one that is used.
    #[test]
    fn files_that_are_not_to_be_used_hide_no_other_session() {
        let (_state, folder) = folder();
        keep(&folder, "night", "application_1700000000000_0042");
        // Before and behind it.
        for name in ["a", "z"] {
            let path = folder.path.join(format!("{name}.json"));
            let is_gone = || fs::remove_file(&path).unwrap();
            let found = || folder.session_of("s42.7".parse().unwrap()).unwrap().name;
            fs::write(&path, "{").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            assert_eq!(found().as_str(), "night");
            fs::write(&path, [0xff, 0xfe]).unwrap();
            assert_eq!(found().as_str(), "night");
            fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
            assert_eq!(found().as_str(), "night");
            is_gone();
            fs::create_dir(&path).unwrap();
            assert_eq!(found().as_str(), "night");
            fs::remove_dir(&path).unwrap();
            nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
            assert_eq!(found().as_str(), "night", "nobody waits for its writer");
            let passed_over = folder.meant(|_any| true).unwrap().passed_over;
            assert!(remark(&passed_over).unwrap().contains("is passed over: "));
            is_gone();
        }
        let MeantSessions { passed_over, .. } = folder.meant(|_any| true).unwrap();
        assert_eq!(remark(&passed_over), None);
    }

    #[test]
    fn a_number_of_two_clusters_is_refused_with_the_choices() {
        let (_state, folder) = folder();
        let (one, other) = (
            "application_1700000000000_0042",
            "application_1800000000000_0042",
        );
        keep(&folder, "day", one);
        let short: JobName = "s42.7".parse().unwrap();
        assert_eq!(folder.session_of(short).unwrap().name.as_str(), "day");
        // The same once more, as another host's key may say it.
        keep(&folder, "day-2", one);
        assert_eq!(folder.session_of(short).unwrap().name.as_str(), "day");
        keep(&folder, "night", other);
        let refused = folder.session_of(short).unwrap_err();
        assert_eq!(refused.exit(), job::exit::Exit::Usage);
        let refused = refused.to_string();
        for words in [
            format!("{one}.7 of session day"),
            format!("{other}.7 of session night"),
        ] {
            assert!(refused.contains(&words), "{refused}");
        }
        let whole: JobName = format!("{other}.7").parse().unwrap();
        assert_eq!(folder.session_of(whole).unwrap().name.as_str(), "night");
    }
}
