//! Attempts that find no device, or one that is too small, and jobs that no node can run.

use policy::lending::Lack;

use super::*;

#[test]
fn attempts_that_find_no_device_make_their_stage_need_one_and_count_only_then() {
    let mut bed = Bed::new(2, 0);
    let without = |bed: &mut Bed, attempt: AttemptIx, container| {
        bed.ended(
            container,
            wire::TaskEnded {
                process: attempt.0,
                trouble: "no GPU".to_owned(),
                no_device: true,
                ..wire::TaskEnded::default()
            },
        );
    };
    let [first, second] = [0, 1].map(|task| bed.place(Stage::Map, task, 1));
    bed.joined(1);
    bed.wanted();
    // Both were placed before it was known: neither counts, and the first tells it for all.
    without(&mut bed, first, 1);
    assert_eq!(
        bed.wanted(),
        [
            "Needed { stage: Map, needs: [ElementNeed { name: \"gpu\", count: 1 }] }",
            "over 0 NoDevice"
        ]
    );
    without(&mut bed, second, 1);
    assert_eq!(bed.wanted(), ["over 1 NoDevice"]);
    // A device that is not there where it should be is a failure, and two of a map are all that may be.
    for number in 2..4 {
        let attempt = bed.place(Stage::Map, 0, 1);
        assert_eq!(attempt.0, number);
        without(&mut bed, attempt, 1);
    }
    let wanted = bed.wanted();
    assert_eq!(wanted[..2], ["over 2 Failed", "no more"], "{wanted:?}");
    let (code, sentence, report) = bed.over(&[1]);
    assert_eq!(
        (code, sentence.as_str()),
        (1, "map 0 failed 2 times, the last time: no GPU")
    );
    assert_eq!((report.failed_attempts, report.no_device_attempts), (2, 2));
    assert_eq!(
        report.found_needs,
        [("map".to_owned(), vec!["gpu".to_owned()])].into()
    );
}

#[test]
fn a_stage_needs_the_kind_of_device_that_its_task_has_named() {
    for (device, need) in [
        ("", "gpu"),
        ("fpga", "fpga"),
        ("acc/fpga", "fpga"),
        ("acc/kmeans-map", "acc/kmeans-map"),
        ("a coffee machine", "gpu"),
    ] {
        let mut bed = Bed::new(1, 0);
        let attempt = bed.place(Stage::Map, 0, 1);
        bed.joined(1);
        bed.wanted();
        bed.ended(
            1,
            wire::TaskEnded {
                process: attempt.0,
                trouble: "none here".to_owned(),
                no_device: true,
                missing_device: device.to_owned(),
                ..wire::TaskEnded::default()
            },
        );
        let needed =
            format!("Needed {{ stage: Map, needs: [ElementNeed {{ name: {need:?}, count: 1 }}] }}");
        assert_eq!(bed.wanted(), [needed.as_str(), "over 0 NoDevice"]);
    }
}

#[test]
fn an_attempt_for_which_a_device_is_too_small_counts_and_its_job_leaves_that_node() {
    let mut bed = Bed::new(1, 0);
    let attempt = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.wanted();
    bed.ended(
        1,
        wire::TaskEnded {
            process: attempt.0,
            trouble: "512 MiB do not fit Trial (256 MiB free)".to_owned(),
            no_room: true,
            ..wire::TaskEnded::default()
        },
    );
    let wanted = bed.wanted();
    assert!(
        wanted.len() == 2 && wanted[0].starts_with("no room in ") && wanted[1] == "over 0 Failed",
        "{wanted:?}"
    );
}

#[test]
fn a_job_that_no_node_can_run_ends_as_impossible_unless_it_waits() {
    let mut bed = Bed::new(1, 0);
    assert!(bed.job.wants_nodes_now());
    bed.job.description.map.needs = vec!["gpu".parse().unwrap()];
    bed.tell(nowhere(Stage::Map, "gpu"));
    assert!(!bed.job.wants_nodes_now());
    let (code, sentence, _) = bed.over(&[]);
    assert_eq!(code, 65);
    assert!(
        sentence.starts_with("map needs gpu; 0 of 1 nodes have one (node1: no device); "),
        "{sentence}"
    );
    let mut bed = Bed::new(1, 0);
    bed.job.description.wait_for_nodes = true;
    assert!(!bed.job.wants_nodes_now());
}

/// No node has what a stage needs.
fn nowhere(stage: Stage, need: &str) -> MapReduceHeard {
    MapReduceHeard::Own(MapReduceEvent::NoNode(Lack {
        stage,
        needs: vec![need.parse().unwrap()],
        nodes: vec![("node1".to_owned(), "no device".to_owned())],
    }))
}

