//! What lies on this machine: the user's state and cache folders, and the folder for temporary files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::job::exit::Exit;
use mini::RunFolder;
use proto_hadoop::ApplicationId;
use session::SessionsFolder;

use super::kept::{Fate, Kept, Removable};
use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::system::system;
use crate::{history, local, sessions};

/// A record that is younger may be of an application that YARN does not know yet.
const STARTING: Duration = Duration::from_secs(3600);

/// All that is there; `running` are the user's applications on `cluster`.
pub(super) fn kept(cluster: Option<&Cluster>, running: &BTreeSet<ApplicationId>) -> Vec<Kept> {
    let variable = |name: &str| std::env::var_os(name);
    let mut all = Vec::new();
    let folders = [
        ("sessions", sessions::folder()),
        ("applications of gerbil mr", sessions::applications()),
    ];
    for (what, folder) in folders {
        let Ok(folder) = folder else {
            continue;
        };
        all.extend(records(what, &folder, &|owned| {
            fate_of(owned, cluster, running)
        }));
    }
    if let Some(state) = history::state_folder(&variable) {
        let reports = state.join("gerbil/reports");
        all.push(row(
            "how programs have communicated",
            &reports,
            files(&reports, &history::is_report),
        ));
    }
    if let Some(caches) = staging::digests_folder(&variable) {
        all.push(row(
            "digests of files that did not change",
            &caches,
            files(&caches, &staging::digest::is_memory),
        ));
    }
    let runs = RunFolder::of_user(&local::base());
    all.push(row(
        "what killed runs with --local have left",
        &runs,
        RunFolder::left(&runs),
    ));
    let live = row("runs with --local", &runs, RunFolder::live(&runs));
    all.push(stays(live, "they are not over"));
    let results = row(
        "results that did not come home",
        &runs,
        RunFolder::results(&runs),
    );
    let days = RunFolder::RESULTS_DAYS;
    all.push(stays(
        results,
        &format!("they are yours; a later run removes them after {days} days"),
    ));
    all.retain(|kept| !kept.is_empty());
    all
}

fn stays(kept: Kept, why: &str) -> Kept {
    Kept {
        fate: Fate::Stays(why.to_owned()),
        ..kept
    }
}

/// What becomes of the record of an application.
fn fate_of(
    owned: &session::Owned,
    cluster: Option<&Cluster>,
    running: &BTreeSet<ApplicationId>,
) -> Fate {
    let is_over = match (&owned.local, cluster) {
        (Some(folder), _) => {
            if let Some(host) = owned.other_host() {
                return Fate::Stays(format!(
                    "it is of {host}, where gerbil clean sees whether it is over"
                ));
            }
            !RunFolder::is_held(folder)
        }
        (None, Some(cluster)) => {
            let mut theirs = owned.resource_managers.iter();
            let is_here = theirs.any(|one| cluster.resource_managers.client.contains(one));
            if !is_here || owned.user != cluster.user {
                let why = "it is of another cluster or user than the one that is looked at";
                return Fate::Stays(why.to_owned());
            }
            !running.contains(&owned.application)
        }
        (None, None) => return Fate::Stays("its cluster is not looked at".to_owned()),
    };
    match is_over {
        true => Fate::Goes,
        false => Fate::Stays(format!("{} is not over", owned.application)),
    }
}

/// The records of a folder, those together that have the same fate.
fn records(
    what: &'static str,
    folder: &SessionsFolder,
    fate: &dyn Fn(&session::Owned) -> Fate,
) -> Vec<Kept> {
    let mut rows: Vec<(Fate, Vec<PathBuf>)> = Vec::new();
    for name in folder.names().unwrap_or_default() {
        let files = folder.files_of(&name);
        let fate = match folder.owned(&name) {
            Ok(Some(owned)) => fate(&owned),
            Ok(None) => continue,
            Err(why) => Fate::Stays(why.to_string()),
        };
        let fate = match fate == Fate::Goes && files.iter().any(|file| is_young(file)) {
            // Written before YARN knows of the application.
            true => Fate::Stays("it is less than an hour old, and may be starting".to_owned()),
            false => fate,
        };
        match rows.iter_mut().find(|(known, _)| *known == fate) {
            Some((_, all)) => all.extend(files),
            None => rows.push((fate, files)),
        }
    }
    rows.into_iter()
        .map(|(fate, files)| Kept {
            fate,
            ..row(what, folder.path(), files)
        })
        .collect()
}

fn is_young(file: &Path) -> bool {
    let modified = fs::metadata(file).and_then(|there| there.modified());
    modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age < STARTING))
}

/// What `folder` has; nothing where it is not there.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    sort::ascending(&mut all);
    all
}

/// The files of `folder` that gerbil makes there, by their names.
fn files(folder: &Path, is_ours: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut all = below(folder);
    all.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        let is_file = fs::symlink_metadata(path).is_ok_and(|there| there.is_file());
        is_file && name.is_some_and(is_ours)
    });
    all
}

fn row(what: &'static str, place: &Path, paths: Vec<PathBuf>) -> Kept {
    let (mut files, mut bytes) = (0, 0u64);
    for path in &paths {
        let (more, size) = measured(path);
        files += more;
        bytes = bytes.saturating_add(size);
    }
    Kept {
        what,
        place: place.display().to_string(),
        files,
        bytes,
        fate: Fate::Goes,
        removable: Removable::Here(paths),
    }
}

/// Files and bytes; a folder that has none counts as a file, as it is there. Links are not followed.
fn measured(path: &Path) -> (u64, u64) {
    let (mut files, mut bytes) = (0, 0u64);
    let mut folders = vec![path.to_owned()];
    while let Some(path) = folders.pop() {
        match fs::symlink_metadata(&path) {
            Ok(there) if there.is_dir() => folders.extend(below(&path)),
            Ok(there) => {
                files += 1;
                bytes = bytes.saturating_add(there.len());
            }
            Err(_gone) => {}
        }
    }
    (files.max(u64::from(path.is_dir())), bytes)
}

/// Removes what goes. What is gone by then is no failure.
pub(super) fn remove(all: &[Kept]) -> Result<(), Failure> {
    for kept in all.iter().filter(|kept| kept.fate == Fate::Goes) {
        let Removable::Here(paths) = &kept.removable else {
            continue;
        };
        for path in paths {
            let removed = match fs::symlink_metadata(path) {
                Ok(there) if there.is_dir() => fs::remove_dir_all(path),
                Ok(_) => fs::remove_file(path),
                Err(_gone) => continue,
            };
            removed.map_err(system("remove what was left", Exit::Staging))?;
        }
    }
    Ok(())
}
