//! How long it takes until 4,096 ranks on 64 launchers are past their first exchange of addresses.
//!
//! Simulated are the ranks, which send the lines that MPICH 4 sends, one after another, and the links:
//! messages between launchers and ApplicationMaster are written out and read back but not sent. Every
//! line, exchange and answer goes through the code that real ones go through, on one thread.

use std::io::Write as _;
use std::time::{Duration, Instant};

use job::wire::FenceDone;
use pmi::{Effect, Exchange, JobAttributes, NodeServer, process_mapping};

const LAUNCHERS: u32 = 64;
const RANKS_EACH: u32 = 64;
/// A business card of MPICH over UCX, bytes.
const CARD: usize = 400;

#[cfg(test)]
fn say(node: &mut NodeServer, rank: u32, line: &str) -> Vec<Effect> {
    let effects = node.on_line(rank, line.as_bytes());
    assert!(
        !matches!(effects.as_slice(), [Effect::Broken { .. }]),
        "{effects:?}"
    );
    effects
}

#[test]
fn four_thousand_ranks_are_wired_up_within_a_second() {
    let size = LAUNCHERS * RANKS_EACH;
    let mapping = process_mapping(&[RANKS_EACH; LAUNCHERS as usize]);
    let mut nodes: Vec<NodeServer> = (0..LAUNCHERS)
        .map(|node| {
            NodeServer::new(JobAttributes {
                size,
                ranks: (node * RANKS_EACH..(node + 1) * RANKS_EACH).collect(),
                kvs_name: "kvs_1".to_owned(),
                process_mapping: mapping.clone(),
                ..JobAttributes::default()
            })
            .unwrap()
        })
        .collect();
    let card = "c".repeat(CARD);
    let began = Instant::now();
    let mut exchange = Exchange::new(nodes.len());
    let mut union = None;
    for (index, (node, first)) in nodes.iter_mut().zip((0..).step_by(64)).enumerate() {
        let mut puts = None;
        for rank in first..first + RANKS_EACH {
            for line in [
                "cmd=init pmi_version=1 pmi_subversion=1",
                "cmd=get_maxes",
                "cmd=get_appnum",
                "cmd=get_my_kvsname",
                "cmd=get kvsname=kvs_1 key=PMI_process_mapping",
            ] {
                say(node, rank, line);
            }
            let put = format!("cmd=put kvsname=kvs_1 key=-allgather-1-{rank} value={card}");
            say(node, rank, &put);
            let last = say(node, rank, "cmd=barrier_in").pop();
            if let Some(Effect::Fence { puts: own }) = last {
                puts = Some(own);
            }
        }
        union = exchange.on_fence(index, puts.unwrap()).unwrap();
    }
    let pieces = FenceDone::pieces(0, union.unwrap());
    let mut past = 0;
    for (node, first) in nodes.iter_mut().zip((0..).step_by(64)) {
        let values = pieces.iter().flat_map(|piece| piece.values().unwrap());
        past += node.fence_done(values.collect()).len();
        for rank in first..first + RANKS_EACH {
            for other in 0..8 {
                let other = (rank + 511 * other) % size;
                let get = format!("cmd=get kvsname=kvs_1 key=-allgather-1-{other}");
                let answer = say(node, rank, &get).pop();
                assert!(matches!(answer, Some(Effect::Reply { line, .. }) if line.contains(&card)));
            }
        }
    }
    let took = began.elapsed();
    assert_eq!(past, size as usize);
    let bytes: usize = pieces.iter().map(|piece| piece.puts.len()).sum();
    writeln!(
        std::io::stderr(),
        "{size} ranks on {LAUNCHERS} launchers: {took:?}, {bytes} bytes to each launcher"
    )
    .unwrap();
    // Tests are not optimized, and share the machine; the figure is that of --release.
    let most = if cfg!(debug_assertions) { 10 } else { 1 };
    assert!(took < Duration::from_secs(most), "{took:?}");
}
