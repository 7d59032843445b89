//! Figure 9: K-means with 16 and with 32 centres.

use anyhow::Result;

use super::fig7::grows;
use super::world::{HeteroWorld, Program, SIZES};
use crate::chart;
use crate::figure::{Claim, Drawing, FigureRow, FigureTable, PaperFigure};

pub(super) fn figure(world: &HeteroWorld) -> Result<PaperFigure> {
    let program = Program::KMeans;
    let rate = world.without(program)?;
    let (mut board, mut cpu, mut twice) = (Vec::new(), Vec::new(), Vec::new());
    for size in SIZES {
        board.push(world.alone(world.accelerated(program, size))?);
        cpu.push(world.alone(world.maps(size, rate))?);
        twice.push(world.alone(world.maps(size, rate / 2.0))?);
    }
    let times = |of: &[f64]| -> Vec<f64> {
        let both = of.iter().zip(&board);
        both.map(|(cpu, board)| cpu / board).collect()
    };
    let (of_16, of_32) = (times(&cpu), times(&twice));
    let last = |of: &[f64]| of.last().copied().unwrap_or(f64::NAN);
    let (end_16, end_32) = (last(&of_16), last(&of_32));
    let higher = of_16.iter().zip(&of_32).all(|(one, other)| other > one);
    let columns: Vec<String> = SIZES.iter().map(|size| format!("{size} GB")).collect();
    let speed_up = FigureTable {
        title: "how many times faster with boards".to_owned(),
        unit: "times",
        columns: columns.clone(),
        rows: vec![
            FigureRow::new("16 centres", of_16.clone()),
            FigureRow::new("32 centres", of_32.clone()),
        ],
    };
    Ok(PaperFigure {
        name: "fig9",
        title: "K-means with 16 and with 32 centres",
        caption: vec![
            world.caption(),
            "A board's logic grows with the centres, so its time stays; a thread computes twice as long for twice as many, \
             and what it parses beside that is left out. That both take the same cycles a vector is a fact of the \
             Verilog, which fpgad's own tests count; here it is put in."
                .to_owned(),
        ],
        claims: vec![
            Claim::new(
                "without boards the time grows with the centres",
                "obviously",
                format!("{:.0} against {:.0} s at the end", last(&twice), last(&cpu)),
                twice.iter().zip(&cpu).all(|(twice, once)| twice > once),
            ),
            Claim::new(
                "the speed-up is higher with 32 centres, and grows with the data",
                "higher (no number)",
                format!("{end_32:.1} against {end_16:.1} times at the end"),
                higher && grows(&of_32),
            ),
        ],
        drawings: vec![Drawing {
            name: "hetero-fig9".to_owned(),
            svg: chart::svg(&speed_up),
        }],
        tables: vec![
            FigureTable {
                title: "from submission to end".to_owned(),
                unit: "s",
                columns,
                rows: vec![
                    FigureRow::new("boards, 16 and 32 centres", board.clone()),
                    FigureRow::new("CPU, 16 centres", cpu),
                    FigureRow::new("CPU, 32 centres", twice),
                ],
            },
            speed_up,
        ],
    })
}
