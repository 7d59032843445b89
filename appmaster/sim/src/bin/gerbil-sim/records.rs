//! Records of sessions: `gerbil-sim replay` and `compare`.

use std::fs::File;
use std::io::BufReader;

use anyhow::{Context as _, Result, bail};
use policy::schedule::named;
use sim::record;
use sim::recorded::RecordedSession;

use crate::{SimOptions, UNSAID, USAGE};

pub(crate) fn replay(options: &SimOptions) -> Result<()> {
    let [path] = options.given.as_slice() else {
        bail!("replay wants one record\n{USAGE}")
    };
    let file = File::open(path).with_context(|| format!("reading {}", path.display()))?;
    let (recorded, lines) = record::open(BufReader::new(file))?;
    let policy = options.policy.clone().or(recorded);
    let policy = policy.as_deref().unwrap_or(UNSAID);
    let same = record::replay_lines(named(policy)?, lines)?;
    println!("{same} decisions of {policy}, the same as recorded");
    Ok(())
}

pub(crate) fn compare(options: &SimOptions) -> Result<()> {
    let [path] = options.given.as_slice() else {
        bail!("compare wants one record\n{USAGE}")
    };
    let file = File::open(path).with_context(|| format!("reading {}", path.display()))?;
    let session = RecordedSession::read(BufReader::new(file), options.policy())?;
    let policy = options.policy.as_deref().unwrap_or(&session.policy);
    print!("{}", session.table(&session.play(policy)?));
    if let Some(path) = &options.json {
        let workload = serde_json::to_string_pretty(&session.workload)?;
        std::fs::write(path, workload).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}
