//! A job on its way: put together, submitted, waited for, and what it left.

use gerbil_task::brought::of_command_line;
use gerbil_task::inputs::escaped;
use gerbil_task::splits::{REDUCES_MAX, reduces as worth};
use gerbil_task::{BroughtFile, Piece, Submission};
use serde::Serialize;

use crate::app::App;
use crate::arguments::Arguments;
use crate::context::Counters;
use crate::drive::client::DriverSocket;
use crate::error::{Context as _, Error, Result};
use crate::input::Cutting;
use crate::input::splits::splits;
use crate::job::{Spec, inputs, option_setting};
use crate::output::sync::{SEED, seed_of_job};
use crate::partition::set_ranges;
use crate::settings::{INPUT_MAPS, RECURSIVE, REDUCES, SPLIT_MAX, SPLIT_PACK, Settings};
use crate::task::map::sizes;

/// A job on its way to be run.
#[derive(Debug)]
pub struct Submit<'a> {
    app: &'a App,
    arguments: &'a Arguments,
    client: &'a DriverSocket,
    order: Submission,
    settings: Vec<(String, String)>,
    /// What holds where nobody says something else.
    defaults: Vec<(String, String)>,
    /// Inputs with a mapper of their own, by their names.
    of: Vec<(String, String)>,
}

impl<'a> Submit<'a> {
    pub(crate) fn new(
        app: &'a App,
        arguments: &'a Arguments,
        client: &'a DriverSocket,
        job: &str,
    ) -> Self {
        Self {
            app,
            arguments,
            client,
            order: Submission {
                job: job.to_owned(),
                ..Submission::default()
            },
            settings: Vec::new(),
            defaults: Vec::new(),
            of: Vec::new(),
        }
    }

    /// Adds an input: a file, folder, list or pattern. A backslash makes the letter behind it a plain one.
    #[must_use]
    pub fn input(mut self, path: &str) -> Self {
        self.order.inputs.push(path.to_owned());
        self
    }

    /// Adds some inputs, such as those of the [command line](crate::Run::inputs).
    #[must_use]
    pub fn inputs(self, paths: &[String]) -> Self {
        paths.iter().fold(self, |submit, path| submit.input(path))
    }

    /// Adds the file or folder of just this name, such as the output of another job, as an input.
    #[must_use]
    pub fn input_path(self, path: &str) -> Self {
        self.input(&escaped(path))
    }

    /// Adds the [side files](crate::Context::side_file) of this name that the tasks of another job left beside its output, the
    /// folder of just this name.
    #[must_use]
    pub fn side_files(self, output: &str, name: &str) -> Self {
        let folder = escaped(output.trim_end_matches('/'));
        self.input(&format!("{folder}/{name}-[mr]-*"))
    }

    /// Says what the job reads as the input `name`, which it has beside the first one
    /// ([`Mapped::and`](crate::Mapped::and)), in the place of what the command line says: a file, folder, list or pattern.
    /// Said again, it is one more.
    #[must_use]
    pub fn input_of(mut self, name: &str, path: &str) -> Self {
        match self.of.iter_mut().find(|(of, _)| of == name) {
            Some((_, paths)) => *paths = format!("{paths},{path}"),
            None => self.of.push((name.to_owned(), path.to_owned())),
        }
        self
    }

    /// Says where the output goes: a folder that is not there yet.
    #[must_use]
    pub fn output(mut self, path: &str) -> Self {
        path.clone_into(&mut self.order.output);
        self
    }

    /// Gives tasks something along, for their `setup`.
    ///
    /// # Errors
    /// It has no JSON.
    pub fn params(mut self, params: &impl Serialize) -> Result<Self> {
        self.order.params = serde_json::to_value(params).context(|| "params")?;
        Ok(self)
    }

    /// Brings a file to the tasks of this run, where [`Context::open`](crate::Context::open) finds it under this name. The
    /// path is as of an input: a file of another job's output is one, such as `OUT/part-r-00000`.
    #[must_use]
    pub fn brings(mut self, name: &str, path: &str) -> Self {
        self.order.brings.push(BroughtFile {
            name: name.to_owned(),
            path: path.to_owned(),
            ..BroughtFile::default()
        });
        self
    }

