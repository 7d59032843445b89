//! Parquet and Avro where lines of text are read: a mapper would be handed garbage.

use gerbil_task::splits::ends_with;

use crate::error::{Error, Result};

/// A format, how its files' names end, and how they begin: in Parquet the magic and the first field of a page's header, or
/// of a footer.
const FORMATS: [(&str, &str, &[u8]); 2] = [
    ("Parquet", ".parquet", b"PAR1\x15"),
    ("Avro", ".avro", b"Obj\x01"),
];

/// Whether a file of this name may be text.
pub(super) fn is_text(name: &str) -> Result<()> {
    said(name, |(_, ending, _)| ends_with(name, ending))
}

/// Whether a file that begins so may be text.
pub(super) fn begins_as_text(name: &str, beginning: &[u8]) -> Result<()> {
    said(name, |(_, _, magic)| beginning.starts_with(magic))
}

#[cold]
fn said(name: &str, is: impl Fn(&(&str, &str, &[u8])) -> bool) -> Result<()> {
    let Some((format, _, _)) = FORMATS.iter().find(|format| is(format)) else {
        return Ok(());
    };
    let feature = match *format {
        "Parquet" if cfg!(feature = "parquet") => "",
        "Parquet" => ": cargo add gerbil-mapreduce --features parquet",
        _ if cfg!(feature = "avro") => "",
        _ => ": cargo add gerbil-mapreduce --features avro",
    };
    let lines = "and a mapper of lines would be handed garbage; one whose Input is";
    Err(Error::new(format!(
        "{name} is {format}, {lines} {format}<T> reads it{feature}"
    )))
}

#[cfg(test)]
mod tests {
    use super::{begins_as_text, is_text};

    #[test]
    fn what_is_no_text_is_known_by_its_name_or_how_it_begins() {
        let words = is_text("in/a.PARQUET").unwrap_err().to_string();
        let begins = "in/a.PARQUET is Parquet, and a mapper of lines would be handed garbage; one whose Input is \
                      Parquet<T> reads it";
        assert!(words.starts_with(begins), "{words}");
        let words = begins_as_text("a", b"Obj\x01\x04").unwrap_err().to_string();
        assert!(words.starts_with("a is Avro, "), "{words}");
        assert!(begins_as_text("a", b"PAR1\x15\x04").is_err());
        for text in ["PAR1 is how it begins", "Object", ""] {
            begins_as_text("a", text.as_bytes()).unwrap();
        }
        is_text("parquet.txt").unwrap();
    }
}
