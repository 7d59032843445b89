//! `--list`: many jobs, each its own application.
//!
//! Every line is read and checked before the first job is submitted ([`lines`]). Each job is then
//! this very program once more ([`child`]), at most so many at a time; whole lines of its output
//! come out here behind its number ([`output`]). What ends this command ends every job in the way
//! it would end a single one, and no job outlives it. At the end stands a table ([`table`]).

mod child;
mod error;
mod lines;
mod output;
mod table;

use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::time::Instant;

use follow::conclusion::{Given, JobEnd, Written, conclude};
use follow::report::{self, Destination};
use follow::timing;
use job::exit::Exit;
use job::report::{Phases, Report};
use serde::Deserialize;
use terminal::say;
use terminal::signals::{SIGTSTP, SignalRequest, Signals, pause};
use tokio::sync::broadcast;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};

use crate::arguments::{Arguments, Reporting};
use crate::system::system;
use child::{AttendedJob, ChildOrder, LAST_LINES};
use lines::ListedJob;

pub(crate) use error::ListError;

/// For the jobs to take a signal before this process stops.
const FORWARDED: std::time::Duration = std::time::Duration::from_millis(100);
/// Signals that a job has not taken yet; more than a person types.
const ORDERS: usize = 16;
/// What ends a command whose output nobody reads.
const SIGPIPE: u8 = 13;

/// How one job ended.
struct ListedJobDone {
    /// Which of the list, from 1.
    number: usize,
    /// Where it stands in the file.
    line: usize,
    seconds: f64,
    /// YARN's id; empty when nothing was submitted.
    application: String,
    exit_code: i32,
    sentence: String,
    /// Where its whole report lies, if that is wanted: with many ranks it is large.
    report: Option<PathBuf>,
}

/// Of a report what the table shows; the rest of the file is passed over.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Brief {
    application: String,
    exit_code: i32,
    sentence: String,
    phases: Phases,
}

/// The jobs of a list, read and checked.
pub(crate) struct JobList(Vec<ListedJob>);

/// Reads the jobs of `list`, which may be a pipe into which nobody writes. `check` looks at each line that was read.
pub(crate) fn read(
    list: &Path,
    reporting: &Reporting,
    check: &dyn Fn(Arguments) -> Result<(), String>,
) -> Result<JobList, ListError> {
    let text = lines::text(list)?;
    Ok(JobList(lines::read(list, &text, reporting, check)?))
}

/// Runs `jobs` and returns the highest of their exit codes.
pub(crate) async fn run(
    JobList(jobs): JobList,
    reporting: &Reporting,
    destination: Option<Destination>,
    signals: &mut Signals,
) -> Result<u8, ListError> {
    let own = std::env::current_exe().map_err(system("find my own file", Exit::Lost))?;
    let folder = tempfile::Builder::new()
        .prefix("gerbil-run-")
        .tempdir_in(crate::local::base());
    let making = "make a folder for the reports of the jobs";
    let folder = folder.map_err(system(making, Exit::Lost))?;
    let done = all(&own, jobs, reporting, folder.path(), signals).await?;
    Ok(end(done, destination, signals).await)
}

