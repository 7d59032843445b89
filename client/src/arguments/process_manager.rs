//! By what the processes of a job find each other.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use staging::ProcessManager;

use super::headings::PROGRAM;
use crate::usage::UsageError;

/// What is spoken to processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Spoken {
    /// What the program's MPI library wants
    Auto,
    /// PMI, as MPICH and Intel MPI want it
    Pmi,
    /// PMIx, as Open MPI wants it
    Pmix,
}

/// Which process manager serves the processes.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ManagerArguments {
    /// By what processes find each other: pmix for Open MPI, pmi for MPICH and its kin [default: auto, by the MPI library
    /// that the program, or its environment of Python, has]
    #[arg(long, value_name = "auto|pmi|pmix", value_enum, hide_possible_values = true, help_heading = PROGRAM)]
    pub pm: Option<Spoken>,

    /// The libpmix.so.2 that PMIx is spoken by, for a program whose own is not found, such as a script; it goes along to
    /// the nodes [default, with --pm pmix: that of LD_LIBRARY_PATH or the system]
    #[arg(long, value_name = "LIBPMIX", help_heading = PROGRAM)]
    pub pmix: Option<PathBuf>,
}

impl ManagerArguments {
    /// What was asked for.
    ///
    /// # Errors
    ///
    /// A library for what is not spoken, or one that is not there.
    pub(crate) fn chosen(&self) -> Result<ProcessManager, UsageError> {
        match (&self.pmix, self.pm) {
            (Some(_), Some(Spoken::Pmi)) => Err(UsageError::PmixForPmi),
            (Some(path), Some(Spoken::Auto | Spoken::Pmix) | None) => match path.canonicalize() {
                Ok(path) => Ok(ProcessManager::Pmix {
                    library: Some(path),
                }),
                Err(source) => Err(UsageError::Pmix {
                    path: path.clone(),
                    source,
                }),
            },
            (None, Some(Spoken::Pmix)) => Ok(ProcessManager::Pmix { library: None }),
            (None, Some(Spoken::Pmi)) => Ok(ProcessManager::Pmi),
            (None, Some(Spoken::Auto) | None) => Ok(ProcessManager::Auto),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_libpmix_is_there_and_is_for_pmix() {
        let of = |pm, path: Option<&str>| {
            let pmix = path.map(PathBuf::from);
            ManagerArguments { pm, pmix }.chosen()
        };
        assert_eq!(of(None, None).unwrap(), ProcessManager::Auto);
        assert_eq!(of(Some(Spoken::Pmi), None).unwrap(), ProcessManager::Pmi);
        let own = ProcessManager::Pmix { library: None };
        assert_eq!(of(Some(Spoken::Pmix), None).unwrap(), own);
        let there = tempfile::NamedTempFile::new().unwrap();
        let path = there.path().canonicalize().unwrap();
        let named = ProcessManager::Pmix {
            library: Some(path.clone()),
        };
        assert_eq!(of(None, path.to_str()).unwrap(), named);
        let refused = |pm, path| of(pm, path).unwrap_err().to_string();
        assert!(refused(Some(Spoken::Pmi), path.to_str()).contains("--pm pmi"));
        assert!(refused(None, Some("/nonexistent/l")).contains("/nonexistent/l"));
    }
}
