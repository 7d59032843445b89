//! What of one job can still be seen on this machine.

use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::Cluster;
use crate::resource_manager::ApplicationReport;
use crate::sweep::FoundProcess;

/// Where programs put what they share with others of the machine.
const SHARED: [&str; 2] = ["/dev/shm", "/tmp"];

/// What MPICH's segments of shared memory are for, and the first of their names.
const SEGMENTS: [&str; 2] = ["mpich_shm", "mpich_vci"];
/// Attempts of a job, and runs in each, whose segments are looked for.
const RUNS: u32 = 4;

/// Everything that is left of `job`: processes, files in the users' staging folders, shared memory,
/// temporary files.
///
/// # Errors
///
/// It cannot be looked at.
pub fn of(cluster: &Cluster, job: &str) -> Result<Vec<String>> {
    let left = cluster.leftovers()?;
    let mut all: Vec<String> = of_job(left.processes, job)
        .iter()
        .map(|found| format!("process {}: {}", found.pid, found.arguments.join(" ")))
        .collect();
    let staged = left.staged.into_iter();
    all.extend(staged.filter(|path| path.contains(mark(job))));
    for attempt in 1..=RUNS {
        all.extend(shared(job, &format!("_{attempt:06}"))?);
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// What is left of the shared memory and the temporary files of `job`; of MPICH's segments, those of the
/// attempt, or of the job of a session, whose name goes on like this: `_000001`, `_000001_7`.
///
/// # Errors
///
/// It cannot be looked at.
pub fn shared(job: &str, of: &str) -> Result<Vec<String>> {
    let mark = mark(job);
    let segments = segments(&format!("kvs_appattempt_{mark}{of}"));
    let mut all = Vec::new();
    for folder in SHARED {
        all.extend(named(Path::new(folder), |name| {
            name.contains(mark) || segments.iter().any(|start| name.starts_with(start))
        })?);
    }
    Ok(all)
}

/// Those of `all` that belong to a container of `job`, or hide whose they are.
#[must_use]
pub fn of_job(all: Vec<FoundProcess>, job: &str) -> Vec<FoundProcess> {
    let mark = mark(job);
    let mut own = all;
    own.retain(|found| match &found.container {
        // container_1700000000000_0001_01_000001, or with an epoch before the time.
        Some(container) => container.contains(&format!("_{mark}_")),
        None => {
            let shown = found.arguments.join(" ");
            !shown.contains("application_") || shown.contains(job)
        }
    });
    own
}

/// `1700000000000_0001` of `application_1700000000000_0001` stands in the names of attempts, containers,
/// key-value spaces and what MPI libraries derive from those.
fn mark(job: &str) -> &str {
    job.trim_start_matches("application_")
}

/// How the names of the segments begin that MPICH makes for a key-value space and its further runs: with the
/// 32-bit FNV-1a of the space's name.
fn segments(first: &str) -> Vec<String> {
    let mut all = Vec::new();
    for run in 1..=RUNS {
        let space = match run {
            1 => first.to_owned(),
            run => format!("{first}_run_{run}"),
        };
        let hash = space.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        all.extend(SEGMENTS.map(|kind| format!("{kind}_{hash:x}_")));
    }
    all
}

/// The entries of `folder` with such names.
fn named(folder: &Path, is_such: impl Fn(&str) -> bool) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if is_such(&entry.file_name().to_string_lossy()) {
            found.push(entry.path().display().to_string());
        }
    }
    Ok(found)
}

/// Why the ResourceManager does not count a job as over.
///
/// # Errors
///
/// It does not answer.
pub fn recorded(cluster: &Cluster, job: &str) -> Result<Vec<String>> {
    let all = cluster.resource_manager().applications()?.into_iter();
    let lasting = all.filter(|report: &ApplicationReport| report.id == job && !report.is_over());
    Ok(lasting
        .map(|report| format!("{} is {}", report.id, report.state))
        .collect())
}

/// The containers that the ResourceManager still counts, whosoever they are.
///
/// # Errors
///
/// It does not answer.
pub fn containers(cluster: &Cluster) -> Result<Vec<String>> {
    let all = cluster.resource_manager().nodes()?.into_iter();
    let busy = all.filter(|node| node.state == "RUNNING" && node.num_containers > 0);
    Ok(busy
        .map(|node| format!("{} containers on {}", node.num_containers, node.id))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_belong_to_the_job_that_their_container_names() {
        let found = |container: Option<&str>, argument: &str| FoundProcess {
            pid: 1,
            container: container.map(str::to_owned),
            arguments: vec![argument.to_owned()],
        };
        let job = "application_1700000000000_0001";
        let all = vec![
            found(Some("container_1700000000000_0001_01_000002"), "own"),
            found(Some("container_e02_1700000000000_0001_01_000002"), "own"),
            found(Some("container_1700000000000_0002_01_000002"), "other"),
            found(None, "/nodes/application_1700000000000_0001/own"),
            found(None, "/nodes/application_1700000000000_0002/other"),
            found(None, "own for all that is known"),
        ];
        let own = of_job(all, job);
        assert_eq!(own.len(), 4);
        assert!(own.iter().all(|found| found.arguments[0].contains("own")));
    }

    #[test]
    fn segments_are_named_as_mpich_names_them() {
        let all = segments("kvs_appattempt_1700000000000_0001_000001");
        assert_eq!(all.len(), 8);
        // By another implementation.
        assert_eq!(all[0], "mpich_shm_aa530b9_");
    }
}