    /// Sets a setting for this run, whatever the command line says.
    #[must_use]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets a setting for this run where nobody says another value: neither the command line, nor the job, nor the
    /// client's own settings.
    #[must_use]
    pub fn set_default(mut self, name: &str, value: &str) -> Self {
        self.defaults.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Submits the job, which goes on while the driver does something else.
    ///
    /// # Errors
    /// There is no such job, a setting is none, or the client refuses it.
    pub fn submit(mut self) -> Result<Submitted<'a>> {
        let spec = self.app.spec(&self.order.job)?;
        let mut settings = Settings::default();
        for (name, value) in &self.defaults {
            settings.set(name, value);
        }
        for layer in [
            &self.client.defaults,
            &spec.planned.settings,
            &self.client.given,
            &self.arguments.settings,
        ] {
            for (name, value) in layer {
                settings.set(name, value);
            }
        }
        for (name, value) in &self.settings {
            settings.set(name, value);
        }
        for (name, paths) in &self.of {
            if !spec.more.iter().any(|of| of.planned.name == *name) {
                return Err(Error::new(format!(
                    "the job {} has no input {name:?} with a mapper of its own",
                    self.order.job
                )));
            }
            settings.set(&option_setting(name), paths);
        }
        settings.check()?;
        spec.check_options(&settings)?;
        if let Some(most) = self.client.split_max.get(&self.order.job) {
            for name in [SPLIT_MAX, SPLIT_PACK] {
                let least = settings.parse::<u64>(name)?.min(*most);
                settings.set(name, &least.to_string());
            }
        }
        for option in spec.options.iter().filter(|option| option.is_brought) {
            let path: String = settings.option(option.name)?;
            if !path.is_empty() {
                let brought = of_command_line(option.name, &path, false);
                self.order.brings.push(brought.map_err(Error::new)?);
            }
        }
        (self.order.brings).extend_from_slice(&self.arguments.brings);
        // What no task could do is said before there is one.
        sizes(&settings)?;
        let written = if spec.reduce.is_some() {
            &spec.output
        } else {
            &spec.direct
        };
        (written.suffix)(&settings)?;
        self.order.splits = match &spec.splits {
            Some(make) => make(&self.order.inputs, &settings)?,
            None => self.cut(spec, &mut settings)?,
        };
        let reduces = reduces(spec, &settings, &self.order.splits)?;
        settings.set(REDUCES, &reduces.to_string());
        if let (Some(sample), 2..) = (&spec.sample, reduces) {
            let (splits, open) = (&self.order.splits, self.client.opener());
            let keys = sample(splits, &settings, &self.order.params, &open)?;
            set_ranges(&mut settings, keys, reduces, spec.shown);
        }
        let seed = seed_of_job(&settings, &self.order.output)?;
        settings.set(SEED, &seed);
        self.order.settings = settings.given().clone();
        let output = self.order.output.clone();
        Ok(Submitted {
            client: self.client,
            number: self.client.submit(self.order)?,
            output,
        })
    }

    /// The client's files as splits, input after input; tasks are told how many each input has.
    fn cut(&mut self, spec: &Spec, settings: &mut Settings) -> Result<Vec<Vec<Piece>>> {
        let mut all = self.cut_input(&self.order.inputs, spec.cutting, settings)?;
        let mut maps = vec![all.len()];
        for more in &spec.more {
            let name = &more.planned.name;
            let input: String = settings.option(name)?;
            if input.is_empty() {
                return Err(Error::new(format!(
                    "the job {} has an input more, and nobody says which: --{name} IN names it ({})",
                    self.order.job, more.meaning
                )));
            }
            let cut = self.cut_input(std::slice::from_ref(&input), more.cutting, settings)?;
            maps.push(cut.len());
            all.extend(cut);
            self.order.inputs.push(input);
        }
        if !spec.more.is_empty() {
            settings.set(INPUT_MAPS, &inputs::said(&maps));
        }
        Ok(all)
    }

    /// The same of one input.
    fn cut_input(
        &self,
        words: &[String],
        cutting: Cutting,
        settings: &Settings,
    ) -> Result<Vec<Vec<Piece>>> {
        let granule = (cutting.granule)(settings)?;
        let recursive = settings.parse(RECURSIVE)?;
        let map_files = (cutting.map_files)(settings)?;
        let files = self.client.files(words, recursive, map_files)?;
        files
            .iter()
            .try_for_each(|file| (cutting.takes)(&file.path))?;
        splits(&files, granule, settings, &self.client.opener())
    }

    /// Submits the job and waits for its end.
    ///
    /// # Errors
    /// As [`submit`](Self::submit); or the job failed.
    pub fn wait(self) -> Result<Finished<'a>> {
        self.submit()?.wait()
    }
}

/// The number of reduces: what is asked for, or what the input is worth.
fn reduces(spec: &Spec, settings: &Settings, splits: &[Vec<Piece>]) -> Result<u32> {
    if spec.reduce.is_none() {
        return Ok(0);
    }
    let bytes = splits.iter().flatten().map(|piece| piece.length).sum();
    let reduces = settings
        .parse_if::<u32>(REDUCES)?
        .unwrap_or_else(|| worth(bytes));
    if reduces > REDUCES_MAX {
        return Err(Error::new(format!(
            "{REDUCES}={reduces}: {REDUCES_MAX} are the most"
        )));
    }
    Ok(reduces)
}

/// A job that is under way. When the driver returns, jobs that nobody waited for are waited for.
#[derive(Debug)]
pub struct Submitted<'a> {
    client: &'a DriverSocket,
    number: u32,
    output: String,
}

impl<'a> Submitted<'a> {
    /// Waits for the job's end.
    ///
    /// # Errors
    /// The job failed.
    pub fn wait(self) -> Result<Finished<'a>> {
        let counters = self.client.wait(self.number)?;
        Ok(Finished {
            client: self.client,
            counters,
            output: self.output,
        })
    }

    /// Waits for its output, and for nothing else.
    pub(crate) fn wait_for_output(self) -> Result<()> {
        self.client.wait_for_output(self.number)
    }
}

/// A job that has ended well.
#[derive(Debug)]
pub struct Finished<'a> {
    client: &'a DriverSocket,
    counters: Counters,
    output: String,
}

impl Finished<'_> {
    /// The value of a counter; 0 where nothing was counted.
    #[must_use]
    pub fn counter(&self, group: &str, counter: &str) -> i64 {
        self.counters
            .get(group)
            .and_then(|group| group.get(counter))
            .copied()
            .unwrap_or(0)
    }

    /// The folder of the output.
    #[must_use]
    pub fn output(&self) -> &str {
        &self.output
    }

    /// The output's part files in a row, as text.
    ///
    /// # Errors
    /// They cannot be read, or are no text.
    pub fn read_text(&self) -> Result<String> {
        let mut files = self.client.list(&self.output)?;
        files.retain(|file| {
            let name = file.path.rsplit('/').next();
            name.is_some_and(|name| name.starts_with("part-"))
        });
        self.client.read(&files)
    }
}
