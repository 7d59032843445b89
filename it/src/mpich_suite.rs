//! MPICH's own test suite, run with MPICH's own launcher and with ours, and compared test by test.
//!
//! # The life of one comparison
//!
//! [`Suite::prepare`] brings MPICH's source package with apt, which checks its signature, builds the
//! library from it, installs it into the cache, and configures the suite against it; all of that once.
//! [`lists::read`] reads the test lists as the suite's own `runtests` does, and [`lists::pieces`] cuts
//! them into pieces that may run side by side. [`run::piece`] runs a piece through `runtests` with one
//! [`Mpiexec`] and reads what became of each test from the JUnit file. [`compare`] pairs the two, and
//! [`report`] writes it down.
//!
//! # Invariants
//!
//! - No list is thinned: what is run is all that the suite's `make testing` runs for a library without
//!   Fortran, and tests marked as expected to fail too. A listed test that `runtests` says nothing of
//!   is an error.
//! - Both launchers run the same executables, on the same number of nodes, with the same limits of
//!   time.
//! - A test that passes with one launcher alone is run again by itself, several times with each, so
//!   that what a busy machine does is told apart from what a launcher does. All tries are reported.
//!
//! # Caveats
//!
//! The nodes are one machine, which is its own shared file system: tests of MPI-IO and those that start
//! further programs by a relative name need one. The library talks over TCP, also within a node, so
//! that ranks which wait give their core to others.

pub mod compare;
pub mod lists;
pub mod report;
pub mod run;
mod source;
mod suite;

pub use compare::Comparison;
pub use run::Mpiexec;
pub use suite::{DEVICE, Suite};
