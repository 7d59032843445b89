//! What earlier runs of a program have taught, for `-r auto`.
//!
//! One small file a program, in the user's state folder; the newest run counts. A program is its
//! file: what is built elsewhere under the same name is another one.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use job::report::Report;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Bytes of a file; what is larger is none of ours.
const FILE_MAX: u64 = 64 * 1024;
/// Programs remembered: those that ran last.
const FILES_MAX: usize = 1000;
/// Letters of the program's name in the file's name.
const NAME_MAX: usize = 64;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PastRun {
    /// The program's file.
    program: PathBuf,
    processes: u32,
    mode: String,
    /// YARN's id of it.
    application: String,
    /// Mean over the ranks of the share of their lives that they waited for messages, 0 to 1.
    communication_share: f64,
}

/// The user's state folder, as the XDG rules have it; `None` where there is no home either.
pub(crate) fn state_folder(
    variable: &dyn Fn(&str) -> Option<std::ffi::OsString>,
) -> Option<PathBuf> {
    let absolute = |name| {
        let path = PathBuf::from(variable(name)?);
        path.is_absolute().then_some(path)
    };
    absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))
}

/// The communication share of the newest run of `program` that is remembered under `state_folder`.
/// What cannot be read is not remembered.
pub(crate) fn communication_share(program: &Path, state_folder: &Path) -> Option<f64> {
    let program = program.canonicalize().ok()?;
    let file = File::open(file(&program, state_folder)).ok()?;
    let mut text = String::new();
    file.take(FILE_MAX).read_to_string(&mut text).ok()?;
    let run: PastRun = serde_json::from_str(&text).ok()?;
    let share = run.communication_share;
    (run.program == program && (0.0..=1.0).contains(&share)).then_some(share)
}

/// Remembers what `report` says about `program`. A run in which nothing was measured, or that did
/// not succeed, leaves things as they are.
///
/// # Errors
/// The file cannot be written: nobody but a later `-r auto` misses it.
pub(crate) fn remember(report: &Report, program: &Path, state_folder: &Path) -> io::Result<()> {
    let shares: Vec<f64> = report
        .ranks
        .iter()
        .filter_map(|rank| rank.waiting_share)
        .filter(|share| (0.0..=1.0).contains(share))
        .collect();
    let Ok(count) = u32::try_from(shares.len()) else {
        return Ok(());
    };
    if count == 0 || report.exit_code != 0 {
        return Ok(());
    }
    let program = program.canonicalize()?;
    let run = PastRun {
        processes: report.processes,
        mode: report.mode.clone(),
        application: report.application.clone(),
        communication_share: shares.iter().sum::<f64>() / f64::from(count),
        program,
    };
    let path = file(&run.program, state_folder);
    let folder = path.parent().unwrap_or(state_folder);
    fs::create_dir_all(folder)?;
    // Two runs may end at the same time: each writes a file of its own, the last one stays.
    let new = path.with_extension(format!("new-{:016x}", rand::random::<u64>()));
    let written = File::create_new(&new)
        .and_then(|mut file| file.write_all(&serde_json::to_vec(&run)?))
        .and_then(|()| fs::rename(&new, &path));
    if written.is_err() {
        let _gone = fs::remove_file(&new).is_ok();
    }
    written.and_then(|()| forget(folder, FILES_MAX))
}

/// Removes the oldest of the files in `folder` until `most` are left: programs under changing paths,
/// such as those of a build that is thrown away, would otherwise add up for ever. Half-written files of
/// runs that were killed are among them, and age as all others.
fn forget(folder: &Path, most: usize) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Another run may have removed it meanwhile.
        if let Ok(written) = entry.metadata().and_then(|found| found.modified()) {
            files.push((written, entry.path()));
        }
    }
    let surplus = files.len().saturating_sub(most);
    if surplus > 0 {
        sort::ascending(&mut files);
    }
    for (_, path) in files.into_iter().take(surplus) {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// `program` is in canonical form.
fn file(program: &Path, state_folder: &Path) -> PathBuf {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| match c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') {
        true => c,
        false => '_',
    };
    let name: String = name.chars().take(NAME_MAX).map(plain).collect();
    let digest = Sha256::digest(program.as_os_str().as_encoded_bytes());
    let digest = hex::encode(&digest[..8]);
    state_folder
        .join("gerbil/reports")
        .join(format!("{name}-{digest}.json"))
}

