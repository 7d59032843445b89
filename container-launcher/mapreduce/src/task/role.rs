//! The roles of an executable that a launcher has started.

use std::cell::RefCell;
use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gerbil_task::{
    Connection, Footprint, FromTask, LAUNCHER_VARIABLE, NO_DEVICE, Page, ToTask, VERSION, Welcome,
};

use super::map::MapRun;
use super::reduce::ReduceRun;
use super::usage::Usage;
use crate::app::App;
use crate::context::{Context, Ground};
use crate::counting::Counting;
use crate::error::{Context as _, Error, Result};
use crate::input::{Open, Opened};
use crate::job::Spec;
use crate::sentence::{STATUS, beginning, bounded};
use crate::settings::Settings;
use crate::sort::collect::Spare;
use crate::sort::scratch::Scratch;

/// Exit code of a role that failed for a reason of its own.
pub(crate) const FAILED: u8 = 70;

/// Takes the role `role`, on the socket at descriptor 0.
pub(crate) fn take(app: &App, role: &str) -> ExitCode {
    let done = match role {
        "task" => task(app),
        "plan" => plan(app).map(|()| ExitCode::SUCCESS),
        other => Err(Error::new(format!(
            "GERBIL_ROLE={other}: the roles of this version are plan, task and drive"
        ))),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            crate::say(&format!("{}: {error}", app.name()));
            ExitCode::from(match error.is_no_device() {
                true => NO_DEVICE,
                false => FAILED,
            })
        }
    }
}

/// The socket that was descriptor 0, which is `/dev/null` from now on: user code may read it as it likes.
pub(crate) fn socket() -> Result<Connection> {
    let moved: OwnedFd = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    // A launcher that is killed takes its tasks along.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let launcher = std::env::var(LAUNCHER_VARIABLE)
        .ok()
        .and_then(|pid| pid.parse::<i32>().ok());
    let parent = rustix::process::getppid().map(rustix::process::Pid::as_raw_nonzero);
    if launcher.is_some() && launcher != parent.map(std::num::NonZero::get) {
        return Err(Error::new("the launcher has died"));
    }
    Ok(Connection::new(UnixStream::from(moved)))
}

fn plan(app: &App) -> Result<()> {
    let mut connection = socket()?;
    connection.send(&FromTask::Hello {
        version: VERSION,
        plan: app.digest(),
    })?;
    connection.send(&FromTask::Plan { plan: app.plan() })?;
    Ok(())
}

/// Says once, through a hook, why a task or a driver panics, which both call `failed`; whether the profile unwinds or aborts.
pub(crate) fn tell_panics(connection: &Connection) -> Result<()> {
    let speaker = std::sync::Mutex::new(connection.speaker()?);
    let main = std::thread::current().id();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        #[cfg(any(feature = "avro", feature = "parquet"))]
        if crate::guarded::is_guarded() {
            return;
        }
        before(panic);
        // A thread of the user's own may panic and be joined.
        if std::thread::current().id() != main {
            return;
        }
        let payload = panic.payload();
        let words = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned());
        let words = words
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        let place = panic
            .location()
            .map(|at| format!(" at {}:{}", at.file(), at.line()))
            .unwrap_or_default();
        if let Ok(mut speaker) = speaker.lock() {
            drop(speaker.send(&FromTask::Failed {
                sentence: bounded(&format!("panicked{place}: {words}")).into_owned(),
                no_device: false,
                device: String::new(),
                no_room: false,
            }));
        }
    }));
    Ok(())
}

fn task(app: &App) -> Result<ExitCode> {
    let mut connection = socket()?;
    connection.send(&FromTask::Hello {
        version: VERSION,
        plan: app.digest(),
    })?;
    let welcome = match connection.receive()? {
        ToTask::Welcome(welcome) => welcome,
        // The launcher says it, once.
        ToTask::Refused { .. } => return Ok(ExitCode::from(FAILED)),
        other => return Err(Error::new(format!("no welcome but {other:?}"))),
    };
    if welcome.version != VERSION {
        let words = format!(
            "the launcher speaks version {} of the task protocol, this is {VERSION}",
            welcome.version
        );
        return Err(Error::new(words));
    }
    let shared = connection.descriptor()?;
    let page = Page::over(&shared, welcome.blame)?;
    let footprint = Footprint::over(&shared, welcome.blame)?;
    let scratch = Arc::new(Scratch::new(connection.descriptor()?, footprint));
    let spec = app.spec(&welcome.job)?;
    tell_panics(&connection)?;
    // Under memory pressure a task goes before its launcher does.
    drop(std::fs::write("/proc/self/oom_score_adj", "900"));
    let connection = Rc::new(RefCell::new(connection));
    let mut spare = Spare::default();
    loop {
        // Bound before the match: what serves the order borrows the connection again.
        let order = connection.borrow_mut().receive()?;
        let done = match order {
            ToTask::Map(order) => {
                let context = context(&connection, &welcome, &page, 'm', order.task, order.attempt);
                let run = MapRun {
                    order: &order,
                    context,
                    scratch: Arc::clone(&scratch),
                    spare: &mut spare,
                    direct: spec.direct.clone(),
                };
                map(spec, run, &connection)
            }
            ToTask::Reduce(order) => {
                spare = Spare::default();
                let context = context(&connection, &welcome, &page, 'r', order.task, order.attempt);
                let run = ReduceRun {
                    order,
                    context,
                    scratch: Arc::clone(&scratch),
                    output: spec.output.clone(),
                };
                reduce(spec, run, &connection)
            }
            ToTask::Leave => return Ok(ExitCode::SUCCESS),
            other => Err(Error::new(format!("no order but {other:?}"))),
        };
        if let Err(error) = done {
            let no_device = error.is_no_device();
            connection.borrow_mut().send(&FromTask::Failed {
                sentence: bounded(&error.to_string()).into_owned(),
                no_device,
                device: error.missing().unwrap_or_default().to_owned(),
                no_room: error.is_no_room(),
            })?;
            if no_device {
                return Err(error);
            }
        }
    }
}

