//! Asks one library of devices in a child, which may crash or hang there.
//!
//! The child says in a line what it is about to call, so that who listens knows where it ended.

use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use job::Role;
use job::element::Element;
use serde::{Deserialize, Serialize};

/// Most that a child may say, bytes.
const SAID_MAX: u64 = 1 << 20;
/// Lines of a child that wait to be understood.
const LINES: usize = 16;
/// For the kernel to end a child that was killed; one that waits for a device in the kernel is left behind.
const KILL: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_millis(2);

/// A library of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Api {
    Cuda,
    OpenCl,
}

impl Api {
    pub(super) const EVERY: [Self; 2] = [Self::Cuda, Self::OpenCl];

    /// As the child's command line says it.
    pub(super) const fn argument(self) -> &'static str {
        match self {
            Self::Cuda => "cuda",
            Self::OpenCl => "opencl",
        }
    }

    pub(super) fn from_argument(argument: &str) -> Option<Self> {
        Self::EVERY
            .into_iter()
            .find(|api| api.argument() == argument)
    }

    /// The name of its binary interface.
    pub(super) const fn library(self) -> &'static str {
        match self {
            Self::Cuda => "libcuda.so.1",
            Self::OpenCl => "libOpenCL.so.1",
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ApiAnswer {
    /// It knows these.
    Devices(Vec<Element>),
    /// It works, and knows none: why.
    Nothing(String),
    /// It does not work: where, and how that was seen.
    Broken(String),
}

impl ApiAnswer {
    pub(super) fn nothing(why: &str) -> Self {
        Self::Nothing(why.to_owned())
    }
}

/// One more device, which may be as others are.
pub(super) fn add(elements: &mut Vec<Element>, device: Element) {
    let alike = elements.iter_mut().find(|element| {
        let of = |one: &Element| {
            (
                one.kind,
                one.maker.clone(),
                one.model.clone(),
                one.memory_mib,
                one.driver.clone(),
            )
        };
        of(element) == of(&device)
    });
    match alike {
        Some(element) => element.count = element.count.saturating_add(1),
        None => elements.push(device),
    }
}

/// A line of the child.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ApiLine {
    /// It is about to call this.
    Call(String),
    Device(Element),
    Nothing(String),
    Broken(String),
    /// There is no more.
    End,
}

/// Writes a line, at once.
pub(super) fn tell(line: &ApiLine) {
    let text = serde_json::to_string(line).unwrap_or_default();
    let mut out = std::io::stdout().lock();
    // Who does not listen any more has ended this process, or is about to.
    drop(writeln!(out, "{text}").and_then(|()| out.flush()));
}

/// Has `executable` ask a library of the machine below `root`, until then.
pub(super) fn ask(
    executable: &Path,
    root: &Path,
    api: Api,
    library: &Path,
    until: Instant,
) -> ApiAnswer {
    let child = Command::new(executable)
        .arg(Role::Probe.argument())
        .arg(root)
        .arg(api.argument())
        .arg(library)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return ApiAnswer::Broken(format!("no process to ask it: {error}")),
    };
    let (said, heard) = mpsc::sync_channel(LINES);
    let Some(out) = child.stdout.take() else {
        return ApiAnswer::Broken("no pipe to its process".to_owned());
    };
    // It ends with what the child has started: nobody waits for it.
    std::thread::spawn(move || {
        let mut lines = std::io::BufReader::new(out.take(SAID_MAX));
        let mut line = String::new();
        while std::io::BufRead::read_line(&mut lines, &mut line).is_ok_and(|bytes| bytes > 0) {
            let understood = serde_json::from_str(line.trim_end());
            let Ok(understood) = understood else { return };
            if said.send(understood).is_err() {
                return;
            }
            line.clear();
        }
    });
    let mut lines = Vec::new();
    let hung = loop {
        match heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(ApiLine::End) => break false,
            Ok(line) => lines.push(line),
            Err(mpsc::RecvTimeoutError::Timeout) => break true,
            Err(mpsc::RecvTimeoutError::Disconnected) => break false,
        }
    };
    if hung {
        drop(child.kill());
    }
    let ended = ended(&mut child, hung, until);
    understood(lines, hung, ended)
}

/// How the child ended, as far as that is to be waited for. It has said all that it says, or is killed.
fn ended(child: &mut Child, hung: bool, until: Instant) -> Option<ExitStatus> {
    let until = match hung {
        true => Instant::now() + KILL,
        false => until,
    };
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => std::thread::park_timeout(PAUSE),
            // Its last words are there: what its library does when it is unloaded is of no interest.
            Ok(None) => {
                drop(child.kill());
                return None;
            }
            Err(_) => return None,
        }
    }
}

fn understood(lines: Vec<ApiLine>, hung: bool, ended: Option<ExitStatus>) -> ApiAnswer {
    let (mut call, mut devices, mut nothing) = (String::from("its start"), Vec::new(), None);
    for line in lines {
        match line {
            ApiLine::Call(name) => call = name,
            ApiLine::Device(element) => devices.push(element),
            ApiLine::Nothing(why) => nothing = Some(why),
            ApiLine::Broken(why) => return ApiAnswer::Broken(why),
            ApiLine::End => {}
        }
    }
    if hung {
        let seconds = super::DEADLINE.as_secs();
        return ApiAnswer::Broken(format!("no answer within {seconds} s in {call}"));
    }
    match ended.map(|status| (status.signal(), status.code())) {
        Some((Some(signal), _)) => return ApiAnswer::Broken(format!("signal {signal} in {call}")),
        Some((_, Some(code))) if code != 0 => {
            return ApiAnswer::Broken(format!("its process exited with code {code} in {call}"));
        }
        _ => {}
    }
    match (devices.is_empty(), nothing) {
        (false, _) => ApiAnswer::Devices(devices),
        (true, Some(why)) => ApiAnswer::Nothing(why),
        (true, None) => ApiAnswer::Broken(format!("its process ended without a word in {call}")),
    }
}
