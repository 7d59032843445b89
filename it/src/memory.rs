//! How much memory the processes of one job hold.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The most that a process of each role has held at the moments it was looked at, KiB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resident(pub BTreeMap<&'static str, u64>);

/// What a process is by an argument that no user types.
const ROLES: [(&str, &str); 3] = [
    ("--as=appmaster", "appmaster"),
    ("--as=container-launcher", "launcher"),
    ("--as=pmix", "PMIx server"),
];

impl Resident {
    /// Looks at the client, which is process `client`, and at the processes of its job, which run in
    /// `folder` of the cluster.
    pub fn look(&mut self, client: u32, folder: &Path) {
        self.note("client", client);
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        for entry in processes {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            // Other clusters of this machine have folders of their own.
            let ours = fs::read_link(entry.path().join("cwd"));
            if !ours.is_ok_and(|cwd| cwd.starts_with(folder)) {
                continue;
            }
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            let role = ROLES
                .iter()
                .find(|(argument, _)| words.get(1) == Some(&argument.as_bytes()));
            if let Some((_, role)) = role {
                self.note(role, pid);
            }
        }
    }

    fn note(&mut self, role: &'static str, pid: u32) {
        if let Some(kib) = resident_kib(pid) {
            let most = self.0.entry(role).or_default();
            *most = kib.max(*most);
        }
    }
}

/// The most that a process of this program holds now, KiB; none: none runs.
#[must_use]
pub fn largest(program: &Path) -> Option<u64> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let resident = processes.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let runs = fs::read_link(entry.path().join("exe")).ok()?;
        (runs == program).then(|| resident_kib(pid)).flatten()
    });
    resident.max()
}

/// Resident memory of a process that lives, KiB.
fn resident_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}
