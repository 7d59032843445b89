//! Whether the nodes run their own files in place of the copies that were brought.
//!
//! Before the ranks of a run are handed out every launcher says what its node has at the program's path. Where all
//! have the very file, it runs where it lies; where one has not, the copy runs on all, and that node is named. Of a
//! file that the user did not ask for and that no node has, nothing is said: it is not installed, and the copy is
//! what was meant.

use std::collections::BTreeMap;

use job::wire::file_compared::Is;
use job::wire::mpi_order::Order as ToLauncher;
use job::{InPlace, MpiProgram, wire};
use policy::lifecycle::{Cause, LifecycleAction, LifecycleEvent, Seat, Verdict};
use policy::{ContainerId, End, Millis, Rank};

use crate::mpi::Mpi;

/// Who has not answered by then is taken for a node that does not have the files; launchers give up earlier.
const PATIENCE: Millis = Millis(30_000);
/// Nodes that a sentence names.
const NAMED: usize = 3;

/// A run whose ranks are to be handed out when its launchers have answered.
#[derive(Debug)]
pub(crate) struct Comparing {
    seats: Vec<Seat>,
    run: u32,
    answers: BTreeMap<ContainerId, Vec<ComparedProgram>>,
    until: Millis,
}

/// What a node has at a program's path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ComparedProgram {
    Same,
    Absent,
    /// Another file: which one, a part of a sentence.
    Other(String),
    /// A file that cannot run where it lies, or of which that is not known: why, a part of a sentence.
    Unusable(String),
}

impl From<wire::FileCompared> for ComparedProgram {
    fn from(compared: wire::FileCompared) -> Self {
        match compared.is() {
            Is::Same => Self::Same,
            Is::Absent => Self::Absent,
            Is::Other => Self::Other(compared.found),
            Is::Unusable => Self::Unusable(compared.found),
        }
    }
}

/// Whether the nodes' own file runs, and what the user is told.
#[derive(Debug, PartialEq, Eq)]
struct Decision {
    in_place: bool,
    remark: Option<String>,
}

/// For one program: `found` is what each node has, by its host.
fn decide(program: &MpiProgram, wish: &InPlace, found: &[(&str, ComparedProgram)]) -> Decision {
    let unlike: Vec<&(&str, ComparedProgram)> = (found.iter())
        .filter(|(_, found)| *found != ComparedProgram::Same)
        .collect();
    let is_nowhere = found
        .iter()
        .all(|(_, found)| *found == ComparedProgram::Absent);
    let Some((_, first)) = unlike.first() else {
        return Decision {
            in_place: !found.is_empty(),
            remark: None,
        };
    };
    let says_so = wish.asked || !is_nowhere;
    let remark = says_so.then(|| {
        let alike = unlike.iter().filter(|(_, of)| kind(of) == kind(first));
        let mut hosts: Vec<&str> = alike.map(|(host, _)| *host).collect();
        hosts.dedup();
        let (verb, path) = (if hosts.len() == 1 { "has" } else { "have" }, &wish.path);
        let hosts = names(&hosts);
        let what = match first {
            ComparedProgram::Other(what) => format!("{hosts} {verb} another {path} ({what})"),
            ComparedProgram::Unusable(what) => format!("{hosts} cannot run {path} where it lies ({what})"),
            ComparedProgram::Absent | ComparedProgram::Same => format!("{hosts} {verb} no {path}"),
        };
        let beside = match program.tree {
            Some(_) => "; what it looks for beside itself is not with the copy: --archives brings a whole tree",
            None => "",
        };
        format!("{what}, so a copy of the one here runs on all nodes{beside}")
    });
    Decision {
        in_place: false,
        remark,
    }
}

/// What is said of several nodes in one sentence.
fn kind(found: &ComparedProgram) -> std::mem::Discriminant<ComparedProgram> {
    std::mem::discriminant(found)
}

