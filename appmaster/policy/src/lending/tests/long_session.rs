//! What a session keeps of jobs that are over: nothing, however many there were.

use super::*;
use crate::schedule::record::Replay;
use crate::schedule::{JobProfile, of_session};

/// All that is known, the policy's own notes included, in letters.
fn size(lending: &Lending) -> usize {
    format!("{lending:?}").len()
}

/// No other job takes as much, has such a user or priority, or needs what this one turns out to need.
fn of(number: u32, wants: Wants) -> SlotRequest {
    SlotRequest {
        wants,
        unit: Resources::new(u64::from(number) + 1, 1),
        user: format!("user{number}"),
        queue: "default".into(),
        priority: i32::try_from(number).unwrap(),
        deadline: None,
        profile: JobProfile::default(),
        any_speed: false,
    }
}

/// A job comes, has what it wants where there is room, and is over; of its tasks some fail and some are lost.
fn live(lending: &mut Lending, number: u32) {
    let now = Millis(u64::from(number) * 10_000);
    let unit = Resources::new(u64::from(number) + 1, 1);
    if !number.is_multiple_of(8) {
        lending.wanted(now, number, of(number, Wants::Gang(1 + number % 4)));
        lending.returned(now.plus(Millis(1_000)), number);
        return;
    }
    let terms = StageTerms {
        unit,
        needs: Vec::new(),
        speculative: true,
        per_node: None,
    };
    let wants = Wants::Tasks {
        map: terms.clone(),
        reduce: terms,
        node_failures: number % 2,
    };
    lending.wanted(now, number, of(number, wants));
    let mut words = lending.runnable(now, number, Stage::Map, &["n2", "n3", "nowhere"].map(input));
    let mut ended = 0;
    for second in 1..8 {
        let now = now.plus(Millis(second * 1_000));
        let starts = words.iter().filter_map(|word| match word {
            Word::Start(start) if start.job == number => Some(start.attempt),
            _ => None,
        });
        let starts: Vec<AttemptIx> = starts.collect();
        words = lending.tick(now);
        for attempt in starts {
            lending.began(now, attempt);
            lending.progress(now, attempt, 1, 2);
            let how = match ended {
                0 => AttemptOutcome::Failed,
                // It is over in the middle of this one.
                4 => continue,
                _ => AttemptOutcome::Done,
            };
            words.extend(lending.ended(now, attempt, how));
            ended += 1;
        }
        if second == 4 {
            words.extend(lending.output_lost(now, number, vec![TaskIx(0)]));
            words.extend(lending.runnable(now, number, Stage::Reduce, &[input("n2")]));
            lending.avoid(now, number, &[id(2)]);
            let needs = [ElementNeed::one(format!("e{number}"))];
            lending.needed(now, number, Stage::Reduce, &needs);
        }
    }
    assert!(ended > 2, "{number}: {ended}");
    lending.close(now.plus(Millis(8_000)), number);
    lending.returned(now.plus(Millis(9_000)), number);
}

#[test]
fn ten_thousand_jobs_leave_nothing_behind() {
    let policies = [
        ("fifo", 10_000),
        ("fair", 500),
        ("fair:by=job", 500),
        ("capacity:queue.etl=50", 500),
        ("fifo+priority:preempt=true+age:limit=1s", 500),
        ("hpe", 500),
    ];
    for (policy, jobs) in policies {
        let mut lending = Lending::new(of_session(policy).unwrap(), ResourceTypes::default());
        let large = |number| Offer {
            pool: Resources::new(1 << 20, 64),
            ..offer(number, 4)
        };
        for number in 1..=3 {
            lending.joined(NOW, large(number));
        }
        // One goes on all the time.
        let first = lending.wanted(NOW, 0, of(0, Wants::Gang(2)));
        assert_eq!(first.len(), 1);
        let mut early = 0;
        for number in 1..=jobs {
            live(&mut lending, number);
            if number % 50 == 0 {
                let now = Millis(u64::from(number + 1) * 10_000 - 1);
                lending.lost(now, &id(2 + number / 50));
                lending.joined(
                    now,
                    Offer {
                        host: "n3".into(),
                        ..large(3 + number / 50)
                    },
                );
            }
            if number == 200 {
                early = size(&lending);
            }
        }
        let late = size(&lending);
        // Numbers have a few digits more.
        assert!(
            late < early + early / 10,
            "{policy}: {early}, {late}\n{lending:#?}"
        );
        assert_eq!((lending.jobs.len(), lending.numbers.len()), (1, 1));
    }
}

#[test]
fn a_session_s_record_replays_to_the_same_decisions() {
    for policy in ["fifo", "fair", "fifo+priority:preempt=true+age:limit=1s"] {
        let mut lending = Lending::new(of_session(policy).unwrap(), ResourceTypes::default());
        assert!(lending.take_record().is_empty());
        lending.record();
        for number in 1..=3 {
            lending.joined(NOW, offer(number, 4));
        }
        let mut lines = Vec::new();
        for number in 1..=24 {
            live(&mut lending, number);
            lines.extend(lending.take_record());
        }
        // Replayed as it is read of a file.
        let lines = lines.iter().map(|line| {
            let text = serde_json::to_string(line).unwrap();
            serde_json::from_str(&text).unwrap()
        });
        let mut replay = Replay::new(of_session(policy).unwrap());
        lines.for_each(|line| replay.hear(line).unwrap());
        let same = replay.end().unwrap();
        assert!(same > 24, "{policy}: {same}");
        lending.record_no_more();
        live(&mut lending, 25);
        assert!(lending.take_record().is_empty());
    }
}
