//! proto-hadoop's own tests that need a real cluster.

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, Given};
use it::gerbil;
use it::ignored::{ignored_tests, run};

pub const CASES: &[(&str, Case)] = &[("proto-hadoop's own tests", own_tests)];

fn own_tests(given: &Given) -> Result<()> {
    let said = given.cluster.version()?;
    let asked = given.cluster.distribution().version().as_str();
    ensure!(said == asked, "the ResourceManager is {said}, not {asked}");
    let cargo = gerbil::with_settings(ignored_tests("cluster", ""), &given.cluster.conf_dir());
    run(cargo).with_context(|| given.cluster.log_tails())
}
