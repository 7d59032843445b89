//! Many duels of each kind.

use policy::gang::Allocator;
use policy::{Demand, ListedHost, Mode, allocate};
use sim::duel::allocators::{full_or_not, where_there_is_room};
use sim::duel::tournament;

/// Duels fought, for each allocator.
const DUELS: u64 = 2_000;

fn fight(place: Allocator, wants: fn(&mut Demand)) {
    let sum = tournament(0..DUELS, place, wants).unwrap();
    // The duels are ones: gangs did get in each other's way.
    assert!(u64::from(sum.let_go) > DUELS / 10, "{sum:?}");
    assert!(sum.repeated > 100 && sum.attempts > 100, "{sum:?}");
}

#[test]
fn jobs_that_look_for_room_all_finish_and_leave_nothing_behind() {
    fight(where_there_is_room, |_| {});
}

#[test]
fn jobs_that_wait_for_full_nodes_all_finish_and_leave_nothing_behind() {
    fight(full_or_not, |_| {});
}

/// The processes of `demand`, one on each of the first hosts.
fn listed(demand: &mut Demand) {
    demand.listed = (1..=demand.processes.get())
        .map(|i| ListedHost {
            host: Some(format!("n{i}")),
            processes: 1,
        })
        .collect();
}

#[test]
fn in_mode_all_without_sharing_all_finish() {
    fight(allocate::place, |demand| demand.oversubscribe = false);
}

#[test]
fn in_mode_all_with_sharing_all_finish() {
    fight(allocate::place, |_| {});
}

#[test]
fn in_mode_all_with_explicit_memory_all_finish() {
    fight(allocate::place, |demand| demand.memory_is_explicit = true);
}

#[test]
fn in_mode_none_all_finish() {
    fight(allocate::place, |demand| {
        demand.mode = Mode::None;
        listed(demand);
    });
}

#[test]
fn in_mode_loc_all_finish() {
    fight(allocate::place, |demand| {
        demand.mode = Mode::Loc;
        listed(demand);
    });
}

#[test]
fn in_mode_dist_all_finish() {
    fight(allocate::place, |demand| {
        demand.mode = Mode::Dist;
        listed(demand);
    });
}

#[test]
fn in_mode_loc_dist_all_finish() {
    fight(allocate::place, |demand| {
        demand.mode = Mode::LocDist;
        demand.nodes = Some(demand.processes);
    });
}
