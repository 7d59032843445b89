//! Aligned columns for a terminal.

use std::time::Duration;

use crate::foreign::Foreign;
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, Row, Table, Width, presets::NOTHING,
};

/// Columns of a line, so that it fits a terminal of 100 behind the mark of our own lines.
pub const WIDTH: u16 = 88;

/// One column: its heading, and on which side its cells stand.
#[derive(Clone, Copy, Debug)]
pub enum Column {
    /// On the left.
    Left(&'static str),
    /// On the right.
    Right(&'static str),
}

impl Column {
    const fn heading(self) -> &'static str {
        match self {
            Self::Left(heading) | Self::Right(heading) => heading,
        }
    }
}

/// As `4 s`, `12 min`, `5 h` or `3 d`.
#[must_use]
pub fn span(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds @ 7200..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

/// The heading and the rows, each behind `indent` blanks; cells are words of others, as [`Foreign`] shows them. Only the last column is broken into more
/// than one line where a line would become too long.
pub fn table(
    indent: u16,
    columns: &[Column],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> Vec<String> {
    let last = columns.len().saturating_sub(1);
    let mut table = Table::new();
    table
        .load_preset(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH.saturating_sub(indent))
        .set_header(Row::from(columns.iter().map(|column| column.heading())))
        .add_rows(rows.into_iter().map(|row| {
            let cells = row.iter().enumerate();
            let cells = cells.map(|(index, cell)| Foreign::cell(cell, index == last).to_string());
            cells.collect::<Vec<String>>()
        }));
    for (index, column) in columns.iter().enumerate() {
        let Some(set) = table.column_mut(index) else {
            continue;
        };
        set.set_padding((0, if index == last { 0 } else { 2 }));
        if let Column::Right(_) = column {
            set.set_cell_alignment(CellAlignment::Right);
        }
        // However little the others leave, a word of a sentence stays readable.
        let constraint = match column {
            Column::Left(_) if index == last => ColumnConstraint::LowerBoundary(Width::Fixed(24)),
            Column::Left(_) | Column::Right(_) => ColumnConstraint::ContentWidth,
        };
        set.set_constraint(constraint);
    }
    let indent = " ".repeat(usize::from(indent));
    let text = table.trim_fmt();
    text.lines().map(|line| format!("{indent}{line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_column_is_broken() {
        let long = "a long reason with a good many words ".repeat(4);
        let lines = table(
            2,
            &[
                Column::Left("node"),
                Column::Right("ask"),
                Column::Left("why"),
            ],
            [
                vec!["n1.example.org:45454".into(), "4096/4".into(), long],
                vec!["n2".into(), "512/1".into(), "short".into()],
            ],
        );
        assert_eq!(lines[0], "  node                     ask  why");
        assert!(lines[1].starts_with("  n1.example.org:45454  4096/4  a long reason"));
        assert!(
            lines[2].starts_with("                                "),
            "{lines:#?}"
        );
        assert_eq!(
            lines.last().unwrap(),
            "  n2                     512/1  short"
        );
        assert!(lines.iter().all(|line| line.len() <= 88), "{lines:#?}");
    }

    #[test]
    fn a_cell_is_one_line_that_nothing_obeys() {
        let cell = "a\n\u{1b}[2Jb".to_owned();
        let lines = table(0, &[Column::Left("name")], [vec![cell]]);
        assert_eq!(lines, ["name", "a\\n\\x1b[2Jb"]);
        let columns = ["user", "queue", "program"].map(Column::Left);
        let long = vec!["x".repeat(1_000_000); 3];
        let lines = table(0, &columns, [long]);
        let bytes: usize = lines.iter().map(String::len).sum();
        assert!(bytes < 20_000, "{bytes}");
    }

    #[test]
    fn spans_are_short() {
        for (seconds, words) in [
            (4, "4 s"),
            (119, "119 s"),
            (720, "12 min"),
            (18_000, "5 h"),
            (300_000, "3 d"),
        ] {
            assert_eq!(span(Duration::from_secs(seconds)), words);
        }
    }
}
