//! Compressed streams, one behind the other in a file, as one: what `cat` makes of two files is what both hold.

use std::io::{self, BufRead, Read};

use flate2::bufread::ZlibDecoder;

/// Reads streams of one codec until nothing is behind them. What is behind a stream and is none is an error of the
/// decoder that meets it.
pub(crate) struct Streams<R, D> {
    place: StreamPart<R, D>,
    open: fn(R) -> D,
    close: fn(D) -> R,
    /// Zeros behind a stream belong to no stream, and mean nothing.
    may_be_padded: bool,
}

enum StreamPart<R, D> {
    Within(D),
    Behind(R),
    End,
}

/// Streams of zlib.
pub(crate) fn zlib<R: BufRead>(raw: R) -> Streams<R, ZlibDecoder<R>> {
    Streams::new(raw, ZlibDecoder::new, ZlibDecoder::into_inner)
}

impl<R: BufRead, D: Read> Streams<R, D> {
    /// Those in `raw`, which begins with one; `open` begins to decode a stream, and `close` gives back what is behind it.
    pub(crate) fn new(raw: R, open: fn(R) -> D, close: fn(D) -> R) -> Self {
        Self {
            place: StreamPart::Within(open(raw)),
            open,
            close,
            may_be_padded: false,
        }
    }

    /// The same where zeros may be behind streams.
    #[cfg(feature = "bzip2")]
    pub(crate) const fn padded(mut self) -> Self {
        self.may_be_padded = true;
        self
    }

    /// Whether there is more, which is a stream then.
    fn goes_on(raw: &mut R, may_be_padded: bool) -> io::Result<bool> {
        loop {
            let seen = raw.fill_buf()?;
            let zeros = match may_be_padded {
                true => seen.iter().take_while(|byte| **byte == 0).count(),
                false => 0,
            };
            if zeros < seen.len() {
                raw.consume(zeros);
                return Ok(true);
            }
            if zeros == 0 {
                return Ok(false);
            }
            raw.consume(zeros);
        }
    }
}

impl<R: BufRead, D: Read> Read for Streams<R, D> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            self.place = match std::mem::replace(&mut self.place, StreamPart::End) {
                StreamPart::Within(mut decoder) => match decoder.read(into) {
                    Ok(0) => StreamPart::Behind((self.close)(decoder)),
                    read => {
                        self.place = StreamPart::Within(decoder);
                        return read;
                    }
                },
                StreamPart::Behind(mut raw) => match Self::goes_on(&mut raw, self.may_be_padded) {
                    Ok(true) => StreamPart::Within((self.open)(raw)),
                    Ok(false) => StreamPart::End,
                    Err(error) => {
                        self.place = StreamPart::Behind(raw);
                        return Err(error);
                    }
                },
                StreamPart::End => return Ok(0),
            };
        }
    }
}
