//! The file of `--list`.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use terminal::say;

use super::error::ListError;
use crate::arguments::{Arguments, ParseError, Reporting};
use crate::split_words;

/// More than a hundred thousand lines; a larger file is no list of jobs.
const BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Errors that are shown before the rest is only counted.
const ERRORS: usize = 20;

/// One job of the list.
pub(super) struct ListedJob {
    /// Which of the list, from 1.
    pub number: usize,
    /// Where it stands in the file, from 1.
    pub line: usize,
    /// The command line without the command's own name.
    pub words: Vec<OsString>,
    /// Where its report goes, if the line says so.
    pub report: Option<PathBuf>,
    /// Whether it is a dry run, which has no report.
    pub dry: bool,
}

/// Checks all lines of `text`, which was read from `path`.
///
/// What `--dry-run`, `--explain`, `--json` and `--timing` say beside `--list` holds for each.
pub(super) fn read(
    path: &Path,
    text: &str,
    reporting: &Reporting,
    check: &dyn Fn(Arguments) -> Result<(), String>,
) -> Result<Vec<ListedJob>, ListError> {
    let mut jobs = Vec::new();
    let mut wrong = 0usize;
    for (index, line) in text.lines().enumerate() {
        let words = match split(line) {
            Ok(Some(words)) => Ok(words),
            Ok(None) => continue,
            Err(wrong) => Err(wrong),
        };
        let job = words.and_then(|words| job(words, reporting, check));
        match job {
            Ok(job) => jobs.push(ListedJob {
                number: jobs.len() + 1,
                line: index + 1,
                ..job
            }),
            Err(failure) => {
                wrong += 1;
                if wrong <= ERRORS {
                    say(format!("{}:{}: {failure}", path.display(), index + 1));
                }
            }
        }
    }
    let path = path.to_owned();
    match (wrong, jobs.is_empty()) {
        (0, false) => Ok(jobs),
        (0, true) => Err(ListError::Empty { path }),
        (1, _) => Err(ListError::OneWrong { path }),
        (wrong, _) => Err(ListError::Wrong { path, wrong }),
    }
}

/// Reads the list; of a pipe, waits for its writers.
pub(super) fn text(path: &Path) -> Result<String, ListError> {
    let unread = |source| ListError::Unread {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(unread)?;
    let mut bytes = Vec::new();
    let read = file.take(BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(unread)?;
    if bytes.len() as u64 > BYTES_MAX {
        let (path, most) = (path.to_owned(), BYTES_MAX);
        return Err(ListError::TooLong { path, most });
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let path = path.to_owned();
        ListError::NoText { path, line }
    })
}

/// The words of a line without the command's own name; `None` for a blank line or a comment.
fn split(line: &str) -> Result<Option<Vec<OsString>>, ListError> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let mut words = split_words::split(line)?;
    let first = words.first().map(Path::new).and_then(Path::file_name);
    if first.is_some_and(|name| name == "gerbil-run") {
        words.remove(0);
    }
    match words.is_empty() {
        true => Err(ListError::NoWords),
        false => Ok(Some(words.into_iter().map(OsString::from).collect())),
    }
}

fn job(
    mut words: Vec<OsString>,
    reporting: &Reporting,
    check: &dyn Fn(Arguments) -> Result<(), String>,
) -> Result<ListedJob, ListError> {
    let command = std::iter::once("gerbil-run".into()).chain(words.iter().cloned());
    let given = Arguments::parse(command).map_err(|error| match error {
        ParseError::Help { .. } => ListError::Help,
        wrong @ ParseError::Refused(_) => ListError::Line(wrong),
    })?;
    if given.reporting.list.is_some() {
        return Err(ListError::Nested);
    }
    if given.kill.is_some() || given.ps {
        return Err(ListError::NoJob);
    }
    let own = given.reporting.clone();
    check(given).map_err(ListError::Job)?;
    // Options may stand anywhere before the program, so in front of all.
    let dry = own.dry_run || reporting.dry_run;
    let mut front: Vec<&str> = Vec::new();
    if reporting.dry_run && !own.dry_run {
        if own.explain.is_some() || own.report.is_some() || own.timing {
            return Err(ListError::Dry);
        }
        front.push("--dry-run");
    }
    if !dry && reporting.explain.is_some() && own.explain.is_none() {
        front.push("--explain");
    }
    let json = reporting.json && !own.json;
    if json && (dry || own.explain.is_some() || reporting.explain.is_some()) {
        front.push("--json");
    }
    if !dry && reporting.timing && !own.timing {
        front.push("--timing");
    }
    words.splice(0..0, front.into_iter().map(OsString::from));
    Ok(ListedJob {
        number: 0,
        line: 0,
        words,
        report: own.report,
        dry,
    })
}

#[cfg(test)]
mod tests {
    use job::exit::Exit;

    use super::*;

    fn read_text(text: &str, reporting: &Reporting) -> Result<Vec<ListedJob>, ListError> {
        read(Path::new("jobs"), text, reporting, &|mut given| {
            given
                .programs()
                .map(|_| ())
                .map_err(|error| error.to_string())
        })
    }

    #[test]
    fn a_line_is_a_job_with_or_without_the_commands_name() {
        let text = "# two jobs\r\n\n  gerbil-run -n 2 ./cpi 'a b' # as a shell has it\r\n\t\n-a ./cpi -i \"1 2\"\n";
        let jobs = read_text(text, &Reporting::default()).unwrap();
        let lines: Vec<(usize, usize)> = jobs.iter().map(|job| (job.number, job.line)).collect();
        assert_eq!(lines, [(1, 3), (2, 5)]);
        assert_eq!(jobs[0].words, ["-n", "2", "./cpi", "a b"]);
        assert_eq!(jobs[1].words, ["-a", "./cpi", "-i", "1 2"]);
    }

    #[test]
    fn what_is_told_of_the_list_is_told_of_each() {
        let reporting = Reporting {
            timing: true,
            explain: Some(None),
            json: true,
            ..Reporting::default()
        };
        let jobs = read_text("-n 2 --timing ./cpi\n./cpi", &reporting).unwrap();
        assert_eq!(
            jobs[0].words,
            ["--explain", "--json", "-n", "2", "--timing", "./cpi"]
        );
        assert_eq!(jobs[1].words, ["--explain", "--json", "--timing", "./cpi"]);
        let dry = Reporting {
            dry_run: true,
            ..Reporting::default()
        };
        assert_eq!(
            read_text("./cpi", &dry).unwrap()[0].words,
            ["--dry-run", "./cpi"]
        );
        assert!(read_text("--report r ./cpi", &dry).is_err());
    }

    #[test]
    fn wrong_lines_are_found_before_anything_runs() {
        for wrong in [
            "",
            "# nothing\n",
            "-n 0 ./cpi",
            "--no-such ./cpi",
            "-n 2",
            "./cpi 'open",
            "gerbil-run",
            "--list other.txt",
            "-k application_1_0001",
            "--help",
        ] {
            let refused = read_text(&format!("{wrong}\n"), &Reporting::default());
            assert_eq!(
                refused.map(|_| ()).unwrap_err().exit(),
                Exit::Usage,
                "{wrong}"
            );
        }
        let several = read_text("./cpi\n-n 0 ./cpi\n-k x\n", &Reporting::default());
        let sentence = several.map(|_| ()).unwrap_err().to_string();
        assert!(
            sentence.ends_with("2 lines are wrong; nothing was submitted"),
            "{sentence}"
        );
        assert!(text(Path::new("/no/such")).is_err());
    }
}
