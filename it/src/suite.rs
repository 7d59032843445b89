//! Named cases on real clusters, one cluster after the other: the `main` of a test that brings its own.

use std::io::{Write as _, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};

use crate::bed::{self, Case, Given};
use crate::slice::Slice;
use crate::{Builder, SharedCluster, Version};

/// Cases whose times are shown.
const LONGEST: usize = 10;

/// A cluster and what is tried on it.
#[derive(Debug)]
pub struct Group {
    shared: SharedCluster,
    version: Version,
    cases: Vec<(String, Case)>,
    /// Cases of other [slices](crate::slice).
    left_out: usize,
}

impl Group {
    /// `cases`, on the cluster that `builder` makes, of Hadoop 3.4.2, with short heartbeats.
    #[must_use]
    pub fn new(builder: Builder, cases: &[&[(&str, Case)]]) -> Self {
        let named = cases.iter().copied().flatten();
        Self {
            shared: SharedCluster::new(builder.quick()),
            version: Version::V3_4_2,
            cases: named
                .map(|(name, case)| ((*name).to_owned(), *case))
                .collect(),
            left_out: 0,
        }
    }

    /// The same on another release, which the names of the cases then begin with.
    #[must_use]
    pub fn on(mut self, version: Version) -> Self {
        self.version = version;
        for (name, _) in &mut self.cases {
            *name = format!("{version}: {name}");
        }
        self
    }

    /// The same, which leaves so many cases to other [slices](crate::slice).
    #[must_use]
    pub fn without(mut self, cases: usize) -> Self {
        self.left_out += cases;
        self
    }
}

/// Runs what the command line selects of all cases. Clusters are started when first
/// needed, at most one is up at a time, and none is left.
#[must_use]
pub fn run(groups: Vec<Group>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    let slice = match Slice::from_environment() {
        Ok(slice) => slice,
        Err(error) => {
            let _written = writeln!(stderr(), "{error:#}");
            return ExitCode::FAILURE;
        }
    };
    // The cases share clusters, and each looks whether anything is left on it.
    arguments.test_threads = Some(1);
    let Ok(folder) = bed::folder() else {
        return ExitCode::FAILURE;
    };
    let groups = Arc::new(groups);
    let times = Arc::new(Mutex::new(Vec::new()));
    let mut trials = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        for (name, case) in &group.cases {
            let (groups, folder, case) = (Arc::clone(&groups), folder.path().to_owned(), *case);
            let (times, named) = (Arc::clone(&times), name.clone());
            trials.push(Trial::test(name, move || {
                let began = Instant::now();
                let tried = run_one(&groups, number, &folder, case);
                let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
                times.push((began.elapsed(), named));
                tried
            }));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
    let mut said = longest(&mut times);
    let left_out: usize = groups.iter().map(|group| group.left_out).sum();
    if let Some(slice) = slice.filter(|_| left_out > 0) {
        // it/suites.awk counts them.
        said += &format!("left out: {left_out} cases that are not of slice {slice}\n");
    }
    // Whoever reads it may have closed the pipe.
    let _written = stdout().write_all(said.as_bytes());
    match groups.iter().try_for_each(|group| group.shared.end()) {
        Ok(()) => conclusion.exit_code(),
        Err(_) => ExitCode::FAILURE,
    }
}

/// What took longest, a line each, with what its cluster took to start where it was the first on it.
fn longest(times: &mut [(Duration, String)]) -> String {
    times.sort_by(|one, other| other.cmp(one));
    let shown = times.iter().take(LONGEST);
    let shown = shown.map(|(time, name)| format!("{:>6.1} s  {name}\n", time.as_secs_f64()));
    shown.collect()
}

fn run_one(groups: &[Group], number: usize, folder: &Path, case: Case) -> Result<(), Failed> {
    let tried = || {
        // At most one cluster holds memory.
        for (other, group) in groups.iter().enumerate() {
            if other != number {
                group.shared.end()?;
            }
        }
        let Group {
            shared, version, ..
        } = &groups[number];
        let given = Given {
            cluster: shared.cluster(*version)?,
            folder: folder.to_owned(),
        };
        given.run(case)
    };
    tried().map_err(|error: anyhow::Error| format!("{error:?}").into())
}
