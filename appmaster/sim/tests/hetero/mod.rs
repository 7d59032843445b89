//! HeteroYARN's figures: what the model gives, and what the paper claims of it.

use sim::figure::FigureWorld;
use sim::hetero::{HeteroWorld, PaperFigure};

fn figure(name: &str) -> PaperFigure {
    let mut made = HeteroWorld::FIGURES
        .make(name, &HeteroWorld::default())
        .unwrap();
    made.pop().unwrap()
}

#[test]
fn the_claims_of_the_paper_hold_in_the_model() {
    for name in HeteroWorld::FIGURES
        .names()
        .filter(|name| *name != "shares")
    {
        let figure = figure(name);
        assert!(!figure.claims.is_empty(), "{name}");
        for claim in &figure.claims {
            assert!(claim.holds, "{name}: {claim:?}");
        }
        assert!(figure.markdown().contains("| claim | paper |"));
    }
}

#[test]
fn shares_are_played_under_each_policy() {
    let figure = figure("shares");
    let [slower, ends, of_time @ ..] = figure.tables.as_slice() else {
        panic!("{figure:?}")
    };
    assert_eq!(
        (slower.rows.len(), ends.rows.len(), of_time.len()),
        (4, 4, 4)
    );
    for row in &slower.rows {
        assert!(row.values.iter().all(|times| *times >= 0.99), "{row:?}");
    }
    // At no time more slots than there are.
    for table in of_time {
        for moment in 0..table.columns.len() {
            let sum: f64 = table.rows.iter().map(|row| row.values[moment]).sum();
            assert!(sum <= 100.0 + 1e-9, "{table:?}");
        }
    }
    assert_eq!(figure.drawings.len(), 4);
}

#[test]
fn the_last_point_of_figure_7_is_the_papers() {
    let figure = figure("fig7");
    let ends: Vec<f64> = figure.tables[1]
        .rows
        .iter()
        .map(|row| row.values[6])
        .collect();
    assert!(
        (ends[0] - 7.5).abs() < 0.02 && (ends[1] - 2.3).abs() < 0.02,
        "{ends:?}"
    );
}

#[test]
fn the_throughputs_one_after_the_other_are_79_and_66() {
    let rows = &figure("table3").tables[0].rows;
    let rates: Vec<String> = rows
        .iter()
        .map(|row| format!("{:.1}", row.values[0]))
        .collect();
    assert_eq!(rates, ["89.6", "2660.0", "1000.0", "79.8", "66.0", "60.5"]);
}

#[test]
fn what_cannot_be_set_is_refused_with_what_can() {
    let mut world = HeteroWorld::default();
    world.set("tasks=16").unwrap();
    let said = |refused: Result<(), _>| format!("{:#}", refused.unwrap_err());
    assert_eq!(
        said(world.set("tasks=0")),
        "tasks=0: 1 to 1000 tasks are wanted"
    );
    assert_eq!(
        said(world.set("x=1")),
        "\"x\" cannot be set; there are tasks, startup"
    );
}
