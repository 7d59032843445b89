//! Keys written so that the order of their bytes is the one that comparator options ask for.
//!
//! In front of the key stands what it is compared by, part by part, behind it how long that is. A part ends by itself, so
//! that none runs into the next; a turned one has every bit inverted, its end included. The engine compares bytes, as
//! always.
//!
//! ```text
//! 00                                             the key has no such part: before all others
//! 01 bytes, 00 as 00 FF, then 00 00              text
//! 01 81 digits before the point: u32, digits, fraction without zeros at its end, 00      above 0
//! 01 80                                          0, or no number
//! 01 7F and the same as above 0, inverted        below 0
//! ```

use crate::key_fields::Part;

/// Bytes of the length behind a key.
const LENGTH: usize = 4;

/// How keys are ordered.
#[derive(Clone, Debug)]
pub(crate) struct KeyOrder {
    pub(crate) parts: Vec<Part>,
    pub(crate) separator: Vec<u8>,
}

impl KeyOrder {
    /// Appends what stands for `key`.
    pub(crate) fn append(&self, key: &[u8], out: &mut Vec<u8>) {
        let begin = out.len();
        for part in &self.parts {
            let from = out.len();
            match part.of(key, &self.separator) {
                None => out.push(0),
                Some(bytes) => {
                    out.push(1);
                    match part.is_number {
                        true => number(bytes, out),
                        false => text(bytes, out),
                    }
                }
            }
            if part.is_reverse {
                invert(out, from);
            }
        }
        let length = u32::try_from(out.len() - begin).unwrap_or(u32::MAX);
        out.extend_from_slice(key);
        out.extend_from_slice(&length.to_be_bytes());
    }
}

/// The key that is in what stands for it.
pub(crate) fn key(written: &[u8]) -> &[u8] {
    let Some((rest, length)) = written.split_last_chunk::<LENGTH>() else {
        return written;
    };
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    rest.get(length..).unwrap_or_default()
}

fn invert(out: &mut [u8], from: usize) {
    out.iter_mut().skip(from).for_each(|byte| *byte = !*byte);
}

fn text(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        out.push(*byte);
        if *byte == 0 {
            out.push(0xFF);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

fn number(bytes: &[u8], out: &mut Vec<u8>) {
    let (is_below, bytes) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        bytes => (false, bytes),
    };
    let digits = |bytes: &[u8]| {
        bytes
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let (whole, rest) = bytes.split_at(digits(bytes));
    let fraction = rest.strip_prefix(b".").unwrap_or_default();
    let fraction = fraction.get(..digits(fraction)).unwrap_or_default();
    let zeros = whole.iter().take_while(|byte| **byte == b'0').count();
    let whole = whole.get(zeros..).unwrap_or_default();
    let ends = fraction
        .iter()
        .rposition(|byte| *byte != b'0')
        .map_or(0, |at| at + 1);
    let fraction = fraction.get(..ends).unwrap_or_default();
    if whole.is_empty() && fraction.is_empty() {
        return out.push(0x80);
    }
    out.push(if is_below { 0x7F } else { 0x81 });
    let from = out.len();
    let length = u32::try_from(whole.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(whole);
    out.extend_from_slice(fraction);
    out.push(0);
    if is_below {
        invert(out, from);
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyOrder, key};
    use crate::key_fields::parts;

    fn sorted(options: &str, keys: &[&str]) -> Vec<String> {
        let order = KeyOrder {
            parts: parts(options).unwrap(),
            separator: b"\t".to_vec(),
        };
        let write = |text: &&str| {
            let mut written = Vec::new();
            order.append(text.as_bytes(), &mut written);
            written
        };
        let mut written: Vec<Vec<u8>> = keys.iter().map(write).collect();
        written.sort();
        let read = |written: &Vec<u8>| String::from_utf8(key(written).to_vec()).unwrap();
        written.iter().map(read).collect()
    }

    #[test]
    fn numbers_are_in_their_order() {
        let wanted = [
            "-120",
            "-20.5",
            "-20.25",
            "-3",
            "-0.1",
            "-0.05",
            "0",
            "0.001",
            "0.01",
            "1",
            "1.5",
            "2",
            "10",
            "99",
            "100.000",
            "100.1",
            "12345678901234567890123",
        ];
        let mut keys = wanted;
        keys.reverse();
        assert_eq!(sorted("-n", &keys), wanted);
        keys.rotate_left(5);
        let mut turned = wanted;
        turned.reverse();
        assert_eq!(sorted("-nr", &keys), turned);
        assert_eq!(
            sorted("-n", &["007", "6.9", "7.1", "x"]),
            ["x", "6.9", "007", "7.1"]
        );
    }

    #[test]
    fn texts_are_in_their_order_whatever_is_in_them() {
        let wanted = ["", "\0", "\0\0", "\0a", "a", "a\0", "a\0b", "aa", "b"];
        let mut keys = wanted;
        keys.reverse();
        let found = sorted("-k1,1", &keys);
        assert_eq!(found, wanted);
        keys.rotate_left(3);
        let mut turned = wanted;
        turned.reverse();
        assert_eq!(sorted("-k1,1r", &keys), turned);
    }

    #[test]
    fn several_parts_are_compared_one_after_the_other() {
        let keys = ["b\t9", "a\t10", "a\t9", "b\t10", "a", "c\t1"];
        assert_eq!(
            sorted("-k1,1 -k2,2nr", &keys),
            ["a\t10", "a\t9", "a", "b\t10", "b\t9", "c\t1"]
        );
        assert_eq!(
            sorted("-k2,2n -k1,1r", &keys),
            ["a", "c\t1", "b\t9", "a\t9", "b\t10", "a\t10"]
        );
        assert_eq!(sorted("-k1.1,1.1", &["ba", "ab", "aa"]), ["aa", "ab", "ba"]);
    }
}
