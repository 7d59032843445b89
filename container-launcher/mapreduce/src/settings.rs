//! Settings of a job, under Hadoop's names where Hadoop has them.

use std::collections::BTreeMap;
use std::str::FromStr;

use gerbil_task::renamed::current;
use gerbil_task::setting_values::check_values;
use gerbil_task::settings::Standing;

use crate::error::{Error, Result};

pub(crate) use gerbil_task::settings::*;

/// Settings, each with the value that was given, or its default.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    given: BTreeMap<String, String>,
}

impl Settings {
    pub(crate) const fn new(given: BTreeMap<String, String>) -> Self {
        Self { given }
    }

    pub(crate) const fn given(&self) -> &BTreeMap<String, String> {
        &self.given
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.given
            .insert(current(name).to_owned(), value.to_owned());
    }

    /// Refuses settings that nobody would read.
    pub(crate) fn check(&self) -> Result<()> {
        for name in self.given.keys() {
            if let Standing::Unknown(hint) = standing(name) {
                return Err(Error::new(format!(
                    "the setting {name} means nothing here{hint}; --help lists those that do"
                )));
            }
        }
        let given = |name: &str| self.given.get(name).map(String::as_str);
        check_values(given).map_err(Error::new)?;
        check_accelerators(self)
    }

    /// Every setting that was given, in the order of their names.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        let given = self.given.iter();
        given.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of a setting, or its default; `None` where there is neither.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let name = current(name);
        let default = || {
            KNOWN
                .iter()
                .find(|known| known.name == name)
                .map(|known| known.default)
        };
        self.given
            .get(name)
            .map(String::as_str)
            .or_else(default)
            .filter(|value| !value.is_empty())
    }

    /// The value of a setting as a number, a truth, or whatever it is.
    ///
    /// # Errors
    /// There is none, or it is none of that kind.
    pub fn parse<T: FromStr>(&self, name: &str) -> Result<T> {
        let value = self
            .get(name)
            .ok_or_else(|| Error::new(format!("the setting {name} is needed")))?;
        // Hadoop takes TRUE for true, and blanks around a number.
        let plain = || value.trim().to_ascii_lowercase().parse().ok();
        let read = value.parse().ok().or_else(plain);
        read.ok_or_else(|| Error::new(format!("{name}={value} makes no sense")))
    }

    /// As [`parse`](Self::parse), but `None` where there is no value.
    ///
    /// # Errors
    /// The value is none of that kind.
    pub fn parse_if<T: FromStr>(&self, name: &str) -> Result<Option<T>> {
        self.get(name).map(|_| self.parse(name)).transpose()
    }

    /// The value of an option that a job registered, which may be empty.
    pub(crate) fn option<T: FromStr>(&self, name: &str) -> Result<T> {
        let value = self
            .given
            .get(&crate::job::option_setting(name))
            .ok_or_else(|| Error::new(format!("no job registers an option --{name}")))?;
        value.parse().ok().ok_or_else(|| {
            Error::new(format!(
                "--{name} {value} is no {}",
                std::any::type_name::<T>()
            ))
        })
    }

    pub(crate) fn arena(&self) -> Result<usize> {
        let mib: usize = self.parse(ARENA)?;
        if !(1..=2047).contains(&mib) {
            return Err(Error::new(format!("{ARENA}={mib}: from 1 to 2047 MiB")));
        }
        Ok(mib << 20)
    }

    pub(crate) fn record_max(&self) -> Result<usize> {
        let longest = self.arena()? / 4;
        let given = self.parse_if::<usize>(RECORD_MAX)?.unwrap_or(longest);
        if given > longest {
            let words = format!(
                "{RECORD_MAX}={given}: a record may take a quarter of the arena at most, {longest} bytes"
            );
            return Err(Error::new(words + " (mapreduce.task.io.sort.mb)"));
        }
        Ok(given)
    }
}

/// Refuses what makes no sense of accelerators.
pub(crate) fn check_accelerators(settings: &Settings) -> Result<()> {
    gerbil_task::settings::check_accelerators(|name| settings.get(name)).map_err(Error::new)
}

#[cfg(test)]
mod tests {
    use super::{COMPRESS, REDUCES, Settings};

    #[test]
    fn values_are_read_as_hadoop_reads_them() {
        let mut settings = Settings::default();
        settings.set("mapred.output.compress", "TRUE");
        settings.set(REDUCES, " 3 ");
        settings.set("my.own", " As it is ");
        assert!(settings.parse::<bool>(COMPRESS).unwrap());
        assert_eq!(settings.parse::<u32>("mapred.reduce.tasks").unwrap(), 3);
        assert_eq!(settings.get("mapred.reduce.tasks"), Some(" 3 "));
        assert_eq!(settings.parse::<String>("my.own").unwrap(), " As it is ");
    }
}
