//! Headings of --help that more than one file has options under.

pub(super) const WHERE: &str = "Where the job runs";
pub(super) const PROGRAM: &str = "The program";
