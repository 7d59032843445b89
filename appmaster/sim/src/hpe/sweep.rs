//! The claims of Figures 8 and 9 where our numbers are others: how much of the outcome is the choice of a table.

use anyhow::{Context as _, Result};

use super::clusters::{E2, E3};
use super::fig8::{ends, gains};
use super::fig9::{Both, three};
use super::world::{HpeWorld, Policy};
use crate::figure::{FigureRow, FigureTable, PaperFigure};

const M_MAPS: [u32; 4] = [16, 32, 48, 64];
const D_MAPS: [u32; 3] = [32, 64, 96];
const W_MAPS: [u32; 4] = [8, 16, 24, 32];
/// Times on the GPU, against those of the table.
const DEVICE: [f64; 4] = [0.5, 1.0, 1.5, 2.0];

/// What came out of one set of numbers.
struct Set {
    gains: [f64; 3],
    hpe: f64,
    base: f64,
}

fn sets(world: &HpeWorld) -> Result<Vec<Set>> {
    let mut sets = Vec::new();
    for m in M_MAPS {
        for d in D_MAPS {
            for w in W_MAPS {
                for device in DEVICE {
                    sets.push(set(world, [m, d, w], device)?);
                }
            }
        }
    }
    Ok(sets)
}

fn set(world: &HpeWorld, maps: [u32; 3], device: f64) -> Result<Set> {
    let mut world = world.clone();
    for (name, maps) in ['M', 'D', 'W'].into_iter().zip(maps) {
        let kind = world.jobs.kind(name).context("M, D and W are there")?;
        kind.maps = maps;
        kind.device *= device;
    }
    let base = ends(&world, E2, Policy::Barrier)?;
    let hpe = ends(&world, E3, Policy::Hpe)?;
    let (spread, default) = Both::play(&world, &three())?.spreads();
    Ok(Set {
        gains: gains(base, hpe),
        hpe: spread,
        base: default,
    })
}

pub(super) fn figure(world: &HpeWorld) -> Result<PaperFigure> {
    let sets = sets(world)?;
    let all = f64::from(u32::try_from(sets.len())?);
    let share = |holds: &dyn Fn(&Set) -> bool| {
        let count = sets.iter().filter(|set| holds(set)).count();
        u32::try_from(count).map_or(f64::NAN, f64::from) / all * 100.0
    };
    let before = |set: &Set| set.gains.iter().all(|gain| *gain > 0.0);
    let grows = |set: &Set| set.gains[0] < set.gains[1] && set.gains[1] < set.gains[2];
    let shares = [
        (
            "E3 with HPE ends before E2 at 3, 6 and 9 jobs",
            share(&before),
        ),
        (
            "E3 with HPE ends before E2 at 9 jobs",
            share(&|set| set.gains[2] > 0.0),
        ),
        (
            "the gain at 9 jobs is above that at 3",
            share(&|set| set.gains[0] < set.gains[2]),
        ),
        ("the gain grows from 3 over 6 to 9 jobs", share(&grows)),
        (
            "at 9 jobs it is between 15 and 25 %",
            share(&|set| (15.0..=25.0).contains(&set.gains[2])),
        ),
        (
            "HPE's spread over 6 orders is below the default's",
            share(&|set| set.hpe < set.base),
        ),
        (
            "and at most half of it",
            share(&|set| set.hpe <= set.base / 2.0),
        ),
    ];
    let mut nine: Vec<f64> = sets.iter().map(|set| set.gains[2]).collect();
    nine.sort_by(f64::total_cmp);
    let at = |index: usize| nine.get(index).copied().unwrap_or(f64::NAN);
    Ok(PaperFigure {
        name: "sweep",
        title: "the claims with other numbers",
        caption: vec![
            format!(
                "{all} sets of numbers: maps of M {M_MAPS:?}, of D {D_MAPS:?}, of W {W_MAPS:?}, times on the GPU times {DEVICE:?}; \
                 the rest as in the table."
            ),
            world.caption(),
        ],
        tables: vec![
            FigureTable {
                title: "sets in which it is so".to_owned(),
                unit: "%",
                columns: vec!["share".to_owned()],
                rows: shares
                    .map(|(name, share)| FigureRow::new(name, vec![share]))
                    .to_vec(),
            },
            FigureTable {
                title: "gain at 9 jobs over all sets".to_owned(),
                unit: "%",
                columns: ["least", "median", "most"].map(String::from).to_vec(),
                rows: vec![FigureRow::new(
                    "gain",
                    vec![at(0), at(nine.len() / 2), at(nine.len().saturating_sub(1))],
                )],
            },
        ],
        claims: Vec::new(),
        drawings: Vec::new(),
    })
}
