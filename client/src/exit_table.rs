//! The ends of the ranks in words, and as one number.

use job::container_exit::ContainerExit;
use job::exit::End;
use job::wire::{FinalState, OutOfMemory, PmiStage, RankReport};

use follow::ended::Ended;
use terminal::Foreign;
use terminal::table::{Column, table};

/// Ranks that are shown.
const SHOWN: usize = 20;

/// How a rank ended, if that is known.
fn end(report: &RankReport) -> Option<End> {
    End::try_from(report.end.as_ref()?.how?).ok()
}

/// Whether a rank failed of its own: not because the job ended.
fn failed(report: &RankReport) -> bool {
    let Some(ended) = &report.end else {
        return false;
    };
    let early = ended.pmi() == PmiStage::Initialized;
    let failed = end(report).is_some_and(|end| !end.is_success() || early);
    failed && !ended.stopped
}

/// A rank, or of one that was spawned its group and its rank there.
fn called(report: &RankReport) -> String {
    match report.group {
        0 => report.rank.to_string(),
        group => format!("{group}.{}", report.group_rank),
    }
}

/// Whether its container is known to have ended in another way than by its launcher's leave.
fn lost(report: &RankReport) -> bool {
    report.container_exit.is_some_and(|status| status != 0)
}

/// A table of the ranks that failed or whose containers were lost, when there is more than one: the
/// sentence names the first. Neighbours of whom the same is to be said share a row.
pub(crate) fn failures(ranks: &[RankReport]) -> Vec<String> {
    let told: Vec<&RankReport> = ranks
        .iter()
        .filter(|report| failed(report) || lost(report))
        .collect();
    if told.len() < 2 {
        return Vec::new();
    }
    let what = match told.iter().all(|report| failed(report)) {
        true => "failed",
        false => "failed or were lost",
    };
    let with_containers = told.iter().any(|report| report.container_exit.is_some());
    let mut columns = vec![
        Column::Right("rank"),
        Column::Left("node"),
        Column::Left("end"),
    ];
    if with_containers {
        columns.push(Column::Left("container exit"));
    }
    columns.push(Column::Left("cause"));
    let cells = |report: &RankReport| {
        let mut cells = vec![
            report.host.clone(),
            end(report).map_or_else(|| "unknown".into(), short),
        ];
        if with_containers {
            let exit = report.container_exit.map(ContainerExit::from);
            cells.push(exit.map(|exit| exit.to_string()).unwrap_or_default());
        }
        cells.push(cause(report).to_owned());
        cells
    };
    let mut rows: Vec<(Vec<&RankReport>, Vec<String>)> = Vec::new();
    for report in &told {
        let cells = cells(report);
        let same = rows.last_mut().filter(|(above, said)| {
            above.last().is_some_and(|above| follows(above, report)) && *said == cells
        });
        match same {
            Some((above, _)) => above.push(report),
            None => rows.push((vec![report], cells)),
        }
    }
    let left_out: usize = rows.iter().skip(SHOWN).map(|(row, _)| row.len()).sum();
    let rows = rows.into_iter().take(SHOWN).map(|(row, mut cells)| {
        cells.insert(0, span(&row));
        cells
    });
    let mut lines = vec![format!("{} of {} ranks {what}:", told.len(), ranks.len())];
    lines.extend(table(0, &columns, rows));
    if left_out > 0 {
        lines.push(format!("and {left_out} more"));
    }
    lines
}

/// Whether `later` is the next rank of the same group.
fn follows(earlier: &RankReport, later: &RankReport) -> bool {
    earlier.group == later.group && earlier.rank.checked_add(1) == Some(later.rank)
}

/// Ranks in a row.
fn span(ranks: &[&RankReport]) -> String {
    match ranks {
        [] => String::new(),
        [one] => called(one),
        [first, .., last] => format!("{}-{}", called(first), called(last)),
    }
}

fn short(end: End) -> String {
    match end {
        End::Code(code) => format!("code {code}"),
        // Without the verb.
        End::Signal(_) => end.predicate().trim_start_matches("was killed by ").into(),
    }
}

fn cause(report: &RankReport) -> &'static str {
    let ended = match &report.end {
        Some(ended) if failed(report) => ended,
        _ if lost(report) => return "lost with its container",
        _ => return "",
    };
    match (ended.out_of_memory(), ended.pmi()) {
        (OutOfMemory::Group, _) => "out of its container's memory",
        (OutOfMemory::Share, _) => "beyond its share of its container's memory",
        (OutOfMemory::Node, _) => "perhaps out of the node's memory",
        (OutOfMemory::No, PmiStage::Silent) => "without MPI_Init",
        (OutOfMemory::No, PmiStage::Initialized) => "without MPI_Finalize",
        (OutOfMemory::No, PmiStage::Finalized) => "after MPI_Finalize",
    }
}

/// The end of every rank, a line a node. Of one that was lost before it was told, how its container
/// ended.
pub(crate) fn all(ranks: &[RankReport]) -> Vec<String> {
    let mut nodes: Vec<(&str, Vec<String>)> = Vec::new();
    for report in ranks {
        let end = match (end(report), report.container_exit) {
            (Some(End::Code(code)), _) => code.to_string(),
            (Some(End::Signal(signal)), _) => format!("signal {signal}"),
            (None, Some(status)) if lost(report) => {
                format!("container exit {}", ContainerExit::from(status))
            }
            (None, _) => "unknown".into(),
        };
        let end = format!("{}: {end}", called(report));
        match nodes.last_mut().filter(|(host, _)| *host == report.host) {
            Some((_, ends)) => ends.push(end),
            None => nodes.push((&report.host, vec![end])),
        }
    }
    let line = |(host, ends): (&str, Vec<String>)| {
        let host = Foreign::name(host);
        format!("exit codes on {host}: {}", ends.join(", "))
    };
    nodes.into_iter().map(line).collect()
}

