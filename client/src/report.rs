//! The report of a job: the ApplicationMaster's part, the client's, and the file it goes to.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use job::exit::Exit;
use job::report::Report;
use serde::Serialize;
use tempfile::{Builder, NamedTempFile};

use crate::failure::{Failure, say};
use crate::timing::Stamps;

/// A report that is read again, at most, bytes: a million ranks without their samples.
const BYTES_MAX: u64 = 512 * 1024 * 1024;

/// What only the client knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    /// YARN's id; empty when nothing was submitted.
    pub application: String,
    pub program: PathBuf,
    pub processes: u32,
    pub stamps: Stamps,
    pub exit_code: u8,
    pub sentence: String,
}

impl Own {
    /// Both parts. `said` is the ApplicationMaster's as JSON, empty when it was not heard.
    pub(crate) fn with(&self, said: &str) -> Report {
        let mut report = match said.is_empty() {
            true => Report::default(),
            false => serde_json::from_str(said).unwrap_or_else(|error| {
                say(format!(
                    "the ApplicationMaster's part of the report is unreadable: {error}"
                ));
                Report::default()
            }),
        };
        report.application.clone_from(&self.application);
        report.program = self.program.display().to_string();
        if report.processes == 0 {
            report.processes = self.processes;
        }
        report.exit_code = i32::from(self.exit_code);
        report.sentence.clone_from(&self.sentence);
        report.phases.started_us = self.stamps.started_us;
        report.phases.submitted_us = self.stamps.submitted_us;
        report.phases.finished_us = self.stamps.finished_us;
        report.uploaded_bytes = self.stamps.uploaded_bytes;
        report
    }
}

/// Before the job starts: whether a report can come to lie at `path`.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    let place = Place::of(path);
    let tried = match &place {
        Place::Appears { folder, .. } if !folder.is_dir() => Err(io::Error::new(
            ErrorKind::NotFound,
            format!("there is no folder {}", folder.display()),
        )),
        Place::Appears { folder, .. } => beside(folder).map(drop),
        Place::Device(device) => File::options().write(true).open(device).map(drop),
    };
    tried.map_err(|error| {
        Failure::new(
            Exit::Usage,
            format!("--report {}: cannot write there: {error}", path.display()),
        )
    })
}

/// Writes `report` to `path` and returns the exit code of the command: `code`, unless that was a
/// success and the report could not be written.
pub(crate) fn write(path: &Path, report: &impl Serialize, code: u8) -> u8 {
    let written = serde_json::to_vec(report)
        .map_err(io::Error::from)
        .and_then(|mut text| {
            text.push(b'\n');
            put(&Place::of(path), &text)
        });
    match written {
        Ok(()) => code,
        Err(error) => {
            say(format!("--report {}: {error}", path.display()));
            match code {
                0 => Exit::Staging.code(),
                code => code,
            }
        }
    }
}

/// The report at `path`; `None` when there is none that can be read.
pub(crate) fn read(path: &Path) -> Option<Report> {
    let mut text = Vec::new();
    let file = File::open(path).ok()?;
    file.take(BYTES_MAX).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// How something comes to lie at a path.
enum Place {
    /// A file, which appears whole: written beside it and then given its name.
    Appears { folder: PathBuf, path: PathBuf },
    /// A pipe or a device, which must stay what it is.
    Device(PathBuf),
}

impl Place {
    fn of(path: &Path) -> Self {
        // Through links, so that the file they lead to is replaced, not they.
        let path = path.canonicalize().unwrap_or_else(|_new| path.to_owned());
        if path.metadata().is_ok_and(|there| !there.is_file()) {
            return Self::Device(path);
        }
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        Self::Appears {
            folder: folder.unwrap_or(Path::new(".")).to_owned(),
            path,
        }
    }
}

/// A file without a name of its own yet.
fn beside(folder: &Path) -> io::Result<NamedTempFile> {
    // What the user's umask leaves of it, as with any other file.
    let permissions = std::fs::Permissions::from_mode(0o666);
    Builder::new()
        .prefix(".gerbil-report-")
        .permissions(permissions)
        .tempfile_in(folder)
}

fn put(place: &Place, text: &[u8]) -> io::Result<()> {
    match place {
        Place::Device(device) => File::options().write(true).open(device)?.write_all(text),
        Place::Appears { folder, path } => {
            let mut file = beside(folder)?;
            file.write_all(text)?;
            file.as_file().sync_all()?;
            file.persist(path)?;
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use job::report::Phases;

    use super::*;

    fn own(exit_code: u8) -> Own {
        Own {
            application: "application_1_0001".into(),
            program: "./cpi".into(),
            processes: 4,
            stamps: Stamps {
                started_us: 1,
                submitted_us: 2,
                finished_us: 9,
                uploaded_bytes: 77,
            },
            exit_code,
            sentence: "rank 1 on n1 exited with code 7".into(),
        }
    }

    #[test]
    fn both_parts_become_one() {
        let theirs = Report {
            processes: 3,
            mode: "all".into(),
            exit_code: 0,
            allocates: 5,
            phases: Phases {
                registered_us: 4,
                ended_us: 8,
                ..Phases::default()
            },
            ..Report::default()
        };
        let report = own(7).with(&serde_json::to_string(&theirs).unwrap());
        assert_eq!(report.processes, 3);
        assert_eq!((report.mode.as_str(), report.allocates), ("all", 5));
        assert_eq!((report.exit_code, report.uploaded_bytes), (7, 77));
        assert_eq!(
            report.phases,
            Phases {
                started_us: 1,
                submitted_us: 2,
                registered_us: 4,
                ended_us: 8,
                finished_us: 9,
                ..Phases::default()
            }
        );
        let alone = own(7).with("");
        assert_eq!((alone.processes, alone.program.as_str()), (4, "./cpi"));
    }

    #[test]
    fn a_report_appears_whole_through_links_and_with_the_usual_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("report.json");
        let link = folder.path().join("link.json");
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(check(&link).is_ok());
        assert_eq!(write(&link, &own(0).with(""), 0), 0);
        assert!(link.is_symlink());
        assert_eq!(read(&file).unwrap(), own(0).with(""));
        let mode = file.metadata().unwrap().permissions().mode();
        assert_ne!(
            mode & 0o040,
            0,
            "{mode:o}: the usual umask lets the group read"
        );
        // Nothing else is left behind.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_report_that_cannot_be_written_spoils_a_success_only() {
        let nowhere = Path::new("/no/such/folder/r.json");
        let refused = check(nowhere).unwrap_err();
        assert!(refused.sentence.contains("no folder /no/such/folder"));
        assert_eq!(write(nowhere, &own(0).with(""), 0), 74);
        assert_eq!(write(nowhere, &own(7).with(""), 7), 7);
        assert!(check(Path::new("/dev/null")).is_ok());
        assert_eq!(write(Path::new("/dev/null"), &own(0).with(""), 0), 0);
        assert!(read(nowhere).is_none());
    }
}
