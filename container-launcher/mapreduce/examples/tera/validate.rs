//! TeraValidate: is each file in order, are they in order among each other, and what is the checksum of all?

use gerbil_mapreduce::prelude::*;

use crate::{KEY, RECORD};

fn words(bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The file's name without its folders.
fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Looks at one file.
#[derive(Default)]
pub(crate) struct File {
    last: Option<[u8; KEY]>,
    checksum: u128,
}

impl Mapper for File {
    type Input = FixedLength;
    type Key = Text;
    type Value = Text;

    fn map(&mut self, _offset: u64, record: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let key: [u8; KEY] = record[..KEY].try_into()?;
        let file = name(out.input()).to_owned();
        match self.last {
            None => out.emit(&format!("{file}:begin"), &key)?,
            Some(last) if key < last => {
                let words = format!(
                    "misorder in {file} between {} and {}",
                    words(&last),
                    words(&key)
                );
                out.emit("error", &words)?;
            }
            Some(_) => {}
        }
        self.last = Some(key);
        let mut crc = flate2::Crc::new();
        crc.update(&record[..RECORD]);
        self.checksum += u128::from(crc.sum());
        Ok(())
    }

    fn cleanup(&mut self, out: &mut Emit<'_, Self>) -> Result<()> {
        if let Some(last) = self.last {
            let file = name(out.input()).to_owned();
            out.emit(&format!("{file}:end"), &last)?;
            out.emit("checksum", &format!("{:x}", self.checksum))?;
        }
        Ok(())
    }
}

/// Looks at where files meet.
#[derive(Default)]
pub(crate) struct Boundaries {
    last: Option<(String, Vec<u8>)>,
}

impl Reducer<Text, Text> for Boundaries {
    type Key = Text;
    type Value = Text;

    fn reduce(
        &mut self,
        key: &[u8],
        values: &mut Values<'_, Text, Text>,
        out: &mut Output<'_, Text, Text>,
    ) -> Result<()> {
        match key {
            b"error" => {
                while let Some(value) = values.next()? {
                    out.emit("error", value)?;
                }
            }
            b"checksum" => {
                let mut sum = 0_u128;
                while let Some(value) = values.next()? {
                    sum += u128::from_str_radix(std::str::from_utf8(value)?, 16)?;
                }
                out.emit("checksum", &format!("{sum:x}"))?;
            }
            _ => {
                let Some(value) = values.next()? else {
                    return Ok(());
                };
                let file = String::from_utf8_lossy(key).into_owned();
                if let Some((before, last)) = &self.last
                    && value < last.as_slice()
                {
                    let text = format!(
                        "bad key partitioning:\n  file {before} key {}\n  file {file} key {}",
                        words(last),
                        words(value)
                    );
                    out.emit("error", &text)?;
                }
                self.last = Some((file, value.to_vec()));
            }
        }
        Ok(())
    }
}
