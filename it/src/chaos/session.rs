//! The same faults where the job is one of a session, which outlives it or does not.

use anyhow::{Result, ensure};

use super::{Case, Expected, Fault, LONG, SHORT, case};
use crate::bed::Given;
use crate::session::told;

/// What becomes of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It runs the next job, and stops in good order.
    Lasts,
    /// It is over with its job.
    Ends,
}

/// As [`super::CASES`], but that YARN knows of no job.
pub const SESSION_CASES: [Case; 16] = {
    use Expected::{Again, Failure, Recorded, Success};
    use Fate::{Ends, Lasts};
    use Fault::{
        ClientFromMaster, KillClient, KillLauncher, KillMaster, KillNodeManager,
        KillNodeManagerOfMaster, KillRank, MasterFromLauncher, MasterFromResourceManager,
        RestartResourceManager, StopMaster,
    };
    const LOST: &[i32] = &[70];
    const AGAIN: &[&str] = &["run 2 of 2", "HOST"];
    const MASTER: Expected = Failure(LOST, &["ApplicationMaster", "session"]);
    [
        of(Lasts, case("nothing", Fault::Nothing, Success, 60)),
        of(Lasts, case("client killed", KillClient, Recorded, 60)),
        of(Ends, case("AM killed", KillMaster, MASTER, 60)),
        of(
            Lasts,
            case("launcher killed", KillLauncher, Again(AGAIN), 60),
        ),
        of(
            Lasts,
            case(
                "rank killed",
                KillRank,
                Failure(&[137], &["rank", "HOST", "SIGKILL"]),
                60,
            ),
        ),
        of(
            Lasts,
            case(
                "client cut off for 20 s",
                ClientFromMaster(Some(LONG)),
                Success,
                60,
            ),
        ),
        of(
            Lasts,
            case(
                "client cut off for ever",
                ClientFromMaster(None),
                Failure(LOST, &["lost the ApplicationMaster"]),
                120,
            ),
        ),
        of(
            Lasts,
            case(
                "launcher cut off for 5 s",
                MasterFromLauncher(Some(SHORT)),
                Success,
                60,
            ),
        ),
        of(
            Lasts,
            case(
                "launcher cut off for 20 s",
                MasterFromLauncher(Some(LONG)),
                Success,
                60,
            ),
        ),
        of(
            Lasts,
            case(
                "launcher cut off for ever",
                MasterFromLauncher(None),
                Again(AGAIN),
                60,
            ),
        ),
        of(Ends, case("AM stopped", StopMaster, MASTER, 120)),
        of(
            Lasts,
            case("NodeManager killed", KillNodeManager, Again(AGAIN), 60),
        ),
        of(
            Ends,
            case(
                "NodeManager of the AM killed",
                KillNodeManagerOfMaster,
                // What is heard first: that the ApplicationMaster is told to end, or nothing more of it.
                Failure(&[70, 143], &["ApplicationMaster", "session"]),
                120,
            ),
        ),
        of(
            Lasts,
            case(
                "ResourceManager restarted",
                RestartResourceManager,
                Success,
                60,
            ),
        ),
        of(
            Lasts,
            case(
                "AM cut off from the ResourceManager for 5 s",
                MasterFromResourceManager(Some(SHORT)),
                Success,
                60,
            ),
        ),
        of(
            Ends,
            case(
                "AM cut off from the ResourceManager for ever",
                MasterFromResourceManager(None),
                Failure(LOST, &["no answer from the ResourceManager"]),
                120,
            ),
        ),
    ]
};

const fn of(fate: Fate, case: Case) -> Case {
    Case {
        session: Some(fate),
        ..case
    }
}

/// Starts it, with room for four ranks on two nodes.
///
/// # Errors
///
/// It does not come up.
pub fn begin(given: &Given, name: &str) -> Result<()> {
    let size = ["--containers", "2", "--slots-per-container", "2"];
    let line = [&["start", name], &size[..], &["--memory", "256"]].concat();
    told(given, &line, 0).map(drop)
}

/// Its job is over: it is of use to the next one, and stops.
///
/// # Errors
///
/// It is not so.
pub fn end(given: &Given, name: &str, fate: Fate) -> Result<()> {
    match fate {
        Fate::Lasts => {
            let next = ["--session", name, "-n", "4", "hostname"];
            let next = given.gerbil(&next)?.finish()?;
            let next = next.success("the session's next job")?;
            ensure!(next.stdout_text().lines().count() == 4);
            told(given, &["stop", name], 0)?;
        }
        Fate::Ends => {
            let next = given.gerbil(&["--session", name, "true"])?.finish()?;
            ensure!(next.code() != 0, "{name} has run another job");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_name_of_its_own_and_a_session() {
        let mut names: Vec<_> = SESSION_CASES.iter().map(|case| case.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SESSION_CASES.len());
        assert!(SESSION_CASES.iter().all(|case| case.session.is_some()));
    }
}
