//! Which session is meant by an application, or by a job of one.

use proto_hadoop::ApplicationId;

use super::{Owned, SessionRecord, SessionsFolder};
use crate::error::SessionError;
use crate::name::Name;

/// The sessions whose application is meant, and the files of which nobody can say.
#[derive(Debug, Default)]
struct MeantSessions {
    found: Vec<(Name, Owned)>,
    /// Why each is not to be used.
    passed_over: Vec<SessionError>,
}

impl SessionsFolder {
    /// What is kept of the application that is `meant`. Where applications of several clusters have its number, it is
    /// the one that `is_here`: on the cluster that the user's settings name. Files that are not to be used are passed
    /// over, with a remark: they are of other sessions.
    ///
    /// # Errors
    ///
    /// It cannot be used; or applications of several clusters have the number that `meant` says.
    pub fn session_where(
        &self,
        meant: &impl ToString,
        is: impl Fn(ApplicationId) -> bool,
        is_here: impl Fn(&Owned) -> bool,
    ) -> Result<Option<SessionRecord>, SessionError> {
        let MeantSessions { found, passed_over } = self.meant(is)?;
        if let Some(remark) = remark(&passed_over) {
            terminal::say(remark);
        }
        match one_of(found, is_here) {
            Ok(Some(name)) => self.find_session(&name).map(Some),
            Ok(None) => Ok(None),
            Err(choices) => Err(SessionError::Ambiguous {
                meant: meant.to_string(),
                choices,
            }),
        }
    }

    fn meant(&self, is: impl Fn(ApplicationId) -> bool) -> Result<MeantSessions, SessionError> {
        let mut meant = MeantSessions::default();
        for name in self.names()? {
            match self.owned(&name) {
                Ok(Some(owned)) if is(owned.application) => {
                    meant.found.push((name, owned));
                }
                // Another's; or it has ended in between.
                Ok(Some(_) | None) => {}
                Err(error) => meant.passed_over.push(error),
            }
        }
        Ok(meant)
    }
}

/// The only one, or the only one that `is_here`; else all of them. One that was imported under a second name is the
/// same.
fn one_of(
    found: Vec<(Name, Owned)>,
    is_here: impl Fn(&Owned) -> bool,
) -> Result<Option<Name>, Vec<(Name, ApplicationId)>> {
    let only = |found: &[&(Name, Owned)]| {
        let ((name, first), others) = found.split_first()?;
        let are_same = others
            .iter()
            .all(|(_, other)| other.application == first.application);
        are_same.then(|| name.clone())
    };
    let all: Vec<_> = found.iter().collect();
    if all.is_empty() {
        return Ok(None);
    }
    if let Some(name) = only(&all) {
        return Ok(Some(name));
    }
    let here: Vec<_> = found.iter().filter(|(_, owned)| is_here(owned)).collect();
    only(&here).map(Some).ok_or_else(|| {
        found
            .iter()
            .map(|(name, owned)| (name.clone(), owned.application))
            .collect()
    })
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
    use crate::kill::JobName;

    fn keep(folder: &SessionsFolder, name: &str, application: &str, rm: &str) {
        let mut session = kept(name);
        session.owned.application = application.parse().unwrap();
        session.owned.resource_managers = vec![rm.to_owned()];
        assert!(folder.keep(&session).unwrap());
    }

    /// The session of `job`, where the settings name the cluster of `rm`.
    fn session_of(folder: &SessionsFolder, job: JobName, rm: &str) -> Result<String, SessionError> {
        let is_here = |owned: &Owned| owned.resource_managers.iter().any(|at| at == rm);
        let found = folder.session_where(&job, |id| job.is_of(id), is_here)?;
        Ok(found.unwrap().name.to_string())
    }

    /// Every way in which one file may be unusable, beside one that is used.
    #[test]
    fn files_that_are_not_to_be_used_hide_no_other_session() {
        let (_state, folder) = folder();
        keep(&folder, "night", "application_1700000000000_0042", "a:1");
        // Before and behind it.
        for name in ["a", "z"] {
            let path = folder.path.join(format!("{name}.json"));
            let is_gone = || fs::remove_file(&path).unwrap();
            let found = || session_of(&folder, "s42.7".parse().unwrap(), "a:1").unwrap();
            fs::write(&path, "{").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            assert_eq!(found(), "night");
            fs::write(&path, [0xff, 0xfe]).unwrap();
            assert_eq!(found(), "night");
            fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
            assert_eq!(found(), "night");
            is_gone();
            fs::create_dir(&path).unwrap();
            assert_eq!(found(), "night");
            fs::remove_dir(&path).unwrap();
            nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
            assert_eq!(found(), "night", "nobody waits for its writer");
            let passed_over = folder.meant(|_any| true).unwrap().passed_over;
            assert!(remark(&passed_over).unwrap().contains("is passed over: "));
            is_gone();
        }
        let MeantSessions { passed_over, .. } = folder.meant(|_any| true).unwrap();
        assert_eq!(remark(&passed_over), None);
    }

    #[test]
    fn a_number_of_two_clusters_is_that_of_the_one_here_or_refused_with_the_choices() {
        let (_state, folder) = folder();
        let (one, other) = (
            "application_1700000000000_0042",
            "application_1800000000000_0042",
        );
        keep(&folder, "day", one, "a:1");
        let short: JobName = "s42.7".parse().unwrap();
        let of = |job, rm| session_of(&folder, job, rm);
        // The only one is meant wherever it is.
        assert_eq!(of(short, "b:1").unwrap(), "day");
        // The same once more, as another host's key may say it.
        keep(&folder, "day-2", one, "a:1");
        assert_eq!(of(short, "b:1").unwrap(), "day");
        keep(&folder, "night", other, "b:1");
        assert_eq!(of(short, "a:1").unwrap(), "day");
        assert_eq!(of(short, "b:1").unwrap(), "night");
        let refused = of(short, "c:1").unwrap_err();
        assert_eq!(refused.exit(), job::exit::Exit::Usage);
        let refused = refused.to_string();
        for words in [
            format!("{one}.7 of session day"),
            format!("{other}.7 of session night"),
        ] {
            assert!(refused.contains(&words), "{refused}");
        }
        let whole: JobName = format!("{other}.7").parse().unwrap();
        assert_eq!(of(whole, "a:1").unwrap(), "night");
    }
}