/// Whether the ends of the ranks are what decides: nobody killed the job, and nothing else than the
/// program failed.
pub(crate) fn decide(ended: &Ended) -> bool {
    ended.verdict.as_ref().is_some_and(|verdict| {
        verdict.state() == FinalState::Failed && verdict.ranks.iter().any(failed)
    })
}

/// Hydra's number: the statuses of all ranks, as wait gives them, or'ed bit by bit and then read as one:
/// where any was killed by a signal those bits count. Ranks that were ended with the job are left
/// out, and nothing that failed is 0.
pub(crate) fn combined(ranks: &[RankReport]) -> u8 {
    let own = ranks
        .iter()
        .filter(|report| report.end.as_ref().is_some_and(|ended| !ended.stopped));
    let (mut codes, mut signals) = (0, 0);
    for end in own.filter_map(end) {
        match end {
            End::Code(code) => codes |= code,
            End::Signal(signal) => signals |= signal,
        }
    }
    match (signals, codes) {
        (0, 0) => 1,
        (0, codes) => codes,
        (signals, _) => signals,
    }
}

#[cfg(test)]
mod tests {
    use job::wire::RankEnded;

    use super::*;

    fn report(rank: u32, end: End, pmi: PmiStage, stopped: bool) -> RankReport {
        RankReport {
            rank,
            host: format!("n{}", rank / 2),
            end: Some(RankEnded {
                rank,
                how: Some(end.into()),
                pmi: pmi.into(),
                stopped,
                ..RankEnded::default()
            }),
            ..RankReport::default()
        }
    }

    #[test]
    fn those_that_failed_of_their_own_are_shown_when_there_are_several() {
        let mut ranks = vec![
            report(0, End::Code(0), PmiStage::Finalized, false),
            report(1, End::Code(7), PmiStage::Silent, false),
            report(2, End::Signal(15), PmiStage::Initialized, true),
        ];
        assert_eq!(failures(&ranks), [] as [String; 0]);
        ranks.push(report(3, End::Signal(11), PmiStage::Initialized, false));
        let lines = failures(&ranks).join("\n");
        let lines: Vec<&str> = lines.split_whitespace().collect();
        assert_eq!(
            lines.join(" "),
            "2 of 4 ranks failed: rank node end cause 1 n0 code 7 without MPI_Init \
             3 n1 signal 11 (SIGSEGV) without MPI_Finalize"
        );
        assert_eq!(
            all(&ranks),
            [
                "exit codes on n0: 0: 0, 1: 7",
                "exit codes on n1: 2: signal 15, 3: signal 11"
            ]
        );
        assert_eq!(combined(&ranks), 11);
        ranks[3] = report(3, End::Code(8), PmiStage::Finalized, false);
        assert_eq!(combined(&ranks), 15);
        ranks[3] = RankReport {
            group: 2,
            group_rank: 0,
            ..report(3, End::Code(8), PmiStage::Finalized, false)
        };
        assert_eq!(all(&ranks)[1], "exit codes on n1: 2: signal 15, 2.0: 8");
    }

    #[test]
    fn ranks_that_are_lost_with_a_container_share_a_row_that_says_how_it_ended() {
        let mut ranks: Vec<RankReport> = (0..60)
            .map(|rank| report(rank, End::Signal(15), PmiStage::Initialized, true))
            .collect();
        ranks[5] = report(5, End::Signal(9), PmiStage::Initialized, false);
        for rank in &mut ranks[4..8] {
            rank.host = "n2".into();
            rank.container_exit = Some(-104);
        }
        ranks[6].end = None;
        ranks[7].end = None;
        let lines = failures(&ranks);
        assert_eq!(
            lines.join("\n"),
            "\
4 of 60 ranks failed or were lost:
rank  node  end                  container exit          cause
   4  n2    signal 15 (SIGTERM)  -104 (over its memory)  lost with its container
   5  n2    signal 9 (SIGKILL)   -104 (over its memory)  without MPI_Finalize
 6-7  n2    unknown              -104 (over its memory)  lost with its container"
        );
        assert_eq!(
            all(&ranks[4..8]),
            [
                "exit codes on n2: 4: signal 15, 5: signal 9, 6: container exit -104 (over its memory), \
                 7: container exit -104 (over its memory)"
            ]
        );
        // Nothing is known of a rank whose container went in order before its end was told.
        ranks[6].container_exit = Some(0);
        ranks[7].container_exit = None;
        assert_eq!(
            all(&ranks[6..8]),
            ["exit codes on n2: 6: unknown, 7: unknown"]
        );
        // They are no failures of the program's own.
        assert_eq!(combined(&ranks[6..8]), 1);

        // Each on its own row, since nodes differ from pair to pair.
        for rank in &mut ranks {
            rank.end = None;
            rank.host = format!("n{}", rank.rank / 2);
            rank.container_exit = Some(-100);
        }
        let lines = failures(&ranks);
        assert_eq!(lines.len(), 2 + SHOWN + 1);
        assert!(lines[2].starts_with("  0-1  n0 "), "{}", lines[2]);
        assert_eq!(lines.last().unwrap(), "and 20 more");
    }
}