/// Runs `jobs`, each by the program `own`, until all have ended. Their reports lie in `folder` for as
/// long as they are needed.
async fn all(
    own: &Path,
    jobs: Vec<ListedJob>,
    reporting: &Reporting,
    folder: &Path,
    signals: &mut Signals,
) -> Result<ListDone, ListError> {
    let (lines, writer) = output::start()?;
    let (orders, _) = broadcast::channel(ORDERS);
    let parallel = usize::from(reporting.list_parallel.map_or(1, NonZeroU16::get));
    let mut waiting = jobs.into_iter();
    let mut running = JoinSet::new();
    let mut done = Vec::new();
    let mut ending = None;
    loop {
        if lines.is_closed() && ending.is_none() {
            // The jobs find out by themselves when they write.
            ending = Some(SIGPIPE);
        }
        while ending.is_none() && running.len() < parallel {
            let Some(job) = waiting.next() else { break };
            let begun = Begun::now(folder, reporting.report.is_some());
            // Here, in the main thread: a child ends with the thread that began it.
            match child::spawn(own, &job, &begun.folder) {
                Ok(child) => {
                    let attended =
                        child::attend(child, job.number, lines.clone(), orders.subscribe());
                    running.spawn(async move {
                        let ended = attended.await;
                        spawn_blocking(move || job.done(ended, &begun)).await
                    });
                }
                Err(error) => done.push(job.not_begun(
                    Exit::Lost.code(),
                    format!("cannot start {}: {error}", own.display()),
                )),
            }
        }
        if running.is_empty() {
            break;
        }
        tokio::select! {
            Some(Ok(Ok(ended))) = running.join_next() => done.push(ended),
            asked = signals.next() => match asked {
                SignalRequest::Forward(number) => order(&orders, ChildOrder::Forward(number)),
                SignalRequest::Pause => {
                    order(&orders, ChildOrder::Forward(SIGTSTP));
                    sleep(FORWARDED).await;
                    pause();
                }
                SignalRequest::End(number) => {
                    if ending.replace(number).is_none() {
                        say("ending all jobs; once more to end them at once");
                    }
                    order(&orders, ChildOrder::End(number));
                }
            },
        }
    }
    drop(lines);
    // Until the last line is written, however slow the reader, unless the list is to end; when there
    // is none, the jobs have noticed it too.
    let mut written = spawn_blocking(move || writer.join());
    let mut ended = None;
    if ending.is_none() {
        tokio::select! {
            written = &mut written => ended = Some(written),
            signal = signals.ending() => ending = Some(signal),
        }
    }
    if ended.is_none() {
        ended = timeout(LAST_LINES, written).await.ok();
    }
    let written = match ended {
        Some(Ok(Ok(Ok(())))) => Written::All,
        Some(Ok(Ok(Err(error)))) if error.kind() == io::ErrorKind::BrokenPipe => Written::NoReader,
        Some(Ok(Ok(Err(error)))) => {
            say(format!("cannot write the output of the jobs: {error}"));
            Written::Unwritable
        }
        Some(Ok(Err(_)) | Err(_)) | None => Written::Part,
    };
    let by_user = ending.filter(|signal| *signal != SIGPIPE);
    let signal = ending.unwrap_or(SIGPIPE);
    done.extend(waiting.map(|job| {
        job.not_begun(
            128u8.saturating_add(signal),
            "not started: the list was ended before".into(),
        )
    }));
    sort::by_key(&mut done, |done: &ListedJobDone| done.number);
    let codes = done.iter().map(|done| done.exit_code).max();
    let code = u8::try_from(codes.unwrap_or(0)).unwrap_or(Exit::Lost.code());
    let of_all = conclude(JobEnd::of(code), "", by_user, Given::All, written);
    Ok(ListDone {
        jobs: done,
        code: code.max(of_all.code),
    })
}

/// How a list ended.
struct ListDone {
    jobs: Vec<ListedJobDone>,
    /// The highest of the jobs' codes, and of what became of their output.
    code: u8,
}

/// When and with what a job began.
struct Begun {
    at: Instant,
    at_us: i64,
    /// For the reports of jobs whose lines do not say where.
    folder: PathBuf,
    /// Whether reports are wanted whole.
    kept: bool,
}

impl Begun {
    fn now(folder: &Path, kept: bool) -> Self {
        Self {
            at: Instant::now(),
            at_us: timing::now_us(),
            folder: folder.to_owned(),
            kept,
        }
    }
}

/// A job that has ended since takes no order.
fn order(orders: &broadcast::Sender<ChildOrder>, order: ChildOrder) {
    let _taken = orders.send(order).is_ok();
}

/// The table, the reports, and the exit code.
async fn end(
    ListDone { jobs: done, code }: ListDone,
    destination: Option<Destination>,
    signals: &mut Signals,
) -> u8 {
    for line in table::table(&done) {
        say(line);
    }
    let Some(destination) = destination else {
        return code;
    };
    let fill = move |out: &mut dyn Write| array(&done, out);
    destination.write(fill, code, signals).await
}

/// All reports as one JSON array, no more than one of them in memory.
fn array(done: &[ListedJobDone], out: &mut dyn Write) -> io::Result<()> {
    let mut before: &[u8] = b"[";
    for done in done {
        out.write_all(before)?;
        before = b",";
        match &done.report {
            Some(path) => {
                io::copy(&mut File::open(path)?, out)?;
            }
            None => serde_json::to_writer(&mut *out, &done.short())?,
        }
    }
    out.write_all(b"]")
}

impl ListedJobDone {
    /// The report of a job that has none of its own.
    fn short(&self) -> Report {
        Report {
            application: self.application.clone(),
            exit_code: self.exit_code,
            sentence: self.sentence.clone(),
            ..Report::default()
        }
    }
}

impl ListedJob {
    /// Reads what the job's own run has reported, and keeps all of it only where it is wanted.
    fn done(self, attended: AttendedJob, begun: &Begun) -> ListedJobDone {
        let ended = attended.exit;
        let path = self.report(&begun.folder);
        let written: Option<Brief> = report::read(&path);
        // An older one may lie there.
        let own = written.filter(|brief| brief.phases.started_us >= begun.at_us);
        let cut = attended.cut_by.map(|signal| {
            conclude(
                JobEnd::of(ended.exit_code()),
                "",
                Some(signal),
                Given::All,
                Written::Part,
            )
        });
        let exit_code = cut.as_ref().map_or(ended.exit_code(), |cut| cut.code);
        let exit_code = i32::from(exit_code);
        let report = match &own {
            Some(brief) if begun.kept => self.keep(&path, brief, exit_code, begun),
            Some(_) | None => None,
        };
        if report.is_none() && self.report.is_none() {
            // Whatever is left of it goes with the folder.
            let _removed = std::fs::remove_file(&path).is_ok();
        }
        let brief = own.unwrap_or_else(|| Brief {
            sentence: match ended {
                child::ChildExit::Code(0) => String::new(),
                child::ChildExit::Code(_) => "see its lines above".into(),
                child::ChildExit::Signal(signal) => {
                    format!("its gerbil-run was ended by signal {signal}")
                }
            },
            ..Brief::default()
        });
        ListedJobDone {
            number: self.number,
            line: self.line,
            seconds: begun.at.elapsed().as_secs_f64(),
            application: brief.application,
            exit_code,
            sentence: match cut {
                Some(cut) if brief.sentence.is_empty() => cut.sentence,
                Some(_) | None => brief.sentence,
            },
            report,
        }
    }

