//! `--explain` names the process manager that serves the ranks of each program.

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;

use follow::explained::Sink;
use follow::progress::Progress;
use job::explain::{self, Explained};
use staging::{Libpmix, StagedFiles};
use terminal::blocking;
use terminal::signals::Signals;

use crate::plan::ProgramPlan;

/// Writes one event for each program of a staged job; nothing where there is no `sink`.
pub(crate) async fn explain(
    sink: &mut Option<Sink>,
    (plan, staged): (&ProgramPlan, &StagedFiles),
    progress: &mut Progress,
    signals: &mut Signals,
) -> io::Result<ControlFlow<u8>> {
    let Some(sink) = sink else {
        return Ok(ControlFlow::Continue(()));
    };
    let served = ServedPrograms::new(plan, staged);
    let events = match blocking(signals, move || served.explained()).await? {
        ControlFlow::Continue(events) => events,
        ControlFlow::Break(signal) => return Ok(ControlFlow::Break(signal)),
    };
    progress.aside(|| {
        for event in events {
            sink.write(&serde_json::to_string(&event).unwrap_or_default());
        }
    });
    Ok(ControlFlow::Continue(()))
}

/// The programs of a job, each with the libpmix that its ranks are served by.
struct ServedPrograms(Vec<(PathBuf, Option<Libpmix>)>);

impl ServedPrograms {
    /// Of a job that is staged.
    fn new(plan: &ProgramPlan, staged: &StagedFiles) -> Self {
        let programs = plan.executables.iter().zip(&staged.programs);
        let served = programs.map(|(wanted, placed)| (wanted.file.clone(), placed.libpmix.clone()));
        Self(served.collect())
    }

    /// One event a program. Reads the libraries.
    fn explained(self) -> Vec<Explained> {
        let programs = self.0.into_iter();
        let chosen = programs.map(|(program, libpmix)| {
            let manager = if libpmix.is_some() { "pmix" } else { "pmi" };
            Explained::ProcessManager(explain::ChosenManager {
                at_ms: 0,
                program: program.display().to_string(),
                manager: manager.to_owned(),
                libpmix: libpmix.map(|libpmix| explain::Libpmix {
                    path: libpmix.path.display().to_string(),
                    release: libpmix.release(),
                    named: libpmix.named,
                }),
            })
        });
        chosen.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_has_its_own_manager() {
        let library = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&library, "OpenPMIx 5.0.11 (PMIx Standard: 5.0)").unwrap();
        let libpmix = Libpmix {
            path: library.path().to_path_buf(),
            named: true,
        };
        let served = ServedPrograms(vec![
            ("./a".into(), None),
            ("./b".into(), Some(libpmix.clone())),
        ]);
        let managers = served.explained().into_iter().map(|event| match event {
            Explained::ProcessManager(chosen) => chosen,
            other => panic!("{other:?}"),
        });
        let [a, b] = managers.collect::<Vec<_>>().try_into().unwrap();
        assert_eq!((a.program.as_str(), a.manager.as_str()), ("./a", "pmi"));
        assert_eq!(a.libpmix, None);
        assert_eq!((b.program.as_str(), b.manager.as_str()), ("./b", "pmix"));
        let chosen = b.libpmix.unwrap();
        assert_eq!(chosen.release.as_deref(), Some("5.0.11"));
        assert!(chosen.named && chosen.path == libpmix.path.display().to_string());
    }
}