fn map(spec: &Spec, run: MapRun<'_>, connection: &RefCell<Connection>) -> Result<()> {
    let usage = Usage::begin();
    let mut done = (spec.map)(run)?;
    usage.count("MAP", &mut done.counters);
    let (file, partitions) = done.output.unzip();
    let message = FromTask::MapDone {
        counters: done.counters,
        partitions: partitions.unwrap_or_default(),
    };
    if let Some(file) = &file {
        file.hand_over();
    }
    let files: Vec<_> = file.iter().map(|file| file.as_fd()).collect();
    Ok(connection.borrow_mut().send_with(&message, &files)?)
}

fn reduce(spec: &Spec, run: ReduceRun, connection: &RefCell<Connection>) -> Result<()> {
    let Some(reduce) = &spec.reduce else {
        return Err(Error::new("this job has no reducer"));
    };
    let usage = Usage::begin();
    let mut counters = reduce(run)?;
    usage.count("REDUCE", &mut counters);
    Ok(connection
        .borrow_mut()
        .send(&FromTask::ReduceDone { counters })?)
}

fn context(
    connection: &Rc<RefCell<Connection>>,
    welcome: &Welcome,
    page: &Page,
    stage: char,
    number: u32,
    attempt: u32,
) -> Context {
    Context {
        settings: Settings::new(welcome.settings.clone()),
        params: welcome.params.clone(),
        counting: Counting::default(),
        page: page.clone(),
        ground: Box::new(Launcher {
            connection: Rc::clone(connection),
            said: None,
        }),
        stage,
        number,
        attempt,
        input: String::new(),
        split: Vec::new(),
        beside: None,
    }
}

/// The other end of the socket.
struct Launcher {
    connection: Rc<RefCell<Connection>>,
    said: Option<Instant>,
}

impl Launcher {
    fn file(&self, message: &FromTask, what: &str) -> Result<File> {
        match ask(&self.connection, message, what)? {
            Opened::File(file) => Ok(file),
            Opened::Stream(_) => Err(Error::new(format!(
                "{what}: a pipe was given where a file is wanted"
            ))),
        }
    }
}

/// Asks the launcher for a file, which is called `what`.
fn ask(connection: &RefCell<Connection>, message: &FromTask, what: &str) -> Result<Opened> {
    let mut connection = connection.borrow_mut();
    connection.send(message)?;
    match connection.receive()? {
        ToTask::Opened => Ok(Opened::File(connection.descriptor()?.into())),
        ToTask::Streamed => Ok(Opened::Stream(connection.descriptor()?.into())),
        ToTask::Refused { sentence } => Err(Error::new(sentence)),
        other => Err(Error::new(format!("{what}: no file but {other:?}"))),
    }
}

impl Ground for Launcher {
    fn input(&mut self, piece: u32) -> Open {
        let connection = Rc::clone(&self.connection);
        Rc::new(move |from| {
            ask(
                &connection,
                &FromTask::OpenInput { piece, from },
                &format!("piece {piece}"),
            )
        })
    }

    fn source(&mut self, source: u32) -> Result<File> {
        self.file(
            &FromTask::OpenSource { source },
            &format!("source {source}"),
        )
    }

    fn output(&mut self, name: &str) -> Result<File> {
        self.file(
            &FromTask::OpenOutput {
                name: name.to_owned(),
            },
            name,
        )
    }

    fn status(&mut self, text: &str) -> Result<()> {
        // At most one a second.
        if self
            .said
            .is_some_and(|said| said.elapsed() < Duration::from_secs(1))
        {
            return Ok(());
        }
        self.said = Some(Instant::now());
        self.connection
            .borrow_mut()
            .send(&FromTask::Status {
                text: beginning(text, STATUS).to_owned(),
            })
            .context(|| "status")
    }
}
