//! What a fetch costs: `cargo test --release -p container-launcher --lib -- --ignored --nocapture a_gigabyte`.

use std::io::Write as _;
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

use super::tests::{JOB, bring_onto, keys, output};
use super::{Fetcher, MapOutputs, PIECE, Server};

/// Of each map, bytes.
const OUTPUT: usize = 64 << 20;
const MAPS: u32 = 16;
/// Processor seconds a gigabyte, of both ends.
const TARGET: f64 = 0.9;

fn processor_seconds() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).unwrap();
    let both = usage.user_time() + usage.system_time();
    both.num_microseconds() as f64 / 1e6
}

#[test]
#[ignore = "measures, on a machine that does nothing else"]
fn a_gigabyte_over_tls_on_loopback() {
    let (launcher, _) = keys();
    let kept = MapOutputs::default();
    let server = Server::open(&launcher, kept.clone()).unwrap();
    let part: Vec<u8> = (0..=250_u8).cycle().take(OUTPUT).collect();
    for map in 0..MAPS {
        kept.keep(JOB, map, output(&[b"", &part]));
    }
    let fetcher = Fetcher::new(&launcher).unwrap();
    let maps: Vec<u32> = (0..MAPS).collect();
    let once = || {
        let into = tempfile::tempfile().unwrap();
        let (before, begun) = (processor_seconds(), Instant::now());
        let brought = bring_onto(&fetcher, &server, &maps, &into).unwrap();
        let (processors, took) = (processor_seconds() - before, begun.elapsed());
        let bytes = into.metadata().unwrap().len();
        assert!(brought.len() == maps.len() && bytes >= u64::from(MAPS) * OUTPUT as u64);
        (bytes, processors, took)
    };
    // The kernel has given the memory for it once before.
    once();
    let (bytes, processors, took) = once();
    let gigabytes = bytes as f64 / 1e9;
    let each = processors / gigabytes;
    writeln!(
        std::io::stdout(),
        "{gigabytes:.2} GB in pieces of {} KiB: {each:.2} processor s a GB, both ends (target: at most {TARGET}); \
         {:.0} MB/s",
        PIECE / 1024,
        gigabytes * 1e3 / took.as_secs_f64()
    )
    .unwrap();
}
