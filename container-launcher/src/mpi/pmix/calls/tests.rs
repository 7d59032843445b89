use job::wire::{PmixAbort, PmixNode, PmixText, Stream};

use super::*;

fn call(number: u64, call: pmix_call::Call) -> PmixCall {
    of_group(0, number, call)
}

fn of_group(group: u32, number: u64, call: pmix_call::Call) -> PmixCall {
    PmixCall {
        number,
        group,
        call: Some(call),
    }
}

fn fence(number: u64, ranks: &[u32], data: &'static [u8]) -> PmixCall {
    let fence = PmixFence {
        ranks: ranks.to_vec(),
        data: Bytes::from_static(data),
    };
    call(number, pmix_call::Call::Fence(fence))
}

/// Ranks 0 and 1 of four.
fn of_two_containers() -> Calls {
    let node = |ranks: &[u32]| PmixNode {
        ranks: ranks.to_vec(),
        ..PmixNode::default()
    };
    Calls::of(&PmixJob {
        nodes: vec![node(&[0, 1]), node(&[2, 3])],
        ..PmixJob::default()
    })
}

#[test]
fn a_rank_is_seen_to_begin_and_to_end_and_each_call_is_answered() {
    let mut calls = Calls::default();
    assert_eq!(calls.stage(0, 3), PmiStage::Silent);
    for (number, asked, stage) in [
        (7, pmix_call::Call::Connected(3), PmiStage::Initialized),
        (8, pmix_call::Call::Finalized(3), PmiStage::Finalized),
    ] {
        let outcome = calls.on(call(number, asked));
        assert_eq!(outcome.effects, [Effect::Stage { rank: 3, stage }]);
        assert_eq!(outcome.answer, Some(done(number, Bytes::new())));
        assert_eq!(calls.stage(0, 3), stage);
    }
    // A tool of the rank's, which connects late.
    let outcome = calls.on(call(9, pmix_call::Call::Connected(3)));
    assert_eq!(outcome.effects, []);
    assert_eq!(calls.stage(0, 3), PmiStage::Finalized);
}

#[test]
fn an_abort_is_told_with_its_code() {
    let abort = PmixAbort {
        rank: 1,
        status: 77,
        message: "why".to_owned(),
    };
    let outcome = Calls::default().on(call(1, pmix_call::Call::Abort(abort)));
    let expected = Effect::Abort {
        rank: 1,
        exit_code: 77,
        message: "why".to_owned(),
    };
    assert_eq!(outcome.effects, [expected]);
    assert_eq!(outcome.answer, Some(done(1, Bytes::new())));
}

#[test]
fn a_fence_of_one_container_has_what_its_ranks_told() {
    let mut alone = Calls {
        alone: true,
        ..Calls::default()
    };
    let told = Outcome::answer(done(1, Bytes::from_static(&[1, 2, 3])));
    assert_eq!(alone.on(fence(1, &[], &[1, 2, 3])), told);
    let own = Outcome::answer(done(2, Bytes::from_static(&[4])));
    assert_eq!(of_two_containers().on(fence(2, &[1, 0], &[4])), own);
    let nothing = PmixCall {
        number: 2,
        ..PmixCall::default()
    };
    assert_eq!(alone.on(nothing), Outcome::answer(failed(2)));
}

