//! Attempts of a MapReduce job.

use job::explain::{HomeMoved, Locality, TaskEnded, TaskPlaced, WhyMoved};
use job::history::{AttemptEnd, TaskStage};

use super::{some, stamp};

const fn stage(stage: TaskStage) -> &'static str {
    match stage {
        TaskStage::Map => "map",
        TaskStage::Reduce => "reduce",
    }
}

pub(super) fn placed(placed: &TaskPlaced) -> String {
    let hosts = || some(placed.input_hosts.iter().map(String::as_str));
    let is_reduce = placed.stage == TaskStage::Reduce;
    let input = match placed.input {
        None => String::new(),
        Some(Locality::Node) if is_reduce => ", where its input was gathered".to_owned(),
        Some(_) if is_reduce => {
            format!(", away from where its input was gathered, {}", hosts())
        }
        Some(Locality::Node) => ", where its input is".to_owned(),
        Some(Locality::Rack) => format!(", in a rack that has its input (it is on {})", hosts()),
        Some(Locality::Elsewhere) => format!(", away from its input, which is on {}", hosts()),
        Some(Locality::Nowhere) => ", as good as any other for its input".to_owned(),
    };
    let copy = match placed.is_copy {
        true => ", beside one that takes much longer than others",
        false => "",
    };
    format!(
        "{}{}: {} {}, attempt {}, on {}, slot {} of {}{input}{copy}",
        stamp(placed.at_ms),
        placed.job,
        stage(placed.stage),
        placed.task,
        placed.attempt,
        placed.host,
        placed.slot,
        placed.container,
    )
}

pub(super) fn ended(ended: &TaskEnded) -> String {
    let how = match ended.end {
        AttemptEnd::Succeeded => "is done",
        AttemptEnd::Failed => "failed",
        AttemptEnd::Killed => "was ended, since nobody needs it",
        AttemptEnd::NoDevice => {
            "found no device, and its task is queued again as one that needs it"
        }
        AttemptEnd::Lost => "was lost with its container, or could not read what maps have left",
    };
    let why = match ended.sentence.as_str() {
        "" => String::new(),
        sentence => format!(": {sentence}"),
    };
    format!(
        "{}{}: {} {}, attempt {}, on {} {how} after {}.{:03} s, {} bytes{why}",
        stamp(ended.at_ms),
        ended.job,
        stage(ended.stage),
        ended.task,
        ended.attempt,
        ended.host,
        ended.took_ms / 1000,
        ended.took_ms % 1000,
        ended.output_bytes,
    )
}

pub(super) fn moved(moved: &HomeMoved) -> String {
    let why = match moved.why {
        WhyMoved::Lags => format!(
            "which lags behind others: about {} bytes have not come there, the first for {}.{:03} s",
            moved.lacks_bytes,
            moved.behind_ms / 1000,
            moved.behind_ms % 1000
        ),
        WhyMoved::Full => "where tasks lack room".to_owned(),
    };
    format!(
        "{}{}: partition {} is gathered on {} from now on, and not on {}, {why}",
        stamp(moved.at_ms),
        moved.job,
        moved.partition,
        moved.to,
        moved.from,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placement_says_how_near_the_input_is() {
        let on = |input| TaskPlaced {
            at_ms: 1_250,
            job: "application_1_2".into(),
            stage: TaskStage::Map,
            task: 3,
            attempt: 0,
            host: "n2".into(),
            container: "container_1".into(),
            slot: 1,
            input: Some(input),
            input_hosts: vec!["n4".into(), "n5".into()],
            is_copy: false,
        };
        assert_eq!(
            placed(&on(Locality::Elsewhere)),
            "1.250 s: application_1_2: map 3, attempt 0, on n2, slot 1 of container_1, away from its input, which is on n4, n5"
        );
        assert!(placed(&on(Locality::Node)).ends_with("container_1, where its input is"));
        let reduce = |input| TaskPlaced {
            stage: TaskStage::Reduce,
            ..on(input)
        };
        let here = placed(&reduce(Locality::Node));
        assert!(here.ends_with("container_1, where its input was gathered"));
        let away = placed(&reduce(Locality::Rack));
        assert!(away.ends_with("container_1, away from where its input was gathered, n4, n5"));
        let copy = TaskPlaced {
            stage: TaskStage::Reduce,
            input: None,
            is_copy: true,
            ..on(Locality::Node)
        };
        assert_eq!(
            placed(&copy),
            "1.250 s: application_1_2: reduce 3, attempt 0, on n2, slot 1 of container_1, beside one that takes much longer than others"
        );
    }

    #[test]
    fn an_end_says_why() {
        let failed = TaskEnded {
            at_ms: 61_000,
            job: "application_1_2".into(),
            stage: TaskStage::Map,
            task: 0,
            attempt: 2,
            host: "n1".into(),
            end: AttemptEnd::Failed,
            took_ms: 1_007,
            output_bytes: 0,
            sentence: "it panicked".into(),
        };
        assert_eq!(
            ended(&failed),
            "61.000 s: application_1_2: map 0, attempt 2, on n1 failed after 1.007 s, 0 bytes: it panicked"
        );
    }

    #[test]
    fn a_move_says_why() {
        let lags = HomeMoved {
            at_ms: 9_050,
            job: "application_1_2".into(),
            partition: 2,
            from: "n1".into(),
            to: "n3".into(),
            why: WhyMoved::Lags,
            lacks_bytes: 52_428_800,
            behind_ms: 5_003,
        };
        assert_eq!(
            moved(&lags),
            "9.050 s: application_1_2: partition 2 is gathered on n3 from now on, and not on n1, which lags behind others: about 52428800 bytes have not come there, the first for 5.003 s"
        );
        let full = HomeMoved {
            why: WhyMoved::Full,
            ..lags
        };
        assert!(moved(&full).ends_with("and not on n1, where tasks lack room"));
    }
}
