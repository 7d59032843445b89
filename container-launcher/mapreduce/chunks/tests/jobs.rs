//! SPMario's three jobs on a device, chunk by chunk, against what the processor makes of the same bytes: on a GPU where the
//! machine has one, otherwise on PoCL.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as the tests do")]

#[path = "../examples/jobs/job.rs"]
mod job;
#[path = "../examples/jobs/kmc.rs"]
mod kmc;
#[path = "../examples/jobs/lr.rs"]
mod lr;
#[path = "../examples/jobs/mm.rs"]
mod mm;
#[path = "../examples/jobs/seeds.rs"]
mod seeds;

use std::path::Path;

use read_broker::{Broker, BrokerSettings, IO_TIMEOUT};

use job::{JobRun, named};

const CHUNK: u64 = 64 << 10;
/// Two of a class.
const CENTRES: u64 = 32;

fn broker(folder: &Path) -> Broker {
    let settings = BrokerSettings {
        folder: folder.to_owned(),
        key: "gpu0".to_owned(),
        order: "spmario".to_owned(),
        io_timeout: IO_TIMEOUT,
    };
    Broker::start(settings, |_| (), |_| ()).unwrap()
}

/// How many chunks a job has computed, as the processor does.
#[cfg(test)]
fn play(folder: &Path, broker: &Broker, name: &str, bytes: u64, tasks: u64) -> usize {
    let job = named(name, CENTRES).unwrap();
    let input = job::write(&*job, &folder.join(name), bytes).unwrap();
    let run = JobRun {
        job: &*job,
        input: &input,
        bytes,
        broker: broker.socket(),
        chunk: CHUNK,
        tasks,
        device: "0",
        disk: None,
        checked: true,
    };
    let result = job::run(&run);
    let result = result.unwrap_or_else(|error| {
        panic!(
            "{name}: {error}; these tests need a GPU, or PoCL: apt-get install pocl-opencl-icd ocl-icd-libopencl1"
        )
    });
    result.chunks.len()
}

#[test]
fn jobs_that_run_together_compute_what_the_processor_does() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let broker = broker(folder);
    // The last chunks of two are short, and no whole group's.
    let jobs = [
        ("kmc", 7 * CHUNK + 16 * 1000, 2, 8),
        ("lr", 5 * CHUNK + 8 * 3, 1, 6),
        ("mm", 9 * CHUNK, 3, 9),
    ];
    std::thread::scope(|scope| {
        for (name, bytes, tasks, chunks) in jobs {
            let broker = &broker;
            scope.spawn(move || assert_eq!(play(folder, broker, name, bytes, tasks), chunks));
        }
    });
}

#[test]
fn a_difference_is_found() {
    let job = named("kmc", CENTRES).unwrap();
    let input = job.input(0, CHUNK);
    let wrong = job.check(&mut [Ok(input)].into_iter()).unwrap_err();
    assert!(
        wrong.to_string().starts_with("centre 0 has 0 points"),
        "{wrong}"
    );
}