#[test]
fn a_fence_over_containers_waits_for_all_of_them() {
    let mut calls = of_two_containers();
    let event = |ranks: &[u32], data: &'static [u8]| {
        let ranks = ranks.to_vec();
        let data = Bytes::from_static(data);
        Some(told(0, PmixFence { ranks, data }))
    };
    assert_eq!(calls.on(fence(1, &[], &[1])).event, event(&[], &[1]));
    // Others meet meanwhile: one program names them so, the other the other way round.
    let others = calls.on(fence(2, &[2, 1], &[]));
    assert_eq!(others.event, event(&[1, 2], &[]));
    // The next of the same ranks is not mixed with it.
    assert_eq!(calls.on(fence(3, &[], &[3])), Outcome::default());
    let piece = |ranks: &[u32], puts: &'static [u8], more| FenceDone {
        puts: Bytes::from_static(puts),
        more,
        pmix: true,
        ranks: ranks.to_vec(),
        ..FenceDone::default()
    };
    assert_eq!(calls.fence_done(piece(&[], &[1], true)), Outcome::default());
    let outcome = calls.fence_done(piece(&[], &[2], false));
    assert_eq!(outcome.answer, Some(done(1, Bytes::from_static(&[1, 2]))));
    assert_eq!(outcome.event, event(&[], &[3]));
    let outcome = calls.fence_done(piece(&[1, 2], &[], false));
    assert_eq!(outcome, Outcome::answer(done(2, Bytes::new())));
    let outcome = calls.fence_done(piece(&[], &[5], false));
    assert_eq!(outcome, Outcome::answer(done(3, Bytes::from_static(&[5]))));
    // One that nobody waits for.
    assert_eq!(calls.fence_done(piece(&[], &[], false)), Outcome::default());
}

/// Of group 1, which has three ranks from number 4 on, the first two of which are here.
fn with_a_group() -> Calls {
    let mut calls = of_two_containers();
    let node = |ranks: &[u32]| PmixNode {
        ranks: ranks.to_vec(),
        ..PmixNode::default()
    };
    calls.add(&PmixJob {
        group: 1,
        first: 4,
        nodes: vec![node(&[0, 1]), node(&[2])],
        ..PmixJob::default()
    });
    calls
}

#[test]
fn groups_have_ranks_and_fences_of_their_own_and_some_across_them() {
    let mut calls = with_a_group();
    calls.on(of_group(1, 1, pmix_call::Call::Connected(2)));
    assert_eq!(calls.stage(1, 2), PmiStage::Initialized);
    assert_eq!(calls.stage(0, 2), PmiStage::Silent);
    let meet = |group, number, ranks: &[u32]| {
        let fence = fence(number, ranks, &[]);
        PmixCall { group, ..fence }
    };
    // Those that are here need nobody else: 0 and 1 of either, by rank and by number.
    for (number, group, ranks) in [(2, 0, [0, 1]), (3, 1, [0, 1]), (4, Fence::ACROSS, [1, 5])] {
        let outcome = calls.on(meet(group, number, &ranks));
        assert_eq!(outcome.answer, Some(done(number, Bytes::new())), "{group}");
    }
    for (number, group, ranks) in [
        (5, 0, &[][..]),
        (6, 1, &[]),
        (7, Fence::ACROSS, &[2, 4]),
        (8, Fence::ACROSS, &[0, 6]),
    ] {
        let Some(Event::Fence(told)) = calls.on(meet(group, number, ranks)).event else {
            panic!("{group} {ranks:?}");
        };
        assert_eq!(told.group, group);
    }
    for (number, group, ranks) in [
        (8, Fence::ACROSS, vec![0, 6]),
        (6, 1, vec![]),
        (5, 0, vec![]),
    ] {
        let outcome = calls.fence_done(FenceDone {
            group,
            pmix: true,
            ranks,
            ..FenceDone::default()
        });
        assert_eq!(outcome.answer, Some(done(number, Bytes::new())));
    }
    // The group is over.
    calls.remove(1);
    assert_eq!(calls.stage(1, 2), PmiStage::Silent);
}

#[test]
fn a_spawn_is_asked_for_and_its_name_or_that_it_is_none_comes_back() {
    let mut calls = with_a_group();
    let spawn = PmixSpawn {
        rank: 1,
        commands: Vec::new(),
    };
    let outcome = calls.on(of_group(1, 9, pmix_call::Call::Spawn(spawn.clone())));
    assert_eq!((outcome.group, outcome.spawn), (1, Some((9, spawn))));
    let named = PmixAnswer {
        name_space: "kvs_g2".to_owned(),
        ..done(9, Bytes::new())
    };
    let spawned = |name: Option<&str>| Calls::spawned(9, name.map(str::to_owned));
    assert_eq!(spawned(Some("kvs_g2")), Outcome::answer(named));
    assert_eq!(spawned(None), Outcome::answer(failed(9)));
}