/// Whether a file of the folder of reports has a name that is made here; a half-written one of a run that was killed has.
pub(crate) fn is_report(name: &str) -> bool {
    let is_hex = |text: &str| text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let stem = match name.rsplit_once('.') {
        Some((stem, "json")) => stem,
        Some((stem, new)) if new.strip_prefix("new-").is_some_and(is_hex) => stem,
        Some(_) | None => return false,
    };
    stem.rsplit_once('-')
        .is_some_and(|(_, digest)| is_hex(digest))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use job::report::RankReport;

    use super::*;

    fn report(shares: &[Option<f64>]) -> Report {
        let rank = |share: &Option<f64>| RankReport {
            waiting_share: *share,
            ..RankReport::default()
        };
        Report {
            ranks: shares.iter().map(rank).collect(),
            ..Report::default()
        }
    }

    #[test]
    fn the_newest_run_of_the_same_file_counts() {
        let folder = tempfile::tempdir().unwrap();
        let (program, other) = (folder.path().join("cpi"), folder.path().join("dir"));
        fs::write(&program, "x").unwrap();
        fs::create_dir(&other).unwrap();
        let other = other.join("cpi");
        fs::write(&other, "y").unwrap();
        let state = folder.path().join("state");
        assert_eq!(communication_share(&program, &state), None);

        remember(&report(&[Some(0.2), None, Some(0.4)]), &program, &state).unwrap();
        let share = communication_share(&program, &state).unwrap();
        assert!((share - 0.3).abs() < 1e-9);
        assert_eq!(communication_share(&other, &state), None);

        remember(&report(&[Some(0.9)]), &program, &state).unwrap();
        let share = communication_share(&program, &state).unwrap();
        assert!((share - 0.9).abs() < 1e-9);
        let files = fs::read_dir(state.join("gerbil/reports")).unwrap().count();
        assert_eq!(files, 1);
    }

    #[test]
    fn files_are_known_by_their_names() {
        let own = file(Path::new("/opt/my prog.x"), Path::new("/s"));
        let own = own.file_name().unwrap().to_str().unwrap();
        assert!(is_report(own), "{own}");
        let stem = own.strip_suffix(".json").unwrap();
        assert!(is_report(&format!("{stem}.new-0123456789abcdef")));
        for other in ["notes.json", "cpi-0123.json", "mine", "x-0123456789abcdef"] {
            assert!(!is_report(other), "{other}");
        }
    }

    #[test]
    fn a_run_that_taught_nothing_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("cpi");
        fs::write(&program, "x").unwrap();
        let state = folder.path();
        remember(&report(&[None]), &program, state).unwrap();
        let failed = Report {
            exit_code: 1,
            ..report(&[Some(0.5)])
        };
        remember(&failed, &program, state).unwrap();
        assert!(!state.join("gerbil").exists());
        fs::create_dir_all(state.join("gerbil/reports")).unwrap();
        fs::write(file(&program.canonicalize().unwrap(), state), "{").unwrap();
        assert_eq!(communication_share(&program, state), None);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let path = |age: u64| folder.path().join(format!("{age}.json"));
        let now = std::time::SystemTime::now();
        for age in [3, 0, 4, 1, 2] {
            let file = File::create(path(age)).unwrap();
            file.set_modified(now - Duration::from_secs(60 * age))
                .unwrap();
        }
        forget(folder.path(), 5).unwrap();
        forget(folder.path(), 2).unwrap();
        let kept: Vec<bool> = (0..5).map(|age| path(age).exists()).collect();
        assert_eq!(kept, [true, true, false, false, false]);
    }

    #[test]
    fn the_state_folder_follows_the_rules() {
        let folder = |state: Option<&str>, home: Option<&str>| {
            state_folder(&|name| match name {
                "XDG_STATE_HOME" => state.map(Into::into),
                _ => home.map(Into::into),
            })
        };
        assert_eq!(folder(Some("/s"), Some("/h")), Some("/s".into()));
        assert_eq!(
            folder(Some("rel"), Some("/h")),
            Some("/h/.local/state".into())
        );
        assert_eq!(folder(None, None), None);
    }
}
