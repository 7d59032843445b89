//! Table 3: what limits an accelerated map.

use super::world::{ACQUIRE, ASSEMBLE, TRANSFER, in_series};
use crate::figure::{Claim, FigureRow, FigureTable, PaperFigure};

/// §5.5: reading from HDFS alone.
const READ: f64 = 250.0;

pub(super) fn figure() -> PaperFigure {
    let all = in_series(&[ACQUIRE, ASSEMBLE, TRANSFER]);
    let parsed_after = in_series(&[READ, ACQUIRE]);
    let rows = [
        ("input acquisition", ACQUIRE),
        ("packets assembling", ASSEMBLE),
        ("transmission and result", TRANSFER),
        ("all three, one after the other", all),
        ("reading 250, then parsing 89.6", parsed_after),
        (
            "all, where 89.6 is parsing alone",
            in_series(&[parsed_after, ASSEMBLE, TRANSFER]),
        ),
    ];
    PaperFigure {
        name: "table3",
        title: "what limits an accelerated map",
        caption: vec![
            "The paper's throughputs of a node. The table calls 89.6 MB/s the acquisition, of which parsing is a part; its 5.5 \
             says that reading does 250 and parsing 89.6, which is less together: both are printed. Ours are measured by \
             fpgad bench, and by jobs."
                .to_owned(),
        ],
        tables: vec![FigureTable {
            title: "throughput of a node".to_owned(),
            unit: "MB/s",
            columns: vec!["paper".to_owned()],
            rows: rows.map(|(name, rate)| FigureRow::new(name, vec![rate])).to_vec(),
        }],
        claims: vec![Claim::new(
            "acquiring the input is the bottleneck",
            "89.6 of 2660 and 1000 MB/s",
            format!("{:.0} % of the time of a map", all / ACQUIRE * 100.0),
            all / ACQUIRE > 0.5,
        )],
        drawings: Vec::new(),
    }
}
