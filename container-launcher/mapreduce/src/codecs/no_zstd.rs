//! In place of Zstandard, where the program was built without it.

use std::fs::File;
use std::io::{BufRead, BufWriter, Read};

use super::{Encode, missing};
use crate::error::{Error, Result};

fn sentence() -> Error {
    missing("Zstandard", "zstd")
}

pub(crate) fn there() -> Result<()> {
    Err(sentence())
}

pub(crate) fn reader<'a>(_: impl BufRead + 'a) -> Result<Box<dyn Read + 'a>> {
    Err(sentence())
}

pub(crate) fn writer(_: BufWriter<File>) -> Result<Box<dyn Encode>> {
    Err(sentence())
}

pub(crate) fn compress(_: &[u8], _: &mut Vec<u8>) -> Result<()> {
    Err(sentence())
}

/// There are none.
pub(crate) enum Blocks {}

impl Blocks {
    pub(crate) fn new() -> Result<Self> {
        Err(sentence())
    }

    pub(crate) fn compress(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<usize> {
        match *self {}
    }
}

pub(crate) fn decompress(_: &[u8], _: &mut [u8]) -> Result<usize> {
    Err(sentence())
}