    /// Where the report comes to lie until the end; a line's own file may be written again by then.
    fn keep(&self, path: &Path, brief: &Brief, exit_code: i32, begun: &Begun) -> Option<PathBuf> {
        let kept = begun.folder.join(self.number.to_string());
        if brief.exit_code != exit_code {
            let whole: Option<Report> = report::read(path);
            let whole = Report {
                exit_code,
                ..whole?
            };
            std::fs::write(&kept, serde_json::to_vec(&whole).ok()?).ok()?;
        } else if kept != path {
            std::fs::copy(path, &kept).ok()?;
        }
        Some(kept)
    }

    /// Where its report comes to lie.
    fn report(&self, folder: &Path) -> PathBuf {
        let own = folder.join(self.number.to_string());
        self.report.clone().unwrap_or(own)
    }

    fn not_begun(self, code: u8, sentence: String) -> ListedJobDone {
        ListedJobDone {
            number: self.number,
            line: self.line,
            seconds: 0.0,
            application: String::new(),
            exit_code: i32::from(code),
            sentence,
            report: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Stands for gerbil-run: takes `--report FILE` first, writes a report, and ends as its next
    /// word says. Says no when more than two of it run at once.
    const SCRIPT: &str = r#"#!/bin/sh
[ "$1" = --report ] || exit 99
mkdir "$0.one" 2>/dev/null && mine="$0.one" || { mkdir "$0.two" && mine="$0.two"; } || exit 98
sleep 0.1
printf '{"application":"application_1_%s","processes":2,"phases":{"started_us":9000000000000000}}' "$3" > "$2"
rmdir "$mine"
exit "$3"
"#;

    #[tokio::test]
    async fn the_worst_code_counts_and_only_so_many_run_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("gerbil-run");
        std::fs::write(&own, SCRIPT).unwrap();
        std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut reporting = Reporting {
            list_parallel: NonZeroU16::new(2),
            ..Reporting::default()
        };
        let mut signals = Signals::listen().unwrap();
        let path = folder.path().join("all.json");
        let reports = folder.path().join("reports");
        std::fs::create_dir(&reports).unwrap();
        let own_report = folder.path().join("own.json");
        for whole in [false, true] {
            reporting.report = whole.then(|| path.clone());
            let jobs = [0, 7, 3, 0, 5]
                .iter()
                .enumerate()
                .map(|(index, code)| ListedJob {
                    number: index + 1,
                    line: 10 + index,
                    words: match index {
                        2 => vec!["--report".into(), (&own_report).into(), "3".into()],
                        _ => vec![code.to_string().into()],
                    },
                    report: (index == 2).then(|| own_report.clone()),
                    dry: false,
                });
            let done = all(&own, jobs.collect(), &reporting, &reports, &mut signals).await;
            let done = done.map_err(|failure| failure.to_string()).unwrap();
            let codes: Vec<i32> = done.jobs.iter().map(|done| done.exit_code).collect();
            assert_eq!(codes, [0, 7, 3, 0, 5]);
            assert_eq!(done.jobs[1].application, "application_1_7");
            assert_eq!(done.jobs[4].line, 14);
            assert!(own_report.is_file(), "what a line asks for stays");
            let kept = std::fs::read_dir(&reports).unwrap().count();
            assert_eq!(kept, if whole { 5 } else { 0 });
            let destination = match Destination::open(&path, &mut signals).await {
                Ok(ControlFlow::Continue(destination)) => destination,
                other => panic!("{other:?}"),
            };
            assert_eq!(end(done, Some(destination), &mut signals).await, 7);
            let text = std::fs::read(&path).unwrap();
            let reports: Vec<Report> = serde_json::from_slice(&text).unwrap();
            let codes: Vec<i32> = reports.iter().map(|report| report.exit_code).collect();
            assert_eq!(codes, [0, 7, 3, 0, 5]);
            // What the table does not need is there when it is wanted.
            let processes = reports.iter().map(|report| report.processes).sum::<u32>();
            assert_eq!(processes, if whole { 10 } else { 0 });
        }
    }
}
