//! What the user is told of parameters that only Open MPI reads.

use std::path::Path;

use staging::{PlacedProgram, StagedFiles, mpi};

use crate::plan::ProgramPlan;

/// One sentence where a program that was given such parameters is not known to be Open MPI's.
pub(crate) fn remark(plan: &ProgramPlan, staged: &StagedFiles) -> Option<String> {
    let programs = plan.executables.iter().zip(&staged.programs);
    let mut told = programs.filter_map(|(wanted, placed)| {
        let option = wanted.told_open_mpi?;
        sentence(option, &wanted.file, placed)
    });
    told.next()
}

fn sentence(option: &str, file: &Path, placed: &PlacedProgram) -> Option<String> {
    if placed.pmix_library.is_some() {
        return None;
    }
    let file = file.display();
    let library = placed.mpi_library.as_deref();
    match library.and_then(|library| mpi::of([library])) {
        Some(known) if known.is_open_mpi => None,
        Some(other) => Some(format!(
            "{option} sets variables that Open MPI reads; {file} is linked to {}, which does not",
            other.library
        )),
        None => Some(format!(
            "{option} sets variables that Open MPI reads; {file} is not known to be a program of Open MPI"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_another_library_is_named() {
        let told = |library: Option<&str>, pmix: Option<&str>| {
            let placed = PlacedProgram {
                mpi_library: library.map(Into::into),
                pmix_library: pmix.map(Into::into),
                ..PlacedProgram::default()
            };
            sentence("-mca", Path::new("./p"), &placed)
        };
        let mpich = told(Some("libmpich.so.12"), None).unwrap();
        assert!(
            mpich.contains("-mca") && mpich.contains("libmpich.so.12"),
            "{mpich}"
        );
        let script = told(None, None).unwrap();
        assert!(script.contains("./p is not known"), "{script}");
        // A single process needs no server.
        assert_eq!(told(Some("libmpi.so.40"), None), None);
        assert_eq!(told(None, Some("/l/libpmix.so.2")), None);
    }
}
