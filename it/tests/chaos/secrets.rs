//! Where the keys of a running job can be read, and where not.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use it::bed::{Case, Given};

pub const CASES: &[(&str, Case)] = &[(
    "the keys of a job are in its containers' credentials alone",
    in_credentials_alone,
)];

/// Programs and libraries are larger, and hold no keys.
const FILE_MAX: u64 = 4 << 20;

/// What of a file is secret: the lines of keys, and a launcher's ticket.
fn secrets_in(bytes: &[u8]) -> Vec<String> {
    const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
    const END: &str = "-----END PRIVATE KEY-----";
    const TICKET: &str = "\"ticket\":[";
    let text = String::from_utf8_lossy(bytes);
    let mut found = Vec::new();
    for part in text.split(BEGIN).skip(1) {
        let lines = part.split(END).next().unwrap_or_default().lines();
        found.extend(
            lines
                .map(str::trim)
                .filter(|line| line.len() > 16)
                .map(str::to_owned),
        );
    }
    for part in text.split(TICKET).skip(1) {
        found.extend(part.split(']').next().map(str::to_owned));
    }
    found
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&entry.path(), found),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}

fn mode(path: &Path) -> Result<u32> {
    Ok(fs::metadata(path)?.permissions().mode() & 0o777)
}

/// Whether others can read a file below `top`: its own mode, or that of a folder on the way, gives them
/// nothing.
fn is_closed(path: &Path, top: &Path) -> Result<bool> {
    let below = path.ancestors().take_while(|way| *way != top);
    for way in below {
        if mode(way)? & 0o007 == 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

fn in_credentials_alone(given: &Given) -> Result<()> {
    let hosts: Vec<String> = given
        .cluster
        .nodes()
        .iter()
        .map(|node| node.host.to_string())
        .collect();
    let list = hosts.join(",");
    let (held, _report) = given.held("secrets", &["-hosts", &list])?;
    let mut all = Vec::new();
    // Not what the ResourceManager remembers of its applications, which whoever runs it must guard.
    for folder in ["nodes", "storage", "daemons", "state"] {
        files(&given.cluster.folder().join(folder), &mut all);
    }
    all.retain(|path| fs::metadata(path).is_ok_and(|found| found.len() < FILE_MAX));

    let mut secrets = BTreeSet::new();
    let mut holders = 0;
    for path in &all {
        let found = secrets_in(&fs::read(path).unwrap_or_default());
        if found.is_empty() {
            continue;
        }
        holders += 1;
        secrets.extend(found);
        ensure!(
            is_closed(path, given.cluster.folder())?,
            "{} can be read by others",
            path.display()
        );
    }
    // One AM and three launchers, each with a key of two lines or three; the AM has both keys.
    ensure!(
        holders >= 4 && secrets.len() >= 6,
        "{holders} files, {} secrets",
        secrets.len()
    );

    let free_of_them = |what: &str, bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let shown = secrets.iter().find(|secret| text.contains(secret.as_str()));
        match shown {
            Some(_) => Err(anyhow::anyhow!("{what} shows a secret")),
            None => Ok(()),
        }
    };
    let client = i32::try_from(held.running.id())?;
    let mut processes = vec![client];
    let of_containers = given.cluster.container_processes()?;
    ensure!(of_containers.len() >= 8, "{of_containers:?}");
    processes.extend(of_containers.iter().map(|found| found.pid));
    for pid in processes {
        for file in ["cmdline", "environ"] {
            let path = format!("/proc/{pid}/{file}");
            free_of_them(&path, &fs::read(&path).unwrap_or_default())?;
        }
    }
    let stderr = held.running.stderr_so_far() + &held.running.stdout_so_far();
    free_of_them("gerbil-run", stderr.as_bytes())?;
    // Whatever else others may read: logs of daemons and containers, staged files, launch scripts.
    let readable =
        |path: &&PathBuf| is_closed(path, given.cluster.folder()).is_ok_and(|closed| !closed);
    for path in all.iter().filter(readable) {
        free_of_them(
            &path.display().to_string(),
            &fs::read(path).unwrap_or_default(),
        )?;
    }
    held.let_go()?;
    given.is_clean()
}
