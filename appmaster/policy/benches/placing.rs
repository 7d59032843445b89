//! How long it takes to place 100,000 processes on 10,000 nodes, in every mode, with the reasons of
//! each node; it fails when a placement takes longer than 50 ms.
//!
//! `cargo bench -p policy` prints the least and the median of the rounds. A harness of its own: one
//! number a mode needs no statistics, and nothing else has to be built.

#![expect(
    clippy::disallowed_types,
    reason = "the measuring needs a clock, the measured does not"
)]

use std::io::Write;
use std::num::NonZeroU32;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use policy::allocate::{place, reasons};
use policy::{
    Circumstances, ClusterView, Counted, Demand, ListedHost, MiB, Mode, NodeId, NodeView,
    Resources, choose,
};

const NODES: u32 = 10_000;
const PROCESSES: u32 = 100_000;
const ROUNDS: usize = 15;
/// The placing must not be felt beside one heartbeat, 1000 ms.
const LIMIT: Duration = Duration::from_millis(50);

/// Nodes of 64 GiB on 250 racks, from empty to full, in no order.
fn cluster(counted: Counted) -> ClusterView {
    let node = |index: u32| {
        let used = index.wrapping_mul(2_654_435_761) % 64;
        NodeView {
            id: NodeId(format!("node{index:05}.example:45454")),
            host: format!("node{index:05}.example"),
            rack: format!("/rack{:03}", index % 250),
            capability: Resources::new(65_536, 64),
            used: Resources::new(u64::from(used) * 1024, used),
            ..NodeView::default()
        }
    };
    ClusterView {
        nodes: (0..NODES).rev().map(node).collect(),
        maximum: Resources::new(65_536, 64),
        step: MiB(1024),
        counted,
        ..ClusterView::default()
    }
}

/// Every node listed, with 8 to 12 processes each.
fn demand(mode: Mode) -> Option<Demand> {
    let processes = NonZeroU32::new(PROCESSES)?;
    let listed = (0..NODES).map(|index| ListedHost {
        host: Some(format!("node{index:05}.example")),
        processes: 8 + index % 5,
    });
    Some(Demand {
        mode,
        listed: match mode {
            Mode::All => Vec::new(),
            _ => listed.collect(),
        },
        ..Demand::anywhere(processes, Resources::new(1024, 1))
    })
}

/// The least and the median of the rounds.
fn measure(mut work: impl FnMut() -> bool) -> Option<(Duration, Duration)> {
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        if !work() {
            return None;
        }
        rounds.push(start.elapsed());
    }
    rounds.sort();
    Some((rounds[0], rounds[ROUNDS / 2]))
}

fn run() -> Option<bool> {
    let mut out = std::io::stdout().lock();
    let mut in_time = true;
    for counted in [Counted::Memory, Counted::MemoryAndVcores] {
        let view = cluster(counted);
        for mode in Mode::EVERY {
            for (name, pack, same_rack) in [
                ("", false, false),
                (" pack", true, false),
                (" same rack", false, true),
            ] {
                let demand = Demand {
                    pack,
                    same_rack,
                    ..demand(mode)?
                };
                let (least, median) = measure(|| place(&demand, &view, &[]).is_ok())?;
                in_time &= median <= LIMIT;
                writeln!(
                    out,
                    "{counted:?} {mode}{name}: {least:.1?}, median {median:.1?}"
                )
                .ok()?;
            }
            let demand = demand(mode)?;
            let placement = place(&demand, &view, &[]).ok()?;
            let words = measure(|| reasons(&demand, &view, &placement).used.len() <= 10_000)?;
            writeln!(
                out,
                "{counted:?} {mode} reasons: {:.1?}, median {:.1?}",
                words.0, words.1
            )
            .ok()?;
            // Half of the containers are there.
            let held = &placement.shares[..placement.shares.len() / 2];
            let rest = measure(|| place(&demand, &view, held).is_ok())?;
            writeln!(
                out,
                "{counted:?} {mode} half held: {:.1?}, median {:.1?}",
                rest.0, rest.1
            )
            .ok()?;
        }
        let open = demand(Mode::None)?;
        let circumstances = Circumstances {
            demand: &open,
            cluster: &view,
            communication_share: None,
        };
        let auto = measure(|| choose(&circumstances).communication_share.is_none())?;
        writeln!(
            out,
            "{counted:?} auto: {:.1?}, median {:.1?}",
            auto.0, auto.1
        )
        .ok()?;
    }
    Some(in_time)
}

fn main() -> ExitCode {
    // Cargo says so where the build is optimized; in a test run the times mean nothing.
    let measured = std::env::args().any(|argument| argument == "--bench");
    match run() {
        Some(in_time) if in_time || !measured => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
