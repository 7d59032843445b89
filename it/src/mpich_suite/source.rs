//! MPICH's source, from the distribution's archive.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::command::Run;
use crate::process;

/// The release that Debian 12 has, and its revision there.
pub(super) const RELEASE: &str = "4.0.2";
const REVISION: &str = "4.0.2-3";

/// What apt is told of the archive; Debian's own mirrors all have it.
const SOURCES: &str =
    "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] MIRROR bookworm main\n";
const MIRROR: &str = "http://deb.debian.org/debian";

/// 32 MB over a slow line.
const FETCH: Duration = Duration::from_secs(600);
/// 400 MB of small files.
const UNPACK: Duration = Duration::from_secs(300);

/// Brings the package into `folder` and unpacks it there; returns the source tree.
///
/// apt keeps lists and settings of its own in `folder`, so that neither root nor a source line of the
/// machine is needed; it checks the archive's signature and the digest of each file. The
/// distribution's patches touch Fortran and its build alone and are left out.
///
/// # Errors
///
/// apt is not there or failed, or the archive cannot be unpacked; the message says what they said.
pub(super) fn fetch(folder: &Path) -> Result<PathBuf> {
    let apt = folder.join("apt");
    fs::create_dir_all(apt.join("lists/partial"))?;
    fs::create_dir_all(apt.join("cache/archives/partial"))?;
    let mirror = std::env::var("GERBIL_IT_DEBIAN").unwrap_or_else(|_| MIRROR.to_owned());
    fs::write(apt.join("sources.list"), SOURCES.replace("MIRROR", &mirror))?;
    let get = |arguments: &[&str]| -> Result<()> {
        let mut command = Command::new(process::find("apt-get".as_ref())?);
        let own = |name: &str, path: &str| format!("{name}={}", apt.join(path).display());
        for setting in [
            own("Dir::Etc::sourcelist", "sources.list"),
            "Dir::Etc::sourceparts=-".to_owned(),
            own("Dir::State", "."),
            own("Dir::State::lists", "lists"),
            own("Dir::Cache", "cache"),
            "APT::Sandbox::User=".to_owned(),
            "Debug::NoLocking=true".to_owned(),
        ] {
            command.args(["-o", &setting]);
        }
        command.arg("-qq").args(arguments).current_dir(folder);
        let what = format!("apt-get {}", arguments.join(" "));
        Run::new(command).deadline(FETCH).finish()?.success(&what)?;
        Ok(())
    };
    get(&["update"])?;
    get(&["source", "--download-only", &format!("mpich={REVISION}")])?;

    let mut unpack = Command::new(process::find("tar".as_ref())?);
    unpack
        .arg("-xf")
        .arg(format!("mpich_{RELEASE}.orig.tar.xz"))
        .current_dir(folder);
    Run::new(unpack)
        .deadline(UNPACK)
        .finish()?
        .success("unpacking MPICH's source (xz-utils is needed)")?;
    let tree = folder.join(format!("mpich-{RELEASE}"));
    if !tree.join("test/mpi/configure").is_file() {
        bail!("{} holds no test suite", tree.display());
    }
    fs::remove_dir_all(&apt).context("removing apt's lists")?;
    Ok(tree)
}
