//! Programs: jobs that they register, and what drives them.

use std::ffi::OsString;
use std::process::ExitCode;
use std::rc::Rc;

use gerbil_task::{Plan, ROLE_VARIABLE};

use crate::arguments::Arguments;
use crate::drive::run::Run;
use crate::drive::submit::Submit;
use crate::error::{Error, Result};
use crate::job::{Ready, Spec};
use crate::local;
use crate::sort::digest::hash;

type DriverFunction = dyn Fn(&mut Run<'_>) -> Result<()>;
type Prepare = dyn for<'a> Fn(Submit<'a>) -> Result<Submit<'a>>;

/// A program: the jobs that it registers, and the driver that submits them.
///
/// Every role of the executable registers, so registration looks at nothing: no environment, files or clock.
/// Only the client's driver drives, a process of its own beside it; loops and chains of jobs are plain Rust there.
pub struct App {
    name: String,
    specs: Vec<Rc<Spec>>,
    driver: Option<Box<DriverFunction>>,
    /// What is added to the only job where there is no driver.
    prepare: Option<Box<Prepare>>,
    /// The first argument of every process of this program.
    chosen_by: Option<&'static str>,
    exit_code: fn(&str) -> Option<u8>,
    /// Of the driver of a run on this machine.
    variables: Vec<(String, OsString)>,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.plan())
    }
}

impl App {
    /// A program called `name`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            specs: Vec::new(),
            driver: None,
            prepare: None,
            chosen_by: None,
            exit_code: |_| None,
            variables: Vec::new(),
        }
    }

    /// Registers a job.
    #[must_use]
    pub fn job<K, V>(mut self, job: Ready<K, V>) -> Self {
        self.specs.push(Rc::new(job.spec));
        self
    }

    /// Says what is done with the jobs. Without a driver the only job reads the inputs of the command line
    /// and writes its output.
    #[must_use]
    pub fn drive(mut self, driver: impl Fn(&mut Run<'_>) -> Result<()> + 'static) -> Self {
        self.driver = Some(Box::new(driver));
        self
    }

    /// Adds to the only job of a program without a driver, before it is submitted: params and settings.
    #[must_use]
    pub fn prepare(
        mut self,
        prepare: impl for<'a> Fn(Submit<'a>) -> Result<Submit<'a>> + 'static,
    ) -> Self {
        self.prepare = Some(Box::new(prepare));
        self
    }

    /// The only job, with what was to be added.
    pub(crate) fn prepared<'a>(&self, submit: Submit<'a>) -> Result<Submit<'a>> {
        match &self.prepare {
            Some(prepare) => prepare(submit),
            None => Ok(submit),
        }
    }

    /// Where one executable is several programs, which its first argument tells apart: `argument` chooses this one, and
    /// each process that it starts has it.
    #[must_use]
    pub const fn chosen_by(mut self, argument: &'static str) -> Self {
        self.chosen_by = Some(argument);
        self
    }

    /// What a run on this machine exits with that has failed with this sentence, where it is not the code of any such run.
    #[must_use]
    pub const fn exit_code(mut self, of: fn(&str) -> Option<u8>) -> Self {
        self.exit_code = of;
        self
    }

    /// A variable that the driver of a run on this machine finds.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn variables(&self) -> &[(String, OsString)] {
        &self.variables
    }

    /// The words that choose this program out of its executable.
    pub(crate) fn choice(&self) -> Vec<OsString> {
        self.chosen_by.into_iter().map(OsString::from).collect()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn driver(&self) -> Option<&DriverFunction> {
        self.driver.as_deref()
    }

    pub(crate) fn specs(&self) -> &[Rc<Spec>] {
        &self.specs
    }

    pub(crate) fn spec(&self, name: &str) -> Result<&Spec> {
        self.specs
            .iter()
            .map(Rc::as_ref)
            .find(|spec| spec.planned.name == name)
            .ok_or_else(|| {
                let names: Vec<_> = self
                    .specs
                    .iter()
                    .map(|spec| spec.planned.name.as_str())
                    .collect();
                Error::new(format!(
                    "{} registers no job {name:?} but {names:?}",
                    self.name
                ))
            })
    }

    pub(crate) fn plan(&self) -> Plan {
        Plan {
            name: self.name.clone(),
            jobs: self.specs.iter().map(|spec| spec.planned.clone()).collect(),
            drives: true,
            drives_one: self.driver.is_none(),
        }
    }

    /// What tells this plan from others.
    pub(crate) fn digest(&self) -> String {
        let json = serde_json::to_vec(&self.plan()).unwrap_or_default();
        format!("{:016x}{:016x}", hash(&json, 1), hash(&json, 2))
    }

    /// What the program does. The first statement of `main`, and its result.
    #[must_use]
    pub fn main(self) -> ExitCode {
        let words = std::env::args_os().skip(1 + self.choice().len());
        let words = words.collect();
        self.main_with(words)
    }

    /// The same, with these words in the place of the command line, which a program has read that has a command line of
    /// its own.
    #[must_use]
    pub fn main_with(self, words: Vec<OsString>) -> ExitCode {
        if let Some(error) = self.specs.iter().find_map(|spec| spec.sound().err()) {
            crate::say(&format!("{}: {error}", self.name));
            return ExitCode::from(64);
        }
        let role = std::env::var(ROLE_VARIABLE).ok();
        if let Some(role) = role.as_deref().filter(|role| *role != "drive") {
            return crate::task::role::take(&self, role);
        }
        let arguments = match Arguments::parse(&self, words.into_iter()) {
            Ok(arguments) => arguments,
            Err(error) => {
                crate::say(&format!("{}: {error}", self.name));
                return ExitCode::from(64);
            }
        };
        if arguments.help {
            return arguments.print_help(&self);
        }
        if let Some(option) = arguments.only_here().filter(|_| !arguments.local) {
            crate::say(&format!(
                "{}: {option} is of a run on this machine: it goes with --local",
                self.name
            ));
            return ExitCode::from(64);
        }
        let is_local_client = std::env::var_os(local::client::LOCAL_VARIABLE).is_some();
        if role.is_some() && arguments.local && !is_local_client {
            crate::say(&format!(
                "{}: --local behind the program does not reach the client, which runs jobs on a cluster: give it before \
                 the program (gerbil mr --local PROGRAM …)",
                self.name
            ));
            return ExitCode::from(64);
        }
        if role.is_some() && arguments.inline {
            crate::say(&format!(
                "{}: --inline is of a program that is started by itself, without gerbil mr",
                self.name
            ));
            return ExitCode::from(64);
        }
        if role.is_some() {
            arguments.remark(&self.name);
            return crate::drive::drive(&self, &arguments).unwrap_or_else(|error| {
                crate::say(&format!("{}: {error}", self.name));
                ExitCode::from(70)
            });
        }
        if !arguments.local {
            return local::elsewhere::start(&self.name);
        }
        if let Err(error) = arguments.check_report() {
            crate::say(&format!("{}: {error}", self.name));
            return ExitCode::from(64);
        }
        let served = match arguments.inline {
            true => local::inline::serve(&self, &arguments),
            false => local::client::serve(&self, &arguments),
        };
        match served {
            Ok(()) => ExitCode::SUCCESS,
            Err((error, code)) => {
                let said = error.to_string();
                crate::say(&format!("{}: {said}", self.name));
                ExitCode::from((self.exit_code)(&said).unwrap_or(code))
            }
        }
    }
}
