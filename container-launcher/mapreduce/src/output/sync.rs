//! The syncs of SequenceFiles: 16 bytes that a file repeats between its records, and that no value may hold.
//!
//! Each file has one of its own, so that SequenceFiles are values of another SequenceFile, and whoever writes values
//! does not know it beforehand. Each attempt of a task writes the same: the driver draws a job's seed and hands it to
//! all tasks among the settings; a file's sync is made of it and of the file's name.

use std::fs::File;
use std::io::Read as _;

use crate::error::{Context as _, Result};
use crate::settings::{SYNC_SEED, Settings};
use crate::sort::digest::hash;

/// Bytes of a sync.
pub(crate) const SYNC: usize = 16;

/// The setting in which the driver hands a job's seed to tasks, and a writer finds its file's: a name of the job's own, which
/// clients pass on whatever they know.
pub(crate) const SEED: &str = "sequencefile.seed";

/// Where the kernel gives numbers by chance.
const CHANCE: &str = "/dev/urandom";

/// The seed of a job that writes to `output`: by chance, unless settings have one, which two jobs may share.
pub(crate) fn seed_of_job(settings: &Settings, output: &str) -> Result<String> {
    match settings.get(SYNC_SEED) {
        Some(given) => Ok(format!("{given}/{output}")),
        None => by_chance(),
    }
}

/// The job's `settings` as the writer of the output file `name` is handed them: with that file's own seed.
pub(crate) fn settings_of_file(settings: &Settings, name: &str) -> Settings {
    let mut own = settings.clone();
    if let Some(seed) = settings.get(SEED) {
        own.set(SEED, &format!("{seed}/{name}"));
    }
    own
}

/// The sync of the file whose writer is handed these settings; by chance where they have no seed.
pub(crate) fn sync_of_file(settings: &Settings) -> Result<[u8; SYNC]> {
    let seed = match settings.get(SEED) {
        Some(seed) => seed.to_owned(),
        None => by_chance()?,
    };
    let mut sync = [0; SYNC];
    let (first, second) = sync.split_at_mut(SYNC / 2);
    first.copy_from_slice(&hash(seed.as_bytes(), 1).to_le_bytes());
    second.copy_from_slice(&hash(seed.as_bytes(), 2).to_le_bytes());
    Ok(sync)
}

fn by_chance() -> Result<String> {
    let mut bytes = [0; SYNC];
    File::open(CHANCE)
        .and_then(|mut chance| chance.read_exact(&mut bytes))
        .context(|| CHANCE)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::{SEED, SYNC_SEED, Settings, seed_of_job, settings_of_file, sync_of_file};

    fn with(name: &str, seed: &str) -> Settings {
        let mut settings = Settings::default();
        settings.set(name, seed);
        settings
    }

    #[test]
    fn each_file_of_each_job_has_a_sync_of_its_own_and_each_attempt_the_same() {
        let nothing = Settings::default();
        let ours = with(SYNC_SEED, "ours");
        let mut syncs = std::collections::BTreeSet::new();
        for output in ["/out", "/out2"] {
            for settings in [&nothing, &nothing, &ours, &with(SYNC_SEED, "theirs")] {
                let job = with(SEED, &seed_of_job(settings, output).unwrap());
                for part in ["part-m-00000", "part-m-00001", "other-m-00000"] {
                    let file = settings_of_file(&job, part);
                    let sync = sync_of_file(&file).unwrap();
                    assert_eq!(sync_of_file(&settings_of_file(&job, part)).unwrap(), sync);
                    assert!(syncs.insert(sync), "{output} {part}");
                }
            }
        }
        // A writer that is handed no seed draws one.
        let drawn = || sync_of_file(&settings_of_file(&nothing, "part")).unwrap();
        assert_ne!(drawn(), drawn());
        let given = || seed_of_job(&ours, "/out").unwrap();
        assert_eq!(given(), given());
    }
}
