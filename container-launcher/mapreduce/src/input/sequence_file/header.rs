//! What stands at the front of a SequenceFile.

use super::SYNC;
use crate::datum::writable::read_long;
use crate::error::{Error, Result};

/// What a header says.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) codec: Option<String>,
    /// Whether records are compressed many at a time.
    pub(super) in_blocks: bool,
    pub(super) sync: [u8; SYNC],
    pub(super) length: usize,
}

fn text(bytes: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(read_long(bytes)?).ok()?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    String::from_utf8(text.to_vec()).ok()
}

fn flag(bytes: &mut &[u8]) -> Option<bool> {
    let (flag, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*flag != 0)
}

impl Header {
    /// Reads the header at the front of a file, of which `bytes` are the first ones.
    pub(super) fn parse(bytes: &[u8], name: &str) -> Result<Self> {
        let mut rest = match bytes {
            [b'S', b'E', b'Q', 6, rest @ ..] => rest,
            [b'S', b'E', b'Q', version, ..] => {
                return Err(Error::new(format!(
                    "{name} is a SequenceFile of version {version}, and only version 6 is read here"
                )));
            }
            [] => {
                return Err(Error::new(format!(
                    "{name} is empty, and a SequenceFile without records still has a header: leave the file out"
                )));
            }
            _ => return Err(Error::new(format!("{name} is no SequenceFile"))),
        };
        let rest = &mut rest;
        let broken = || Error::new(format!("{name}: the header of this SequenceFile is broken"));
        let (key, value) = (
            text(rest).ok_or_else(broken)?,
            text(rest).ok_or_else(broken)?,
        );
        let compressed = flag(rest).ok_or_else(broken)?;
        let in_blocks = flag(rest).ok_or_else(broken)?;
        // Blocks are always compressed.
        if in_blocks && !compressed {
            return Err(broken());
        }
        let codec = if compressed {
            Some(text(rest).ok_or_else(broken)?)
        } else {
            None
        };
        let (pairs, tail) = rest.split_first_chunk::<4>().ok_or_else(broken)?;
        *rest = tail;
        for _ in 0..u32::from_be_bytes(*pairs).saturating_mul(2) {
            text(rest).ok_or_else(broken)?;
        }
        let (sync, tail) = rest.split_first_chunk::<SYNC>().ok_or_else(broken)?;
        Ok(Self {
            key,
            value,
            codec,
            in_blocks,
            sync: *sync,
            length: bytes.len() - tail.len(),
        })
    }
}
