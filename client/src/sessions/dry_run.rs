//! `gerbil-run --session --dry-run`: what a job would take of its session now, without submitting it.

use job::exit::Exit;
use serde::Serialize;
use session::status::Status;
use session::{Name, Reached, reach};
use terminal::{Text, print, say};

use super::{folder, is_here};
use crate::arguments::Arguments;
use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::plan::Plan;

/// What is wanted, and what there is.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Outlook {
    session: String,
    /// Slots that the job wants at once, one for each process.
    wanted: u32,
    /// Slots that nobody has, of containers that stay.
    free: u32,
    /// All of containers that stay.
    slots: u32,
    /// Jobs that wait already.
    waiting: usize,
    policy: String,
    /// It would start now.
    starts: bool,
}

/// Looks at the session and prints what would become of the job; returns the exit code.
pub(crate) async fn dry_run(
    name: &Name,
    given: Arguments,
    cluster: &Cluster,
) -> Result<u8, Failure> {
    let folder = folder()?;
    let kept = folder.find_session(name)?;
    is_here(&kept, cluster)?;
    let (quiet, json) = (given.reporting.quiet, given.reporting.json);
    let plan = Plan::new(given, cluster)?;
    if !quiet {
        plan.notes.iter().for_each(say);
    }
    let rm = reach::resource_managers(&kept.owned);
    let status = Reached::new(&rm, &folder, &kept)
        .await?
        .status(&kept)
        .await?;
    let outlook = Outlook::new(plan.placement.wanted.processes.get(), &status);
    let text = match json {
        true => Text::Json(serde_json::to_string(&outlook).unwrap_or_default()),
        false => Text::Lines(vec![outlook.words()]),
    };
    print(text).await?;
    Ok(Exit::Success.code())
}

impl Outlook {
    fn new(wanted: u32, status: &Status) -> Self {
        let staying = status.containers.iter();
        let staying = staying.filter(|held| held.leaves.is_empty());
        let (mut free, mut slots) = (0_u32, 0_u32);
        for held in staying {
            free = free.saturating_add(held.slots.saturating_sub(held.lent));
            slots = slots.saturating_add(held.slots);
        }
        let waiting = status.count("waiting");
        Self {
            session: status.name.clone(),
            wanted,
            free,
            slots,
            waiting,
            policy: status.policy.clone(),
            starts: free >= wanted && waiting == 0,
        }
    }

    fn words(&self) -> String {
        let Self {
            session,
            wanted,
            free,
            slots,
            waiting,
            policy,
            starts,
        } = self;
        let becomes = match (starts, wanted > slots, waiting) {
            (true, ..) => "it would start now".to_owned(),
            (_, true, _) => "it would be refused, or wait for further containers".to_owned(),
            (_, _, 0) => "it would wait for slots".to_owned(),
            (_, _, 1) => format!("1 job waits already, and it would wait its turn ({policy})"),
            _ => format!("{waiting} jobs wait already, and it would wait its turn ({policy})"),
        };
        format!(
            "nothing would be asked of YARN: the job wants {wanted} of the {slots} slots of session {session} at \
             once, {free} are free: {becomes}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(wanted: u32, free: u32, slots: u32, waiting: usize) -> String {
        let outlook = Outlook {
            session: "s".into(),
            wanted,
            free,
            slots,
            waiting,
            policy: "fair".into(),
            starts: free >= wanted && waiting == 0,
        };
        outlook.words()
    }

    #[test]
    fn what_would_become_of_a_job_is_said() {
        assert_eq!(
            words(2, 3, 8, 0),
            "nothing would be asked of YARN: the job wants 2 of the 8 slots of session s at once, 3 are free: it \
             would start now"
        );
        assert!(words(4, 3, 8, 0).ends_with("it would wait for slots"));
        assert!(
            words(2, 3, 8, 1).ends_with("1 job waits already, and it would wait its turn (fair)")
        );
        let refused = "it would be refused, or wait for further containers";
        assert!(words(9, 8, 8, 2).ends_with(refused));
    }
}
