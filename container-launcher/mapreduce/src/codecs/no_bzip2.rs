//! In place of bzip2, where the program was built without it.

use std::fs::File;
use std::io::{BufRead, BufWriter, Read};

use super::{Encode, missing};
use crate::error::Result;

pub(crate) fn there() -> Result<()> {
    Err(missing("bzip2", "bzip2"))
}

pub(crate) fn reader<'a>(_: impl BufRead + 'a) -> Result<Box<dyn Read + 'a>> {
    Err(missing("bzip2", "bzip2"))
}

pub(crate) fn writer(_: BufWriter<File>) -> Result<Box<dyn Encode>> {
    Err(missing("bzip2", "bzip2"))
}

pub(crate) fn compress(_: &[u8], _: &mut Vec<u8>) -> Result<()> {
    Err(missing("bzip2", "bzip2"))
}
