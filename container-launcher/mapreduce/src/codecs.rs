//! Codecs that a program is built with or without, because they take long to build: each is a feature.

#[cfg_attr(not(feature = "bzip2"), path = "codecs/no_bzip2.rs")]
pub(crate) mod bzip2;
pub(crate) mod streams;
#[cfg_attr(not(feature = "zstd"), path = "codecs/no_zstd.rs")]
pub(crate) mod zstd;

use std::fs::File;
use std::io::{self, BufWriter, Write};

/// What compresses on the way to a file.
pub(crate) trait Encode: Write {
    /// Writes what ends the compressed data.
    fn finish(self: Box<Self>) -> io::Result<BufWriter<File>>;
}

/// The sentence about a codec that this program was built without.
#[cfg(any(not(feature = "bzip2"), not(feature = "zstd")))]
fn missing(codec: &str, feature: &str) -> crate::Error {
    crate::Error::new(format!(
        "{codec} is not in this program: build it with `cargo add gerbil-mapreduce --features {feature}`"
    ))
}