#[test]
fn the_processor_computes_functions_that_no_node_has_unless_it_is_not_to_or_that_does_not_help() {
    let begun = |fallback: &str| {
        let mut bed = Bed::new(1, 1);
        bed.job.description.map.needs = vec!["acc/kmeans-map=2".parse().unwrap()];
        bed.job.description.reduce.needs = ["acc/kmeans-reduce", "gpu"]
            .map(|need| need.parse().unwrap())
            .into();
        let setting = ("acc.fallback".to_owned(), fallback.to_owned());
        bed.job.description.settings.extend([setting]);
        bed
    };
    for fallback in ["never", ""] {
        let mut bed = begun(fallback);
        bed.tell(nowhere(Stage::Map, "acc/kmeans-map=2"));
        assert_eq!(bed.over(&[]).0, 65, "{fallback}");
    }
    for fallback in ["start", "always"] {
        let mut bed = begun(fallback);
        bed.tell(nowhere(Stage::Map, "acc/kmeans-map=2"));
        assert_eq!(bed.wanted(), ["Needed { stage: Map, needs: [] }"]);
        bed.tell(nowhere(Stage::Reduce, "acc/kmeans-reduce"));
        let gpu = "Needed { stage: Reduce, needs: [ElementNeed { name: \"gpu\", count: 1 }] }";
        assert_eq!(bed.wanted(), [gpu]);
        let said = notices(&mut bed);
        assert_eq!(
            said,
            [
                "map needs 2 acc/kmeans-map; 0 of 1 nodes have 2 (node1: no device): the processor computes it",
                "reduce needs acc/kmeans-reduce; 0 of 1 nodes have one (node1: no device): the processor computes it",
            ]
        );
        // Its map wants a device all the same.
        let attempt = bed.place(Stage::Map, 0, 1);
        bed.joined(1);
        bed.wanted();
        bed.ended(
            1,
            wire::TaskEnded {
                process: attempt.0,
                trouble: "no device is leased".to_owned(),
                no_device: true,
                missing_device: "acc/kmeans-map".to_owned(),
                ..wire::TaskEnded::default()
            },
        );
        bed.wanted();
        bed.tell(nowhere(Stage::Map, "acc/kmeans-map"));
        assert_eq!(bed.over(&[1]).0, 65);
    }
}

#[test]
fn who_stands_in_line_for_a_device_is_shown_once_of_a_stage() {
    let mut bed = Bed::new(2, 0);
    bed.job.description.map.needs = vec!["acc/kmeans-map".parse().unwrap()];
    let attempts = [0, 1].map(|task| bed.place(Stage::Map, task, 1));
    bed.joined(1);
    for process in attempts {
        let task = wire::TaskSeen {
            process: process.0,
            status: "stands in line for acc/kmeans-map: others hold what is there".to_owned(),
            ..wire::TaskSeen::default()
        };
        bed.tell(MapReduceHeard::Own(MapReduceEvent::Said {
            container: id(1),
            event: Box::new(OfTask::Seen(wire::TasksSeen { tasks: vec![task] })),
        }));
    }
    assert_eq!(
        notices(&mut bed),
        [
            "map 0, attempt 0, node n1: stands in line for acc/kmeans-map: others hold what is there; gerbil fpga ps says \
             there who"
        ]
    );
}

#[test]
fn an_attempt_whose_device_is_gone_does_not_count_however_often() {
    let mut bed = Bed::new(1, 0);
    bed.job.description.map.needs = vec!["acc/kmeans-map=2".parse().unwrap()];
    for number in 0..5 {
        let attempt = bed.place(Stage::Map, 0, 1);
        if number == 0 {
            bed.joined(1);
        }
        bed.wanted();
        let [(_, Order::Start(start))] = &std::mem::take(&mut bed.orders)[..] else {
            panic!("nothing is started");
        };
        assert_eq!(start.functions, ["acc/kmeans-map=2"]);
        bed.ended(
            1,
            wire::TaskEnded {
                process: attempt.0,
                trouble: "no fpgad answers".to_owned(),
                no_device: true,
                missing_device: "acc/kmeans-map".to_owned(),
                device_gone: true,
                ..wire::TaskEnded::default()
            },
        );
        assert_eq!(bed.wanted(), [format!("over {} NoDevice", attempt.0)]);
    }
}

#[test]
fn a_task_under_which_leases_end_again_and_again_fails_by_that() {
    let mut bed = Bed::new(1, 0);
    bed.job.description.map.needs = vec!["acc/kmeans-map".parse().unwrap()];
    for number in 0..5 {
        let attempt = bed.place(Stage::Map, 0, 1);
        if number == 0 {
            bed.joined(1);
        }
        bed.wanted();
        bed.ended(
            1,
            wire::TaskEnded {
                process: attempt.0,
                trouble: "its lease of acc/kmeans-map was over".to_owned(),
                no_device: true,
                missing_device: "acc/kmeans-map".to_owned(),
                device_gone: true,
                how: Some(wire::task_ended::How::ExitCode(1)),
                ..wire::TaskEnded::default()
            },
        );
        let outcome = if number < 3 { "NoDevice" } else { "Failed" };
        let wanted = bed.wanted();
        let over = format!("over {} {outcome}", attempt.0);
        assert!(wanted.contains(&over), "{wanted:?}");
    }
    let (code, sentence, report) = bed.over(&[1]);
    assert_eq!(
        (code, sentence.as_str()),
        (
            1,
            "map 0 failed 2 times, the last time: its lease of acc/kmeans-map was over; it counts, as 3 of this task before"
        )
    );
    assert_eq!((report.failed_attempts, report.no_device_attempts), (2, 3));
}
