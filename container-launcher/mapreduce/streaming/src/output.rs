//! Text, in files that are called as Hadoop Streaming calls them: `part-00000`.

use std::fs::File;

use gerbil_mapreduce::{OutputFormat, RecordWriter, Result, Settings, Text, TextOutput};

use crate::settings::LAZY;

/// As [`TextOutput`], under other names.
#[derive(Debug)]
pub(crate) struct PartOutput;

impl OutputFormat<Text, Text> for PartOutput {
    fn writer(file: File, settings: &Settings) -> Result<Box<dyn RecordWriter>> {
        <TextOutput as OutputFormat<Text, Text>>::writer(file, settings)
    }

    fn file(name: &str, _stage: char, number: u32) -> String {
        format!("{name}-{number:05}")
    }

    fn is_lazy(settings: &Settings) -> Result<bool> {
        Ok(settings.parse_if(LAZY)?.unwrap_or(false))
    }

    fn suffix(settings: &Settings) -> Result<String> {
        <TextOutput as OutputFormat<Text, Text>>::suffix(settings)
    }
}
