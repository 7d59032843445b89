//! Without `--local` the job goes to a cluster, which is `gerbil`'s work.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// `GERBIL`, or the file beside this one, or whatever PATH finds.
fn gerbil() -> PathBuf {
    if let Some(path) = std::env::var_os("GERBIL") {
        return path.into();
    }
    let beside = std::env::current_exe()
        .ok()
        .map(|path| path.with_file_name("gerbil"));
    beside
        .filter(|path| path.is_file())
        .unwrap_or_else(|| "gerbil".into())
}

/// Becomes `gerbil mr THIS ARGUMENTS`.
pub(crate) fn start(name: &str) -> ExitCode {
    let this = std::env::current_exe().unwrap_or_else(|_| name.into());
    let error = Command::new(gerbil())
        .arg("mr")
        .arg(this)
        .args(std::env::args_os().skip(1))
        .exec();
    crate::say(&format!(
        "{name}: a cluster is reached through gerbil, which cannot be started ({error}): name it in GERBIL, or run \
         here with --local"
    ));
    ExitCode::from(69)
}
