//! Nodes with GPUs, on a machine without: YARN counts them, and files stand in for them in the `/dev` that
//! a NodeManager and its containers see, and nobody else.
//!
//! Nothing computes on them. What is tried is who is given which.

use std::path::Path;
use std::process::Command;

use crate::settings::{Configuration, File};

/// In a mount namespace of its own, whose end is the end of the mounts: a `/dev` with what programs need,
/// and further files; then the command.
const WITHIN: &str = r#"
set -e
dev=$1 files=$2
shift 2
mkdir -p "$dev/shm" "$dev/pts"
for device in null zero full random urandom tty ptmx; do
    [ -e "$dev/$device" ] || cp -a "/dev/$device" "$dev"
done
[ -e "$dev/fd" ] || ln -s /proc/self/fd "$dev/fd"
for file in $files; do
    : >"$dev/$file"
done
mount --bind /dev/shm "$dev/shm"
mount --bind /dev/pts "$dev/pts"
mount --bind "$dev" /dev
exec "$@"
"#;

/// That YARN counts `each` GPUs of every node.
pub(super) fn settings(each: u32) -> Configuration {
    let mut settings = Configuration::default();
    settings.set(File::Yarn, "yarn.resource-types", "yarn.io/gpu");
    settings.set(
        File::Yarn,
        "yarn.nodemanager.resource-type.yarn.io/gpu",
        each.to_string(),
    );
    settings.set(
        File::CapacityScheduler,
        "yarn.scheduler.capacity.resource-calculator",
        "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
    );
    settings
}

/// `daemon`, of node `node`, with the files of its own `each` devices, which no other node has: all nodes
/// are on one machine. `dev` is a folder for its `/dev`.
pub(super) fn within(daemon: &Command, dev: &Path, node: usize, each: u32) -> Command {
    let node = u32::try_from(node).unwrap_or(u32::MAX);
    let first = node.saturating_mul(each);
    let files = (first..first.saturating_add(each)).map(|number| format!("nvidia{number}"));
    let files: Vec<String> = files.collect();
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", WITHIN, "sh"])
        .arg(dev)
        .arg(files.join(" "))
        .arg(daemon.get_program())
        .args(daemon.get_args());
    for (key, value) in daemon.get_envs() {
        match value {
            Some(value) => command.env(key, value),
            None => command.env_remove(key),
        };
    }
    if let Some(folder) = daemon.get_current_dir() {
        command.current_dir(folder);
    }
    command
}
