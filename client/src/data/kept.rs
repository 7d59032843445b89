//! Results that could not be brought to where they belong, of a cluster that is gone after the job: they are moved to
//! where they stay.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use mini::RunFolder;
use storage::Address;

use super::Located;

/// Folders of `--local` that go with their job.
const RUN: &str = "run-";
/// Above them, of one user.
const USER: &str = "gerbil-local-";

/// Where the results of `run` lie from now on. It is the same place unless that goes with the job; another one is
/// removed by a run that comes [`RunFolder::RESULTS_DAYS`] later.
///
/// # Errors
/// They cannot be moved, and go with the job.
pub(super) fn keep(run: &Located) -> io::Result<Located> {
    let from = Path::new(&run.path);
    let stays = match run.address {
        Address::Shared => above_the_run(from),
        Address::Hdfs { .. } => None,
    };
    let (Some(folder), Some(name)) = (stays, from.file_name()) else {
        return Ok(run.clone());
    };
    let to = folder.join(format!("{}{}", RunFolder::RESULTS, name.to_string_lossy()));
    // In one step: what is there is whole, and the disk may be full.
    std::fs::rename(from, &to)?;
    std::fs::set_permissions(&to, Permissions::from_mode(0o700))?;
    // From now on it stays for some days.
    std::fs::File::open(&to)?.set_modified(SystemTime::now())?;
    let path = to.into_os_string().into_string();
    Ok(Located {
        address: run.address.clone(),
        path: path.map_err(|_no_text| io::ErrorKind::InvalidFilename)?,
    })
}

/// The folder in which that of a run lies, if `path` is inside one.
fn above_the_run(path: &Path) -> Option<PathBuf> {
    let begins = |folder: &Path, prefix: &str| {
        let name = folder.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(prefix))
    };
    let run = path.ancestors().find(|folder| {
        begins(folder, RUN) && folder.parent().is_some_and(|above| begins(above, USER))
    })?;
    run.parent().map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_with_the_job_is_moved_and_all_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &Path| Located {
            address: Address::Shared,
            path: path.to_str().unwrap().to_owned(),
        };
        let user = folder.path().join("gerbil-local-7");
        let run = user.join("run-x/staging/get/12-3");
        std::fs::create_dir_all(run.join("0")).unwrap();
        std::fs::write(run.join("0/log"), "text").unwrap();
        let begun = SystemTime::now();
        let old = std::fs::File::open(&run).unwrap();
        old.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let kept = keep(&at(&run)).unwrap();
        assert_eq!(Path::new(&kept.path), user.join("results-12-3"));
        assert_eq!(
            std::fs::read(user.join("results-12-3/0/log")).unwrap(),
            b"text"
        );
        let about = std::fs::metadata(&kept.path).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, 0o700);
        assert!(about.modified().unwrap() >= begun, "its days begin now");
        assert!(keep(&at(&run)).is_err(), "it is gone");
        let shared = folder.path().join("run-x/get/1");
        assert_eq!(keep(&at(&shared)).unwrap(), at(&shared));
    }
}
