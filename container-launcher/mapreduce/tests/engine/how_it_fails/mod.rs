//! How a job fails, as one table: each row is a run of a program with `--local`. Whatever goes wrong, the exit code is
//! true, one sentence says what it was, no output is taken for whole, the folder for spills is empty, and no
//! process is left. What speaks another version of the task protocol is refused in `protocol.rs`: an executable with
//! `--local` speaks with itself.

mod files;
mod mappers;
mod sizes;
mod trial;

use trial::{hold, mounting};

use crate::program::Bed;

/// Where a row's program runs.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Surroundings {
    Here,
    /// As a user who may not read everything, if this one may.
    AsNobody,
    /// With a disk of 512 KiB for spills, or for output.
    SmallSpills,
    SmallOutput,
    /// With the environment variable of the example `faulty` that makes a role register other jobs.
    Odd(&'static str),
}

/// One row.
#[cfg(test)]
pub(super) struct FailureRow {
    /// What goes wrong.
    what: &'static str,
    /// The example that is run.
    program: &'static str,
    /// Makes the input, called `in`, or another.
    input: fn(&Bed),
    name: &'static str,
    /// Beside `--local --quiet`.
    options: &'static [&'static str],
    place: Surroundings,
    code: i32,
    /// The sentence, with `*` for what nobody can know, and `{}` for the test's folder.
    says: &'static str,
    /// What all parts of the output hold; none: there is no output.
    leaves: Option<&'static str>,
}

#[cfg(test)]
const ROW: FailureRow = FailureRow {
    what: "",
    program: "faulty",
    input: |_| {},
    name: "in",
    options: &[],
    place: Surroundings::Here,
    code: 1,
    says: "",
    leaves: None,
};

#[cfg(test)]
const fn row(what: &'static str, input: fn(&Bed), says: &'static str) -> FailureRow {
    FailureRow {
        what,
        input,
        says,
        ..ROW
    }
}

/// A job that succeeds in spite of it.
#[cfg(test)]
const fn harmless(what: &'static str, input: fn(&Bed), leaves: &'static str) -> FailureRow {
    FailureRow {
        what,
        input,
        code: 0,
        leaves: Some(leaves),
        ..ROW
    }
}

/// Roles that do not fit.
#[cfg(test)]
const ROLES: &[FailureRow] = &[
    FailureRow {
        place: Surroundings::Odd("task"),
        ..row(
            "a task process registers other jobs",
            |bed| bed.write("in", "x\n"),
            "a task process: registers other jobs than this process did: registration must not depend on files, time \
             or environment",
        )
    },
    FailureRow {
        place: Surroundings::Odd("drive"),
        ..row(
            "the driver registers other jobs",
            |bed| bed.write("in", "x\n"),
            "the driver registers other jobs than this process did: registration must not depend on files, time or \
             environment",
        )
    },
];

#[test]
fn mappers_that_do_what_they_must_not() {
    hold(mappers::MAPPERS);
}

#[test]
fn files_that_are_broken_changed_missing_or_in_the_way() {
    hold(files::FILES);
}

#[test]
fn disks_that_are_full() {
    let bed = Bed::new();
    let tried = mounting()
        .args(["mount", "-t", "tmpfs", "none", &bed.at("")])
        .output()
        .unwrap();
    assert!(
        tried.status.success(),
        "no disk can be mounted here ({}): run this as root, or let users have namespaces (sysctl \
         user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)",
        String::from_utf8_lossy(&tried.stderr).trim()
    );
    hold(files::DISKS);
}

#[test]
fn jobs_of_odd_sizes() {
    hold(sizes::SIZES);
}

#[test]
fn roles_that_do_not_fit() {
    hold(ROLES);
}