fn names(hosts: &[&str]) -> String {
    let named: Vec<&str> = hosts.iter().take(NAMED).copied().collect();
    match hosts.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

impl Mpi {
    /// Hands the ranks out, once it is known which files they run.
    pub(crate) fn begin_when_compared(&mut self, seats: Vec<Seat>) -> Vec<LifecycleAction> {
        let wishes = self.description.programs.iter();
        let files = wishes.filter_map(|program| {
            Some(wire::ComparedFile {
                path: program.in_place.as_ref()?.path.clone(),
                digest: program.digest.clone(),
            })
        });
        let files: Vec<wire::ComparedFile> = files.collect();
        if files.is_empty() {
            return self.begin_ranks(seats);
        }
        let run = self.job.run_number();
        for seat in &seats {
            let order = wire::CompareFiles {
                run,
                files: files.clone(),
            };
            self.order(&seat.container, ToLauncher::Compare(order));
        }
        self.comparing = Some(Comparing {
            seats,
            run,
            answers: BTreeMap::new(),
            until: self.now.plus(PATIENCE),
        });
        Vec::new()
    }

    /// When the answers that are still to come are not waited for any longer.
    pub(crate) fn compared_by(&self) -> Option<Millis> {
        self.comparing.as_ref().map(|comparing| comparing.until)
    }

    /// A launcher has looked at the files of its node.
    pub(crate) fn compared(
        &mut self,
        container: ContainerId,
        answer: wire::FilesCompared,
    ) -> Vec<LifecycleAction> {
        let Some(comparing) = &mut self.comparing else {
            return Vec::new();
        };
        let is_one = comparing
            .seats
            .iter()
            .any(|seat| seat.container == container);
        if answer.run == comparing.run && is_one {
            let found = answer
                .files
                .into_iter()
                .map(ComparedProgram::from)
                .collect();
            comparing.answers.insert(container, found);
        }
        match comparing.answers.len() < comparing.seats.len() {
            true => Vec::new(),
            false => self.begin_compared(),
        }
    }

    /// What is known now counts.
    pub(crate) fn begin_compared(&mut self) -> Vec<LifecycleAction> {
        let Some(comparing) = self.comparing.take() else {
            return Vec::new();
        };
        let Comparing { seats, answers, .. } = comparing;
        let silent =
            ComparedProgram::Unusable(format!("no word of it within {} s", PATIENCE.0 / 1000));
        let mut place = 0;
        for program in &mut self.description.programs {
            let Some(wish) = program.in_place.clone() else {
                continue;
            };
            let found: Vec<(&str, ComparedProgram)> = (seats.iter())
                .map(|seat| {
                    let answer = answers.get(&seat.container);
                    let found = answer.and_then(|all| all.get(place)).unwrap_or(&silent);
                    (seat.host.as_str(), found.clone())
                })
                .collect();
            place = place.saturating_add(1);
            let decision = decide(program, &wish, &found);
            program.own_path = decision.in_place.then_some(wish.path);
            if let Some(remark) = decision.remark {
                tracing::warn!("{remark}");
                self.story.outbox.notice(remark);
            }
        }
        self.begin_ranks(seats)
    }

    /// The job ends before its ranks were handed out: none of them will be heard of.
    pub(crate) fn end_comparing(&mut self) -> Vec<LifecycleAction> {
        let Some(comparing) = self.comparing.take() else {
            return Vec::new();
        };
        let mut actions = Vec::new();
        for seat in comparing.seats {
            actions.extend(self.step(LifecycleEvent::Refused {
                container: seat.container,
                sentence: "the job ended before its ranks had started".into(),
                code: job::exit::Exit::Killed.code(),
            }));
        }
        actions
    }
}

impl Mpi {
    /// What a program that has failed may have missed, as the end of its sentence.
    pub(crate) fn missed(&self, verdict: &Verdict) -> String {
        match &verdict.cause {
            Some(Cause::RankFailed {
                rank,
                end: End::Code(_),
                ..
            }) if rank.spawned.is_none() => missed(&self.description.programs, rank.number),
            _ => String::new(),
        }
    }
}

/// Of the program of that rank.
fn missed(programs: &[MpiProgram], rank: Rank) -> String {
    let mut end = 0u32;
    let program = programs.iter().find(|program| {
        end = end.saturating_add(program.processes);
        rank.0 < end
    });
    let Some(program) = program.filter(|program| program.own_path.is_none()) else {
        return String::new();
    };
    let own = match program.in_place {
        // It was looked for.
        Some(_) => "every node must have the same,",
        None => "--in-place runs the nodes' own program,",
    };
    program.tree.as_ref().map_or_else(String::new, |tree| {
        format!(
            "; it ran as a copy, without the rest of {tree}: if it looks for files there, {own} or --archives brings the \
             whole tree"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nodes_own_file_runs_where_all_have_it_and_else_a_copy() {
        let other = || ComparedProgram::Other("its SHA-256 is 12".into());
        let unusable = || ComparedProgram::Unusable("it is not executable".into());
        let same = || ComparedProgram::Same;
        let none = || ComparedProgram::Absent;
        let another = "n1 has another /opt/p (its SHA-256 is 12), so a copy";
        for (asked, found, in_place, said) in [
            (true, vec![same(), same()], true, None),
            (false, vec![same(), same()], true, None),
            (true, vec![same(), other()], false, Some(another)),
            (false, vec![same(), other()], false, Some(another)),
            (
                false,
                vec![same(), none()],
                false,
                Some("n1 has no /opt/p, so a copy"),
            ),
            (false, vec![none(), none()], false, None),
            (
                true,
                vec![none(), none()],
                false,
                Some("n0, n1 have no /opt/p, so a copy"),
            ),
            (
                false,
                vec![other(), none()],
                false,
                Some("n0 has another /opt/p ("),
            ),
            // Each kind of a difference has its own nodes.
            (
                false,
                vec![unusable(), other(), unusable()],
                false,
                Some("n0, n2 cannot run /opt/p where it lies (it is not executable), so a copy"),
            ),
            (true, vec![], false, None),
            (
                false,
                vec![same(), none(), none(), none(), none(), none()],
                false,
                Some("n1, n2, n3 and 2 more have no /opt/p, so"),
            ),
        ] {
            let hosts: Vec<String> = (0..found.len()).map(|host| format!("n{host}")).collect();
            let found: Vec<(&str, ComparedProgram)> =
                hosts.iter().map(String::as_str).zip(found).collect();
            let wish = InPlace {
                path: "/opt/p".into(),
                asked,
            };
            let mut program = MpiProgram::default();
            let decision = decide(&program, &wish, &found);
            assert_eq!(decision.in_place, in_place, "{found:?}");
            match (said, &decision.remark) {
                (None, None) => {}
                (Some(said), Some(remark)) => assert!(remark.starts_with(said), "{remark}"),
                (said, remark) => panic!("{said:?}: {remark:?}"),
            }
            program.tree = Some("/opt".into());
            let remark = decide(&program, &wish, &found).remark.unwrap_or_default();
            assert_eq!(remark.contains("--archives"), said.is_some(), "{remark}");
        }
    }

    #[test]
    fn a_program_that_failed_without_its_tree_is_told_how_to_bring_it() {
        let program = |processes, tree: Option<&str>, own_path: Option<&str>| MpiProgram {
            processes,
            tree: tree.map(str::to_owned),
            own_path: own_path.map(str::to_owned),
            ..MpiProgram::default()
        };
        let programs = [
            program(2, None, None),
            program(1, Some("/home/a/t"), None),
            program(1, Some("/opt/t"), Some("/opt/t/bin/p")),
        ];
        for (rank, wanted) in [
            (0, ""),
            (1, ""),
            (2, "without the rest of /home/a/t: "),
            (3, ""),
            (4, ""),
        ] {
            let said = missed(&programs, Rank(rank));
            assert_eq!(said.is_empty(), wanted.is_empty(), "{said}");
            assert!(said.contains(wanted), "{said}");
        }
    }
}
