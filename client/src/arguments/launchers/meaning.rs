//! What becomes of a word of another launcher.

/// What a word of mpiexec's, mpirun's or srun's is here.
pub(in crate::arguments) enum Meaning {
    /// Our own option of the same name.
    Same,
    /// Our own option of the same name, which means this instead.
    Ours(&'static str),
    /// The same as this long option.
    Is(&'static str),
    /// The same as this option with this value: `--option=value`.
    Means(&'static str),
    /// Understood, but of no effect: so many values follow it, and why it has none.
    NoEffect {
        values: usize,
        because: &'static str,
    },
    /// Not taken, and what to write instead.
    Refused(&'static str),
    /// Hydra's switch for labels, or GERBIL's list of jobs.
    LabelOrList,
    /// GERBIL's option for the program; with one of srun's words behind `=`, what is spoken to its ranks.
    ProgramOrManager,
    /// The rest of the line stands in a file.
    File,
}
