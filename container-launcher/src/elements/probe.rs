//! The role that asks libraries of devices: `--as=probe ROOT` prints the node's elements as a JSON array,
//! `--as=probe ROOT API LIBRARY` is the child that loads one library.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use job::element::{Element, Scan};
use job::exit::Exit;
use libloading::Library;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::alarm;

use super::api::{Api, ApiAnswer, ApiLine, ask, tell};
use super::{DEADLINE, cuda, files, merge, opencl};
use crate::say;
use crate::surroundings::Surroundings;

/// A process that nobody ends is gone after so many seconds.
const SECONDS_MAX: u32 = 5;

/// Runs the role: `args` are what follows it on the command line.
pub fn probe_main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(root) = args.next() else {
        say("a probe needs a folder; / is this machine");
        return ExitCode::from(Exit::Usage.code());
    };
    alarm::set(SECONDS_MAX);
    set_pdeathsig(Signal::SIGKILL).ok();
    let api = args.next();
    let api = api.and_then(|api| Api::from_argument(api.to_str()?));
    match (api, args.next()) {
        (Some(api), Some(library)) => child(api, Path::new(&library)),
        (None, None) => match Surroundings::of_this_process() {
            Ok(around) => all(Path::new(&root), &around),
            Err(error) => {
                say(&format!("cannot start: where it was started: {error}"));
                return ExitCode::from(Exit::Lost.code());
            }
        },
        _ => {
            say("a probe of a library needs its kind, cuda or opencl, and its file");
            return ExitCode::from(Exit::Usage.code());
        }
    }
    ExitCode::SUCCESS
}

/// Loads a library and says what it answers.
fn child(api: Api, library: &Path) {
    // What crashes here is no news to whoever looks for cores.
    setrlimit(Resource::RLIMIT_CORE, 0, 0).ok();
    crashes_are_ends();
    tell(&ApiLine::Call(format!("dlopen of {}", library.display())));
    let asked = load(library).and_then(|library| match api {
        Api::Cuda => cuda::ask(&library),
        Api::OpenCl => opencl::ask(&library),
    });
    match asked {
        Ok(ApiAnswer::Devices(elements)) => {
            elements
                .into_iter()
                .for_each(|element| tell(&ApiLine::Device(element)));
        }
        Ok(ApiAnswer::Nothing(why)) => tell(&ApiLine::Nothing(why)),
        Ok(ApiAnswer::Broken(why)) => tell(&ApiLine::Broken(why)),
        Err(error) => tell(&ApiLine::Broken(format!("{}: {error}", api.library()))),
    }
    tell(&ApiLine::End);
}

#[expect(unsafe_code, reason = "a library is loaded")]
fn load(library: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: what drivers and their loaders do when they are loaded has no conditions, and this process is there for
    // it alone.
    unsafe { Library::new(library) }
}

/// The runtime looks at faults itself, to tell of a stack that has overflowed: here each ends the process at once.
#[expect(unsafe_code, reason = "signal handlers have no safe face")]
fn crashes_are_ends() {
    for fault in [Signal::SIGSEGV, Signal::SIGBUS] {
        // SAFETY: the default action runs no code of this process.
        unsafe { signal(fault, SigHandler::SigDfl) }.ok();
    }
}

/// Prints all elements.
fn all(root: &Path, around: &Surroundings) {
    let elements = elements(root, around);
    let text = serde_json::to_string(&elements).unwrap_or_default();
    // A reader that has left has no use for it.
    drop(writeln!(std::io::stdout().lock(), "{text}"));
}

/// All of the machine below `root`; each library is asked in a child of its own, all at the same time.
fn elements(root: &Path, around: &Surroundings) -> Vec<Element> {
    let seen = files::SeenFiles::below(root, around);
    let scan = Scan {
        root: root.display().to_string(),
        ..Scan::default()
    };
    let (mut elements, _) = super::at_once(&scan, around);
    if !seen.asks() {
        return elements;
    }
    let until = Instant::now() + DEADLINE;
    let (mut cuda, mut open_cl) = (None, None);
    std::thread::scope(|scope| {
        let own = &around.executable;
        let asking = seen.libraries.iter().map(|(api, library)| {
            let asked = scope.spawn(move || ask(own, root, *api, library, until));
            (*api, asked)
        });
        let asking: Vec<_> = asking.collect();
        for (api, asked) in asking {
            let failed = |_| ApiAnswer::Broken("its thread ended".to_owned());
            let answer = Some(asked.join().unwrap_or_else(failed));
            match api {
                Api::Cuda => cuda = answer,
                Api::OpenCl => open_cl = answer,
            }
        }
    });
    elements.extend(merge::gpus(&seen.gpus, cuda, open_cl));
    elements
}
