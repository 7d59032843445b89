//! What stands at the end of a list.

use terminal::table::Column;

use super::ListedJobDone;

/// Letters of a cause; the whole of it stands above, behind the number of its job.
const CAUSE: usize = 110;

/// A row a job, in the order of the list.
pub(super) fn table(done: &[ListedJobDone]) -> Vec<String> {
    let columns = [
        Column::Right("job"),
        Column::Right("line"),
        Column::Left("application"),
        Column::Right("exit"),
        Column::Right("seconds"),
        Column::Left("cause"),
    ];
    let row = |done: &ListedJobDone| {
        vec![
            done.number.to_string(),
            done.line.to_string(),
            match done.application.is_empty() {
                true => "-".to_owned(),
                false => done.application.clone(),
            },
            done.exit_code.to_string(),
            format!("{:.1}", done.seconds),
            short(&done.sentence),
        ]
    };
    let mut lines = terminal::table::table(0, &columns, done.iter().map(row));
    let failed = done.iter().filter(|done| done.exit_code != 0);
    lines.push(match failed.count() {
        0 => format!("all {} succeeded", done.len()),
        failed => format!("{failed} of {} failed", done.len()),
    });
    lines
}

fn short(cause: &str) -> String {
    match cause.char_indices().nth(CAUSE) {
        None => cause.to_owned(),
        Some((end, _)) => format!("{}…", &cause[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_job_has_a_row() {
        let done = |number, application: &str, exit_code, sentence: &str| ListedJobDone {
            number,
            line: number + 1,
            seconds: 3.25,
            application: application.into(),
            exit_code,
            sentence: sentence.into(),
            report: None,
        };
        let lines = table(&[
            done(1, "application_1700000000000_0001", 0, ""),
            done(
                2,
                "application_1700000000000_0002",
                7,
                "rank 0 on n1 exited with code 7",
            ),
            done(3, "", 130, "not started: the list was ended before"),
        ]);
        assert_eq!(
            lines.join("\n"),
            "\
job  line  application                     exit  seconds  cause
  1     2  application_1700000000000_0001     0      3.2
  2     3  application_1700000000000_0002     7      3.2  rank 0 on n1 exited with code
                                                          7
  3     4  -                                130      3.2  not started: the list was
                                                          ended before
2 of 3 failed"
        );
    }

    #[test]
    fn a_long_cause_is_cut() {
        assert_eq!(short("short"), "short");
        let long = short(&"ä".repeat(500));
        assert_eq!(long.chars().count(), CAUSE + 1);
        assert!(long.ends_with('…'));
    }
}
