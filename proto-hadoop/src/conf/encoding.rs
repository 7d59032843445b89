//! In which letters a file of settings is written: as its first bytes say it, or its first line (XML 1.0, §4.3.3 and
//! appendix F).

/// Bytes in which the declaration of an encoding stands.
const DECLARATION: usize = 256;

/// The text of a file; else what it is written in.
///
/// # Errors
///
/// The name of an encoding that is not known here.
pub(super) fn decode(bytes: Vec<u8>) -> Result<String, String> {
    let pairs = |of: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes
            .chunks_exact(2)
            .filter_map(|pair| pair.try_into().ok().map(of))
            .collect();
        String::from_utf16(&units).map_err(|_broken| "broken UTF-16".to_owned())
    };
    match bytes.as_slice() {
        [0xFF, 0xFE, ..] => return pairs(u16::from_le_bytes),
        [0xFE, 0xFF, ..] => return pairs(u16::from_be_bytes),
        _ => {}
    }
    let declared = declared(&bytes).unwrap_or_else(|| "UTF-8".to_owned());
    let is_latin = ["ISO-8859-1", "ISO8859-1", "ISO_8859-1", "LATIN1"]
        .iter()
        .any(|name| declared.eq_ignore_ascii_case(name));
    if is_latin {
        // Its letters are the first of Unicode.
        return Ok(bytes.into_iter().map(char::from).collect());
    }
    String::from_utf8(bytes).map_err(|_other| match declared.eq_ignore_ascii_case("UTF-8") {
        true => "something else than UTF-8, and does not say in what".to_owned(),
        false => declared,
    })
}

/// What `<?xml … encoding="…"?>` says.
fn declared(bytes: &[u8]) -> Option<String> {
    let first = bytes.get(..bytes.len().min(DECLARATION))?;
    let first = String::from_utf8_lossy(first);
    let declaration = first.trim_start().strip_prefix("<?xml")?;
    let (declaration, _rest) = declaration.split_once("?>")?;
    let (_version, encoding) = declaration.split_once("encoding")?;
    let encoding = encoding.trim_start().strip_prefix('=')?.trim_start();
    let quote = encoding
        .chars()
        .next()
        .filter(|quote| "\"'".contains(*quote))?;
    Some(encoding.split(quote).nth(1)?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn a_file_is_read_in_the_letters_that_it_names() {
        let text = "<?xml version='1.0' encoding = 'iso-8859-1' ?><!-- \u{e9} --><configuration/>";
        let latin: Vec<u8> = text
            .chars()
            .map(|letter| u8::try_from(letter).unwrap())
            .collect();
        assert_eq!(decode(latin).unwrap(), text);
        let plain = "<configuration><!-- \u{e9}, encoding=\"x\" --></configuration>";
        assert_eq!(decode(plain.into()).unwrap(), plain);
        let wide = |of: fn(u16) -> [u8; 2]| -> Vec<u8> {
            "\u{feff}<\u{e9}/>".encode_utf16().flat_map(of).collect()
        };
        for bytes in [wide(u16::to_le_bytes), wide(u16::to_be_bytes)] {
            assert_eq!(decode(bytes).unwrap(), "\u{feff}<\u{e9}/>");
        }
    }

    #[test]
    fn what_is_not_known_is_named() {
        for (bytes, words) in [
            (
                &b"<?xml version=\"1.0\" encoding=\"KOI8-R\"?>\xe9"[..],
                "KOI8-R",
            ),
            (b"<configuration>\xe9", "does not say in what"),
            (b"\xff\xfe\x00\xd8", "broken UTF-16"),
        ] {
            let refused = decode(bytes.to_vec()).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
