//! The main job on clusters that protect their RPC. That the servers really negotiated it is asserted by
//! the client crate's own tests, which `yarn_client` runs.

use anyhow::{Result, ensure};

use it::bed::{Case, Given};

pub const INTEGRITY: &[(&str, Case)] = &[(
    "the main job with hadoop.rpc.protection = integrity",
    main_job,
)];
pub const PRIVACY: &[(&str, Case)] = &[(
    "the main job with hadoop.rpc.protection = privacy",
    main_job,
)];

fn main_job(given: &Given) -> Result<()> {
    cpi(given, &[])
}

/// Eight ranks of cpi, with further options.
pub fn cpi(given: &Given, options: &[&str]) -> Result<()> {
    let program = given.example("cpi")?;
    let mut line = options.to_vec();
    line.extend(["-n", "8", &program]);
    let stdout = given.succeeds(&line)?.stdout_text();
    ensure!(
        stdout.contains("pi is about 3.14159265358")
            && stdout.matches(" of 8 runs on ").count() == 8,
        "{stdout}"
    );
    Ok(())
}
