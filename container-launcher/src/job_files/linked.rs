//! Which jobs of this host are linked to what lies in the cache.

use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::FOLDER;

/// What the name of a link ends with until it is the job's: its launcher still looks at what it leads to.
pub(super) const COMING: &str = ".coming";

/// Whose links lead there, one link aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Linked {
    Nobody,
    /// Launchers that do not yet know whether they take it.
    Coming,
    /// Launchers of the same job have it, and no other job has.
    ThisJob,
    /// Another job has it.
    Others,
}

/// Looks through the folders of all jobs below `application`, the folder of the containers, for links that lead to
/// `cached` or below it. `own` is the link aside, and its folder says which job is this one.
pub(super) fn linked(application: &Path, cached: &Path, own: &Path) -> Linked {
    let own_folder = own.parent().unwrap_or(own);
    let this_job = below_container(application, own_folder);
    let mut found = Linked::Nobody;
    for container in folders(application) {
        // The job that the application was started for has the container's own folder.
        let jobs = folders(&container.join(FOLDER)).chain([container]);
        for job in jobs {
            let leads_there = |link: &PathBuf| {
                link != own && fs::read_link(link).is_ok_and(|there| there.starts_with(cached))
            };
            let is_of_this_job = below_container(application, &job) == this_job;
            for link in links(&job).filter(leads_there) {
                found = found.max(match (is_coming(&link), is_of_this_job) {
                    (true, _) => Linked::Coming,
                    (false, true) => Linked::ThisJob,
                    (false, false) => Linked::Others,
                });
            }
        }
    }
    found
}

fn is_coming(link: &Path) -> bool {
    let name = link.file_name().map(OsStr::as_bytes);
    name.is_some_and(|name| name.starts_with(b".") && name.ends_with(COMING.as_bytes()))
}

/// The same for one job in all containers.
fn below_container(application: &Path, job: &Path) -> Option<PathBuf> {
    let mut parts = job.strip_prefix(application).ok()?.components();
    parts.next()?;
    Some(parts.as_path().to_owned())
}

fn links(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    entries(folder, FileType::is_symlink)
}

/// Folders in a folder, links aside.
fn folders(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    entries(folder, FileType::is_dir)
}

/// A job may have very many files: they are not looked at themselves.
fn entries(folder: &Path, are: fn(&FileType) -> bool) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let entries = entries.filter(move |entry| entry.file_type().is_ok_and(|kind| are(&kind)));
    entries.map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn launchers_of_one_job_are_told_from_those_of_others() {
        let top = tempfile::tempdir().unwrap();
        let application = top.path();
        let cached = application.join("gerbil/files/x.d");
        let link_as = |job: &str, name: &str| {
            let job = application.join(job);
            fs::create_dir_all(&job).unwrap();
            let link = job.join(name);
            symlink(cached.join("files"), &link).unwrap();
            link
        };
        let link = |job: &str| link_as(job, "lib");
        let own = link("a1/jobs/1");
        let whose = |own: &Path| linked(application, &cached, own);
        assert_eq!(whose(&own), Linked::Nobody);
        link("a2/jobs/1");
        assert_eq!(whose(&own), Linked::ThisJob);
        fs::remove_file(application.join("a2/jobs/1/lib")).unwrap();
        link_as("a3/jobs/1", ".lib.coming");
        assert_eq!(whose(&own), Linked::Coming);
        link("a4/jobs/1");
        assert_eq!(whose(&own), Linked::ThisJob);
        link("a2/jobs/11");
        assert_eq!(whose(&own), Linked::Others);
        // The job that the application was started for.
        fs::remove_dir_all(application.join("a1")).unwrap();
        for container in ["a2", "a3", "a4"] {
            fs::remove_dir_all(application.join(container)).unwrap();
        }
        let own = link("a1");
        link("a2");
        assert_eq!(whose(&own), Linked::ThisJob);
        link("a2/jobs/1");
        assert_eq!(whose(&own), Linked::Others);
    }
}
