//! Where a line is cut into key and value: behind its first fields.

use memchr::{memchr, memmem};

/// How a stage cuts the lines of its command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    separator: Vec<u8>,
    /// Fields of which the key is made.
    fields: usize,
}

impl Cut {
    /// Behind `fields` of them, with `separator` between.
    pub(crate) fn new(separator: &str, fields: usize) -> Self {
        Self {
            separator: separator.as_bytes().to_vec(),
            fields: fields.max(1),
        }
    }

    /// Key and value of a line; without so many fields the line is key, and the value is empty.
    #[inline]
    pub(crate) fn pair<'a>(&self, line: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        let mut from = 0;
        for field in 1..=self.fields {
            let rest = line.get(from..).unwrap_or_default();
            let found = match self.separator.as_slice() {
                [separator] => memchr(*separator, rest),
                [] => None,
                separator => memmem::find(rest, separator),
            };
            let Some(at) = found else {
                break;
            };
            let behind = from + at + self.separator.len();
            if field == self.fields {
                let key = line.get(..from + at).unwrap_or_default();
                return (key, line.get(behind..).unwrap_or_default());
            }
            from = behind;
        }
        (line, &[])
    }
}

#[cfg(test)]
mod tests {
    use super::Cut;

    #[test]
    fn the_key_is_what_stands_before_the_separator() {
        let cases: [(&str, usize, &str, (&str, &str)); 9] = [
            ("\t", 1, "k\tv", ("k", "v")),
            ("\t", 1, "k\tv\tw", ("k", "v\tw")),
            ("\t", 1, "k", ("k", "")),
            ("\t", 1, "\tv", ("", "v")),
            ("\t", 1, "", ("", "")),
            (".", 4, "11.12.1.2", ("11.12.1.2", "")),
            (".", 2, "11.12.1.2", ("11.12", "1.2")),
            ("||", 2, "a||b||c", ("a||b", "c")),
            (",", 3, "a,b", ("a,b", "")),
        ];
        for (separator, fields, line, (key, value)) in cases {
            let found = Cut::new(separator, fields).pair(line.as_bytes());
            assert_eq!(found, (key.as_bytes(), value.as_bytes()), "{line}");
        }
    }
}
