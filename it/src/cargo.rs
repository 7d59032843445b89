//! Commands that build, started by tests.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

/// `cargo`: the one that runs this test, or the one on PATH.
#[must_use]
pub fn cargo() -> Command {
    let name = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(name);
    forget(&mut cargo);
    cargo
}

/// The target folder that this program was built into.
///
/// # Errors
///
/// It lies in none.
pub fn target_folder() -> Result<PathBuf> {
    let own = std::env::current_exe().context("finding the target folder")?;
    let profile = own
        .ancestors()
        .find(|folder| folder.ends_with("debug") || folder.ends_with("release"));
    let target = profile.and_then(|profile| profile.parent());
    let target = target.with_context(|| format!("{} lies in no target folder", own.display()))?;
    Ok(target.to_owned())
}

/// What a user sets and cargo does not: builds with another of these make everything anew.
const OF_THE_USER: [&str; 3] = ["CARGO_TARGET_DIR", "CARGO_HOME", "CARGO_INCREMENTAL"];

/// Takes from `command` what cargo tells the programs that it runs: build scripts look at that, and everything
/// behind them would be built once more, and a third time by whoever is not started by cargo.
pub fn forget(command: &mut Command) {
    let names = std::env::vars_os().map(|(name, _)| name);
    let by_cargo = names.filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO") && !OF_THE_USER.contains(&name.as_ref())
    });
    for name in by_cargo {
        command.env_remove(name);
    }
}
