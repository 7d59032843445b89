//! Commands that build, started by tests.

use std::process::Command;

/// `cargo`: the one that runs this test, or the one on PATH.
#[must_use]
pub fn cargo() -> Command {
    let name = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(name);
    forget(&mut cargo);
    cargo
}

/// Takes from `command` what cargo tells the programs that it runs: build scripts look at that, and everything
/// behind them would be built once more, and a third time by whoever is not started by cargo.
pub fn forget(command: &mut Command) {
    let names = std::env::vars_os().map(|(name, _)| name);
    let by_cargo = names.filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO") && name != "CARGO_TARGET_DIR" && name != "CARGO_HOME"
    });
    for name in by_cargo {
        command.env_remove(name);
    }
}
