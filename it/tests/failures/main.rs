//! How it fails, on a real cluster: in each case one clear sentence, a true exit code, and nothing left.
//! What happens to a job from outside is `chaos`.

mod elsewhere;
mod ends;
mod given;
mod hdfs;
mod killed;
mod leftovers;
mod output;
mod program;
mod refused;

use std::process::ExitCode;
use std::sync::Arc;

use it::{Cluster, SharedCluster, Version};
use libtest_mimic::{Arguments, Failed, Trial};

use given::{Case, DEADLINE, Given};

/// In this order: the last ones hurt the cluster, and after the very last one a node is gone.
const CASES: [&[(&str, Case)]; 8] = [
    program::CASES,
    ends::CASES,
    refused::CASES,
    elsewhere::CASES,
    output::CASES,
    leftovers::CASES,
    hdfs::CASES,
    killed::CASES,
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // The cases share the cluster, and each looks whether anything is left on it.
    arguments.test_threads = Some(1);
    let shared = Arc::new(SharedCluster::new(Cluster::builder().nodes(2)));
    let Ok(folder) = tempfile::tempdir() else {
        return ExitCode::FAILURE;
    };
    let mut trials = Vec::new();
    for (name, case) in CASES.concat() {
        let (shared, programs) = (Arc::clone(&shared), folder.path().to_owned());
        trials.push(Trial::test(name, move || {
            let cluster = shared.cluster(Version::V3_4_2).map_err(failed)?;
            run(&Given { cluster, programs }, case)
        }));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    match shared.end() {
        Ok(()) => conclusion.exit_code(),
        Err(_) => ExitCode::FAILURE,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err takes")]
fn failed(error: anyhow::Error) -> Failed {
    format!("{error:?}").into()
}

fn run(given: &Given, case: Case) -> Result<(), Failed> {
    let answer = case(given).map_err(|error| format!("{error:?}\n{}", given.cluster.log_tails()));
    if answer.is_err() {
        // The next case starts clean: what this one left has been reported.
        drop(it::sweep::kill_all(
            &given.cluster.folder().join("nodes"),
            DEADLINE,
        ));
        for path in given.cluster.hdfs().staged("jobs").into_iter().flatten() {
            drop(given.cluster.hdfs().remove(&path));
        }
    }
    answer.map_err(Failed::from)
}
