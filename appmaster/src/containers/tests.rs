//! Launchers are lost and settle, containers are wanted back, and the pool is resized in time.

use std::num::NonZeroU32;

use super::pool::tests::{granted_one, id, plan, view};
use super::*;

const NOW: Millis = Millis(1_000);

/// Two containers with launchers, of a session that may have `most`.
fn containers(most: u32) -> Containers {
    let mut plan = plan(2);
    plan.most = NonZeroU32::new(most).unwrap();
    let mut containers = Containers::new(plan, 7);
    containers.begin(NOW);
    let wants = containers.nodes_read(NOW, &Ok(view(4)));
    let mut number = 0;
    for want in wants {
        if let Want::Ask(request, asking) = want {
            number += 1;
            let grant = granted_one(&asking, number);
            containers.granted(NOW, request, grant);
            containers.joined(&id(number), BTreeMap::new(), &[]);
        }
    }
    assert_eq!((number, containers.missing()), (2, 0));
    containers
}

fn due(containers: &Containers, what: &str) -> Option<Millis> {
    let dues = containers.dues(true).into_iter();
    let mut dues = dues.filter(|(name, _)| *name == what);
    dues.next().and_then(|(_, at)| at)
}

fn withdrawn(wants: &[Want]) -> Vec<&ContainerId> {
    let all = wants.iter().filter_map(|want| match want {
        Want::Withdraw(container) => Some(container),
        Want::Snapshot
        | Want::Ask(..)
        | Want::Release(_)
        | Want::Start(_)
        | Want::Offer(_)
        | Want::GiveUp(_) => None,
    });
    all.collect()
}

#[test]
fn a_lost_launcher_settles_until_yarn_says_more_or_its_time_is_over() {
    let mut containers = containers(2);
    containers.launcher_lost(NOW, &id(1));
    containers.launcher_lost(NOW.plus(Millis(500)), &id(2));
    let by = NOW.plus(SETTLE);
    assert_eq!(due(&containers, "lost launchers"), Some(by));
    assert!(containers.settled(Millis(by.0 - 1)).is_empty());
    // YARN says that one is over: it is replaced at once, and settles no longer.
    let wants = containers.replace(NOW, &id(2), false);
    assert_eq!(withdrawn(&wants), [&id(2)]);
    assert_eq!(containers.settled(by), [id(1)]);
    let wants = containers.replace(by, &id(1), true);
    assert_eq!(withdrawn(&wants), [&id(1)]);
    assert_eq!(due(&containers, "lost launchers"), None);
    assert_eq!(containers.missing(), 2);
    // The end of one that was replaced is no news.
    assert!(withdrawn(&containers.replace(by, &id(1), false)).is_empty());
}

#[test]
fn a_resize_is_due_a_moment_after_the_first_change() {
    let mut containers = containers(4);
    containers.resize_soon(NOW);
    containers.resize_soon(NOW.plus(Millis(100)));
    let at = NOW.plus(RESIZE);
    assert_eq!(due(&containers, "how many containers there are"), Some(at));
    assert!(!containers.is_to_resize(Millis(at.0 - 1), true));
    assert!(containers.is_to_resize(at, true));
    let used = BTreeSet::from([id(1), id(2)]);
    let wants = containers.resize(at, Some(3), &used);
    assert!(matches!(wants[..], [Want::Snapshot]), "{wants:?}");
    assert_eq!(containers.missing(), 2, "of two slots each");
    assert_eq!(due(&containers, "how many containers there are"), None);
}

#[test]
fn a_session_of_fixed_size_is_never_resized_but_for_what_is_wanted_back() {
    let mut containers = containers(2);
    containers.resize_soon(NOW);
    assert_eq!(due(&containers, "how many containers there are"), None);
    let words = Back::Decommissioned(None).words("n1");
    let back = Back::Decommissioned(None);
    assert!(containers.wanted_back(NOW, &id(1), &words, back).is_some());
    assert_eq!(containers.leaves_for(&id(1)), Some(words.as_str()));
    // It leaves already, or is not here.
    assert!(containers.wanted_back(NOW, &id(1), &words, back).is_none());
    assert!(containers.wanted_back(NOW, &id(9), &words, back).is_none());
    // A job is there still: it goes when the job has left it.
    let wants = containers.resize(NOW, None, &BTreeSet::from([id(1)]));
    assert!(withdrawn(&wants).is_empty());
    containers.resize_soon(NOW);
    assert!(due(&containers, "how many containers there are").is_some());
    let wants = containers.resize(NOW, None, &BTreeSet::new());
    assert_eq!(withdrawn(&wants), [&id(1)]);
}

#[test]
fn idle_containers_wait_while_the_session_has_had_no_job() {
    let mut containers = containers(4);
    let none = BTreeSet::new();
    let wants = containers.resize(NOW, Some(4), &none);
    assert!(matches!(wants[..], [Want::Snapshot]));
    let wants = containers.nodes_read(NOW, &Ok(view(4)));
    let asked = wants.into_iter().filter_map(|want| match want {
        Want::Ask(request, asking) => Some((request, asking)),
        Want::Snapshot
        | Want::Release(_)
        | Want::Start(_)
        | Want::Offer(_)
        | Want::Withdraw(_)
        | Want::GiveUp(_) => None,
    });
    for (number, (request, asking)) in (3..).zip(asked.collect::<Vec<_>>()) {
        containers.granted(NOW, request, granted_one(&asking, number));
        containers.joined(&id(number), BTreeMap::new(), &[]);
    }
    containers.resize(NOW, Some(0), &none);
    let idle = due(&containers, "idle containers").unwrap();
    assert!(containers.is_to_resize(idle, true) && !containers.is_to_resize(idle, false));
}

/// `cargo test --release -p appmaster --lib -- --ignored --nocapture five_thousand`
#[test]
#[ignore = "prints how long a session of 5,000 containers takes, which depends on the machine"]
fn five_thousand_launchers_join() {
    let mut pool = plan(1);
    pool.slots = NonZeroU32::new(8).unwrap();
    pool.most = NonZeroU32::new(5_000).unwrap();
    (pool.containers, pool.first) = (pool.most, pool.most);
    let mut containers = Containers::new(pool, 7);
    let timed = |what: &str, began: std::time::Instant| println!("{what}: {:?}", began.elapsed());
    let began = std::time::Instant::now();
    containers.begin(NOW);
    timed("5,000 places", began);
    let began = std::time::Instant::now();
    let wants = containers.nodes_read(NOW, &Ok(view(5_000)));
    timed("nodes for 5,000 containers", began);
    let began = std::time::Instant::now();
    for (number, want) in (1..).zip(wants) {
        if let Want::Ask(request, asking) = want {
            containers.granted(NOW, request, granted_one(&asking, number));
            containers.granted_to(&id(number)).unwrap();
            containers.attributed_to(&id(number));
            containers.joined(&id(number), BTreeMap::new(), &[]);
        }
    }
    timed("5,000 grants and joins", began);
    assert_eq!(containers.missing(), 0);
}
