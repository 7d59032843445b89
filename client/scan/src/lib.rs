//! What the stages of a MapReduce program need of their nodes (Pamar's job scan).
//!
//! Level 1 is what somebody declares: a [`Label`] of the job, of its plan, or in the section `gerbil_needs` of its
//! executable. It ends the search for that stage, `cpu` included. Level 2 looks at the files without running them:
//!
//! | file | evidence |
//! |---|---|
//! | ELF ([`elf`]) | sections of device code, needed libraries and undefined symbols: sure; strings: likely |
//! | Python ([`python`]) | imports: likely |
//! | script ([`script`]) | its interpreter's language, and shipped files that it names |
//! | jar ([`jar`]) | classes of libraries that its classes name: likely |
//!
//! Libraries and scripts that are shipped with the program are followed ([`walk`]), and libraries where the loader finds
//! them: by the program's own folders (`RUNPATH`), and by `LD_LIBRARY_PATH`. A static `nvcc` program needs no
//! library of CUDA's: it is known by its sections. Nothing that is found names a stage: it holds for all that declare
//! nothing.
//!
//! # Bounds
//!
//! A scan takes at most [`TIME`](walk::TIME) and some 64 MiB, whatever the file: one that is damaged, endless or too
//! large is evidence of nothing, and it is said why.

pub mod bounded;
pub mod elf;
pub mod finding;
pub mod jar;
pub mod label;
pub mod python;
pub mod script;
pub mod strings;
pub mod tables;
pub mod walk;

pub use finding::{Confidence, Finding, ProgramStage};
pub use label::{BadLabel, Declared, Label};
pub use tables::Element;
pub use walk::{Detected, ScanRequest, detect};

/// What `stages` need: as somebody declares it, the first of a stage before others, else as was found.
#[must_use]
pub fn findings(
    stages: &[ProgramStage],
    declared: &[Declared],
    detected: &Detected,
) -> Vec<Finding> {
    let of = |stage: &ProgramStage| match declared.iter().find(|declared| declared.stage == *stage)
    {
        Some(declared) => Finding::declared(declared),
        None => detected.finding(*stage),
    };
    stages.iter().map(of).collect()
}
