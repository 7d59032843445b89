//! A program that is driven: its command line, its jobs, and files that it looks at itself.

use crate::app::App;
use crate::arguments::Arguments;
use crate::drive::client::DriverSocket;
use crate::drive::submit::Submit;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::settings::Settings;

/// A program that is driven.
#[derive(Debug)]
pub struct Run<'a> {
    pub(crate) app: &'a App,
    pub(crate) arguments: &'a Arguments,
    pub(crate) client: &'a DriverSocket,
}

impl<'a> Run<'a> {
    /// The inputs of the command line: all its operands but the last.
    #[must_use]
    pub fn inputs(&self) -> &'a [String] {
        self.arguments
            .operands
            .split_last()
            .map_or(&[], |(_, inputs)| inputs)
    }

    /// The output of the command line: its last operand.
    #[must_use]
    pub fn output(&self) -> &'a str {
        self.arguments.operands.last().map_or("", String::as_str)
    }

    /// The value of an option that a job registered.
    ///
    /// # Errors
    /// There is no such option, or its value is none of that kind.
    pub fn option<T: std::str::FromStr>(&self, name: &str) -> Result<T> {
        Settings::new(self.arguments.settings.clone()).option(name)
    }

    /// Settings of the command line and of the client, as a struct; what a job sets itself is not among them.
    ///
    /// # Errors
    /// One that is needed is not given, or a value is none of its kind.
    pub fn options<T: Options>(&self) -> Result<T> {
        let layers = [
            &self.client.defaults,
            &self.client.given,
            &self.arguments.settings,
        ];
        let mut settings = Settings::default();
        for (name, value) in layers.into_iter().flatten() {
            settings.set(name, value);
        }
        T::of(&settings)
    }

    /// The job `name`, to be submitted.
    #[must_use]
    pub fn job(&mut self, name: &str) -> Submit<'a> {
        Submit::new(self.app, self.arguments, self.client, name)
    }

    /// The text of a file, or of all files of a folder in a row, wherever the client finds that path: the
    /// driver's own machine may not have it.
    ///
    /// # Errors
    /// It is not there, cannot be read, or is no text.
    pub fn read_text(&self, path: &str) -> Result<String> {
        self.client.read(&self.client.list(path)?)
    }

    /// Removes the output of a job that this driver submitted, such as one between two jobs.
    ///
    /// # Errors
    /// It is none, or cannot be removed.
    pub fn remove(&self, output: &str) -> Result<()> {
        self.client.remove(output)
    }

    /// Runs the only job on the operands.
    pub(crate) fn only_job(&mut self) -> Result<()> {
        let [spec] = self.app.specs() else {
            let words = format!(
                "{} registers {} jobs and has no driver",
                self.app.name(),
                self.app.specs().len()
            );
            return Err(Error::new(words));
        };
        let submit = self.job(&spec.planned.name).inputs(self.inputs());
        let submit = self.app.prepared(submit.output(self.output()))?;
        submit.submit()?.wait_for_output()
    }
}