#[test]
fn addresses_over_the_bound_end_the_job_with_their_size() {
    let fence = PmixFence {
        ranks: Vec::new(),
        data: vec![0; 70 * MIB].into(),
    };
    let outcome = of_two_containers().on(call(1, pmix_call::Call::Fence(fence)));
    let Some(Event::Refusal(refusal)) = outcome.event else {
        panic!("{outcome:?}");
    };
    let sentence = "MPI_Init: 70 MiB of addresses; the limit is 64 MiB";
    assert_eq!((&*refusal.sentence, refusal.exit_code), (sentence, 70));
    assert_eq!(outcome.answer, None);
}

#[test]
fn what_a_rank_elsewhere_told_comes_once_or_not_at_all() {
    let (mut asker, mut asked) = (of_two_containers(), of_two_containers());
    for (number, is_there) in [(4, true), (5, false)] {
        let outcome = asker.on(call(number, pmix_call::Call::Modex(2)));
        let Some(Event::Modex(request)) = outcome.event else {
            panic!("{outcome:?}");
        };
        assert_eq!((outcome.answer, request.rank), (None, 2));
        let own = asked.asking(ModexRequest {
            from: "asker".to_owned(),
            ..request
        });
        let told = PmixModexed {
            number: own,
            failed: !is_there,
            data: Bytes::from_static(&[9]),
        };
        let Some(Event::Modexed(answer)) = asked.found(told.clone()) else {
            panic!("{told:?}");
        };
        assert_eq!(asked.found(told), None);
        assert_eq!(answer.from, "asker");
        let expected = match is_there {
            true => done(number, Bytes::from_static(&[9])),
            false => failed(number),
        };
        let outcome = asker.modexed(number, Some(answer));
        assert_eq!(outcome, Outcome::answer(expected));
        // Too late.
        assert_eq!(asker.modexed(number, None), Outcome::default());
    }
    asker.on(call(6, pmix_call::Call::Modex(3)));
    assert_eq!(asker.modexed(6, None), Outcome::answer(failed(6)));
}

#[test]
fn a_text_is_said_and_then_answered_and_another_one_of_its_topic_is_not() {
    let mut calls = Calls::default();
    let log = |rank, topic: &str| PmixLog {
        rank,
        texts: vec![PmixText {
            stream: Stream::Stderr.into(),
            text: b"why".to_vec(),
        }],
        topic: topic.to_owned(),
    };
    let mut on = |number, log: &PmixLog| {
        let outcome = calls.on(call(number, pmix_call::Call::Log(log.clone())));
        (outcome.logged, outcome.answer)
    };
    for (number, first) in [(1, log(0, "help / abort")), (3, log(0, "help / other"))] {
        assert_eq!(on(number, &first), (Some((number, first.clone())), None));
        let again = log(1, &first.topic);
        let answer = done(number + 1, Bytes::new());
        assert_eq!(on(number + 1, &again), (None, Some(answer)));
    }
    let always = log(0, "");
    for number in [5, 6] {
        assert_eq!(on(number, &always), (Some((number, always.clone())), None));
    }
    let told = |is_said| Calls::said(7, is_said).answer;
    assert_eq!(told(true), Some(done(7, Bytes::new())));
    assert_eq!(told(false), Some(failed(7)));
    // However many topics a program has.
    for number in 0..2 * TOPICS_MAX {
        let outcome = on(8, &log(0, &number.to_string()));
        assert!(outcome.0.is_some(), "{number}");
    }
    assert_eq!(calls.topics.len(), TOPICS_MAX);
}
