//! Slots that no job can use cost nothing: what is counted is how often the policy is asked.

use super::*;

const CONTAINERS: u32 = 500;

fn idle(policy: &str) -> Lending {
    let mut lending = lending(policy);
    for number in 0..CONTAINERS {
        lending.joined(NOW, offer(number, 8));
    }
    lending
}

/// How often the policy is asked when something happens that frees nothing.
fn asks_of_ticks(lending: &mut Lending, ticks: u64) -> u64 {
    let before = lending.asks();
    for tick in 1..=ticks {
        let words = lending.tick(NOW.plus(Millis(tick)));
        assert_eq!(words, []);
    }
    lending.asks() - before
}

#[test]
fn no_node_is_asked_for_a_gang_that_has_found_no_room() {
    for policy in ["fifo+gang", "fair:by=user+gang", "fifo+priority+gang"] {
        let mut lending = idle(policy);
        lending.wanted(NOW, 1, tasks());
        assert_eq!(
            starts(lending.runnable(NOW, 1, Stage::Map, &[input("n1")])).len(),
            1
        );
        assert_eq!(lending.wanted(NOW, 2, request(8 * CONTAINERS)), []);
        let asks = asks_of_ticks(&mut lending, 10);
        assert!(asks <= 10 * 8, "{policy}: {asks}");
        // It starts all the same as soon as it can.
        let lent = gangs(lending.returned(NOW, 1));
        assert_eq!((lent[0].job, lent[0].shares.len()), (2, 500));
    }
}

#[test]
fn no_plain_node_is_asked_for_tasks_that_need_a_device() {
    let mut lending = idle("fifo+gang");
    let mut request = tasks();
    if let Wants::Tasks { map, .. } = &mut request.wants {
        map.needs = vec![ElementNeed::one("gpu")];
    }
    lending.wanted(NOW, 1, request);
    assert_eq!(lending.runnable(NOW, 1, Stage::Map, &[input("n1")]), []);
    let asks = asks_of_ticks(&mut lending, 10);
    assert!(asks <= 10 * 8, "{asks}");
    let gpu = Offer {
        elements: [("gpu".to_owned(), 1)].into(),
        ..offer(CONTAINERS, 2)
    };
    assert_eq!(starts(lending.joined(NOW, gpu)).len(), 1);
}
