//! K-means whose first round leaves packed vectors.

use anyhow::{Result, ensure};
use it::bed::Given;
use it::mapreduce::{Files, files, is_same};

use super::{ROUNDS, packets, reported, run_with};

/// The first round leaves packed vectors, and the second reads those.
pub fn text_is_parsed_once(given: &Given, program: &str, wanted: &[Files]) -> Result<()> {
    let said = run_with(given, (program, &["--packed", "true"]), &[], "/acc/packed")?
        .finish()?
        .success("of packed vectors")?;
    let [devices, processors] = packets(&reported(given, "packed")?);
    ensure!(
        devices > 0 && processors == 0,
        "{devices} {processors}: {}",
        said.stderr_text()
    );
    let left = given.cluster.hdfs().list("/acc/packed/round-0")?;
    let left = left
        .iter()
        .filter(|file| file.path_suffix.starts_with("packed-m-"));
    let bytes: Vec<u64> = left.map(|file| file.length).collect();
    ensure!(
        bytes.len() > 1 && bytes.iter().sum::<u64>() == 2 * 3000 * 512,
        "{bytes:?}"
    );
    for (round, wanted) in ROUNDS.iter().zip(wanted) {
        let mut files = files(&given.cluster, &format!("/acc/packed/{round}"))?;
        files.retain(|name, _| !name.starts_with("packed-m-"));
        is_same(&files, wanted)?;
    }
    Ok(())
}
