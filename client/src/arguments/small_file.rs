//! Text files that a command line names, of words that people write: a device or a pipe without an end is none.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;

/// Bytes, a line of 160 for each of a hundred thousand programs; more are not read.
const LONGEST: u64 = 16 << 20;

/// The whole text, or why there is none.
pub(super) fn text(name: &OsStr) -> Result<String, String> {
    let mut text = String::new();
    let read = File::open(name).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text));
    match read {
        // A text that is cut within a letter is too long before it is no text.
        Ok(length) if length as u64 <= LONGEST => Ok(text),
        Ok(_) => Err(format!("it has more than {LONGEST} bytes")),
        Err(error) => Err(format!("cannot read it: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused() {
        let said = text(OsStr::new("/dev/zero")).unwrap_err();
        assert_eq!(said, "it has more than 16777216 bytes");
        let said = text(OsStr::new("/")).unwrap_err();
        assert!(said.starts_with("cannot read it: "), "{said}");
        assert_eq!(text(OsStr::new("/dev/null")).unwrap(), "");
    }
}
