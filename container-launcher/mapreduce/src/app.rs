//! Programs: jobs that they register, and what drives them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gerbil_task::{Plan, ROLE_VARIABLE};
use serde::Serialize;

use crate::arguments::Arguments;
use crate::context::Counters;
use crate::error::{Context as _, Error, Result};
use crate::job::{Ready, Spec, option_setting};
use crate::local::{self, Order};
use crate::settings::Settings;
use crate::sort::digest::hash;

type Driver = dyn Fn(&mut Run<'_>) -> Result<()>;

/// A program: the jobs that it registers, and the driver that submits them.
///
/// Every role of the executable registers, so registration looks at nothing: no environment, files or clock.
/// Only the client drives; loops and chains of jobs are plain Rust there.
pub struct App {
    name: String,
    specs: Vec<Spec>,
    driver: Option<Box<Driver>>,
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
        }
    }

    /// Registers a job.
    #[must_use]
    pub fn job<K, V>(mut self, job: Ready<K, V>) -> Self {
        self.specs.push(job.spec);
        self
    }

    /// Says what is done with the jobs. Without a driver the only job reads the inputs of the command line
    /// and writes its output.
    #[must_use]
    pub fn drive(mut self, driver: impl Fn(&mut Run<'_>) -> Result<()> + 'static) -> Self {
        self.driver = Some(Box::new(driver));
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn specs(&self) -> &[Spec] {
        &self.specs
    }

    pub(crate) fn spec(&self, name: &str) -> Result<&Spec> {
        self.specs
            .iter()
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
        if let Ok(role) = std::env::var(ROLE_VARIABLE) {
            return crate::task::role::take(&self, &role);
        }
        let arguments = match Arguments::parse(&self, std::env::args_os().skip(1)) {
            Ok(arguments) => arguments,
            Err(error) => {
                crate::say(&format!("{}: {error}", self.name));
                return ExitCode::from(64);
            }
        };
        if arguments.help {
            return arguments.print_help(&self);
        }
        if !arguments.local {
            return local::elsewhere::start(&self.name);
        }
        let done = local::with_interrupts(|interrupts| {
            let mut run = Run {
                app: &self,
                arguments: &arguments,
                interrupts,
            };
            match &self.driver {
                Some(driver) => driver(&mut run),
                None => run.only_job(),
            }
        });
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err((error, code)) => {
                crate::say(&format!("{}: {error}", self.name));
                ExitCode::from(code)
            }
        }
    }
}

/// A program that is driven.
#[derive(Debug)]
pub struct Run<'a> {
    app: &'a App,
    arguments: &'a Arguments,
    interrupts: &'a local::Interrupts,
}

impl Run<'_> {
    /// The inputs of the command line: all its operands but the last.
    #[must_use]
    pub fn inputs(&self) -> &[String] {
        self.arguments
            .operands
            .split_last()
            .map_or(&[], |(_, inputs)| inputs)
    }

    /// The output of the command line: its last operand.
    #[must_use]
    pub fn output(&self) -> &str {
        self.arguments.operands.last().map_or("", String::as_str)
    }

    /// The value of an option that a job registered.
    ///
    /// # Errors
    /// There is no such option, or its value is none of that kind.
    pub fn option<T: std::str::FromStr>(&self, name: &str) -> Result<T> {
        Settings::new(self.arguments.settings.clone()).parse(&option_setting(name))
    }

    /// The job `name`, to be submitted.
    #[must_use]
    pub fn job(&mut self, name: &str) -> Submit<'_> {
        Submit {
            run: Run {
                app: self.app,
                arguments: self.arguments,
                interrupts: self.interrupts,
            },
            job: name.to_owned(),
            inputs: Vec::new(),
            output: String::new(),
            settings: Vec::new(),
            params: serde_json::Value::Null,
        }
    }

    fn only_job(&mut self) -> Result<()> {
        let [spec] = self.app.specs() else {
            let words = format!(
                "{} registers {} jobs and has no driver",
                self.app.name,
                self.app.specs().len()
            );
            return Err(Error::new(words));
        };
        let name = spec.planned.name.clone();
        let (inputs, output) = (self.inputs().to_vec(), self.output().to_owned());
        let submit = inputs
            .iter()
            .fold(self.job(&name), |submit, input| submit.input(input));
        submit.output(&output).wait().map(drop)
    }
}

/// A job on its way to be run.
#[derive(Debug)]
pub struct Submit<'a> {
    run: Run<'a>,
    job: String,
    inputs: Vec<String>,
    output: String,
    settings: Vec<(String, String)>,
    params: serde_json::Value,
}

impl Submit<'_> {
    /// Adds an input: a file, folder, list or pattern.
    #[must_use]
    pub fn input(mut self, path: &str) -> Self {
        self.inputs.push(path.to_owned());
        self
    }

    /// Says where the output goes: a folder that is not there yet.
    #[must_use]
    pub fn output(mut self, path: &str) -> Self {
        path.clone_into(&mut self.output);
        self
    }

    /// Gives tasks something along, for their `setup`.
    ///
    /// # Errors
    /// It has no JSON.
    pub fn params(mut self, params: &impl Serialize) -> Result<Self> {
        self.params = serde_json::to_value(params).context(|| "params")?;
        Ok(self)
    }

    /// Sets a setting for this run, whatever the command line says.
    #[must_use]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs the job and waits for its end.
    ///
    /// # Errors
    /// The job failed.
    pub fn wait(self) -> Result<Finished> {
        let spec = self.run.app.spec(&self.job)?;
        let mut settings = Settings::new(spec.planned.settings.clone());
        for (name, value) in &self.run.arguments.settings {
            settings.set(name, value);
        }
        for (name, value) in &self.settings {
            settings.set(name, value);
        }
        settings.check()?;
        let arguments = self.run.arguments;
        let order = Order {
            spec,
            digest: self.run.app.digest(),
            settings,
            params: self.params,
            inputs: self.inputs,
            output: PathBuf::from(self.output.strip_prefix("file://").unwrap_or(&self.output)),
            slots: arguments.slots,
            quiet: arguments.quiet,
            report: arguments.report.clone(),
            interrupts: self.run.interrupts,
        };
        let counters = local::run(&order)?;
        Ok(Finished {
            counters,
            output: order.output,
        })
    }
}

/// A job that has ended well.
#[derive(Debug)]
pub struct Finished {
    counters: Counters,
    output: PathBuf,
}

impl Finished {
    /// The value of a counter; 0 where nothing was counted.
    #[must_use]
    pub fn counter(&self, group: &str, counter: &str) -> u64 {
        self.counters
            .get(group)
            .and_then(|group| group.get(counter))
            .copied()
            .unwrap_or(0)
    }

    /// The folder of the output.
    #[must_use]
    pub fn output(&self) -> &Path {
        &self.output
    }

    /// The output's part files in a row, as text.
    ///
    /// # Errors
    /// They cannot be read, or are no text.
    pub fn read_text(&self) -> Result<String> {
        let mut parts = Vec::new();
        for entry in
            std::fs::read_dir(&self.output).context(|| self.output.display().to_string())?
        {
            let path = entry?.path();
            if path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("part-"))
            {
                parts.push(path);
            }
        }
        parts.sort();
        let mut text = String::new();
        for part in parts {
            text.push_str(&std::fs::read_to_string(&part).context(|| part.display().to_string())?);
        }
        Ok(text)
    }
}
