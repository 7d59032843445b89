//! The driver of this machine's accelerators, from which tasks lease devices themselves: no launcher does it for them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fpga_client::Function;
use fpga_client::client::{address, map_within};
use gerbil_task::settings::{ACC_FALLBACK, NEEDS_MAP, NEEDS_REDUCE};

use super::LocalJob;
use crate::accelerated::named;
use crate::error::{Error, Result};
use crate::settings::Settings;

/// For an answer of the driver, which waits for no lease.
const ANSWER: Duration = Duration::from_secs(1);

/// Where it listens.
pub(super) fn socket() -> PathBuf {
    address::default_socket()
}

/// Says which functions of the job the processor computes because there is no device of them; once of each.
///
/// # Errors
/// It is not to.
pub(super) fn look(order: &LocalJob<'_>, settings: &Settings) -> Result<()> {
    // Of what has no version for the processor its tasks say themselves what is missing.
    let Some(fallback) = settings.get(ACC_FALLBACK) else {
        return Ok(());
    };
    let planned = &order.spec.planned;
    let functions = planned.needs.iter().filter_map(|(stage, need)| {
        let said = match stage.as_str() {
            "map" => settings.get(NEEDS_MAP),
            "reduce" => settings.get(NEEDS_REDUCE),
            _ => None,
        };
        named(said.unwrap_or(need)).map(|(function, _)| function)
    });
    let functions: BTreeSet<Function> = functions.collect();
    if functions.is_empty() {
        return Ok(());
    }
    let mut missing = functions;
    let why = match map_within(&socket(), ANSWER) {
        Ok((devices, boards)) => {
            let is_on = |name: &str| {
                let mut boards = boards.iter();
                boards.any(|board| board.board == name && board.off.is_none())
            };
            let there = devices.iter().filter(|device| is_on(&device.board));
            let there: BTreeSet<&str> = there
                .filter_map(|device| device.device.split('#').next())
                .collect();
            missing.retain(|function| !there.contains(function.name()));
            format!("the fpgad at {} has none", socket().display())
        }
        Err(error) => error.to_string(),
    };
    for function in missing {
        if fallback == "never" {
            return Err(Error::new(format!(
                "no acc/{function}: {why}; start fpgad, or let the processor stand in with -D {ACC_FALLBACK}=start"
            )));
        }
        if !order.quiet && is_news(function) {
            crate::say(&format!(
                "{}: no acc/{function}: {why}: the processor computes it",
                planned.name
            ));
        }
    }
    Ok(())
}

/// A loop of jobs says it once.
fn is_news(function: Function) -> bool {
    static SAID: Mutex<BTreeSet<Function>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    said.insert(function)
}
