//! What a client has logged for its user: the texts among the values of `PMIx_Log`.
//!
//! Open MPI 5 gives a text as such, and in the directives the file and the topic that it is of. Open MPI 4 packs all of
//! it into one value by rules of its own (`opal_dss`): a number in four bytes, most significant first, before each
//! value, which is always 1; a text with its length, its null included, in four bytes before it.
//!
//! ```text
//! | 1 | length | file \0 | 1 | length | topic \0 | 1 | byte: a text follows | 1 | length | text \0 |
//! ```

use std::ffi::{CStr, c_char};

use crate::abi::{Bytes, Info, kind};
use crate::calls::Channel;

/// Most of what is shown of one call, bytes.
pub const TEXTS_MAX: usize = 64 * 1024;
/// Of what a topic is called.
const TOPIC_MAX: usize = 1024;

/// What is to be shown.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Logged {
    /// What all texts of the same kind have in common.
    pub(crate) topic: Option<String>,
    /// In their order.
    pub(crate) texts: Vec<(Channel, Vec<u8>)>,
}

/// The texts for a rank's streams; other channels, such as mail, are none of this host's.
pub(crate) fn of(infos: &[Info], directives: &[Info]) -> Logged {
    let mut logged = Logged {
        topic: topic(directives),
        texts: Vec::new(),
    };
    let mut left = TEXTS_MAX;
    for info in infos {
        let found = match key(info) {
            b"pmix.log.stdout" => text_of(info).map(|text| (Channel::Stdout, text)),
            b"pmix.log.stderr" => text_of(info).map(|text| (Channel::Stderr, text)),
            b"pmix.log.msg" => bytes_of(info).and_then(unpacked).map(|(topic, text)| {
                logged.topic = Some(topic);
                (Channel::Stderr, text)
            }),
            _ => None,
        };
        let Some((channel, text)) = found else {
            continue;
        };
        let text = text.get(..left.min(text.len())).unwrap_or_default();
        left = left.saturating_sub(text.len());
        if !text.is_empty() {
            logged.texts.push((channel, text.to_vec()));
        }
    }
    logged
}

/// Of a text that is to be shown once, whoever sends it.
fn topic(directives: &[Info]) -> Option<String> {
    let find = |wanted: &[u8]| directives.iter().find(|info| key(info) == wanted);
    find(b"pmix.log.agg").filter(|info| is_set(info))?;
    let word = |wanted: &[u8]| find(wanted).and_then(text_of);
    Some(named(word(b"pmix.log.key")?, word(b"pmix.log.val")?))
}

fn named(file: &[u8], topic: &[u8]) -> String {
    let mut name = [file, b" / ", topic].concat();
    name.truncate(TOPIC_MAX);
    String::from_utf8_lossy(&name).into_owned()
}

/// The topic and the text of a packed message, as far as it is one.
fn unpacked(mut packed: &[u8]) -> Option<(String, &[u8])> {
    let file = packed_text(&mut packed)?;
    let topic = packed_text(&mut packed)?;
    one(&mut packed)?;
    let (&follows, rest) = packed.split_first()?;
    packed = rest;
    let text = match follows {
        0 => return None,
        _ => packed_text(&mut packed)?,
    };
    Some((named(file, topic), text))
}

fn packed_text<'a>(packed: &mut &'a [u8]) -> Option<&'a [u8]> {
    one(packed)?;
    let length = usize::try_from(number(packed)?).ok()?;
    let (text, rest) = packed.split_at_checked(length)?;
    *packed = rest;
    text.strip_suffix(&[0])
}

fn one(packed: &mut &[u8]) -> Option<()> {
    (number(packed)? == 1).then_some(())
}

fn number(packed: &mut &[u8]) -> Option<u32> {
    let (number, rest) = packed.split_first_chunk()?;
    *packed = rest;
    Some(u32::from_be_bytes(*number))
}

/// Without the null at its end.
pub(crate) fn key(info: &Info) -> &[u8] {
    let end = info.key.iter().position(|&byte| byte == 0);
    info.key
        .get(..end.unwrap_or(info.key.len()))
        .unwrap_or_default()
}

/// A directive without a value says yes.
#[expect(unsafe_code, reason = "a value is a union")]
fn is_set(info: &Info) -> bool {
    // SAFETY: its kind says which member it is; a byte that is none of the two flags is no `bool`.
    info.value.kind != kind::BOOL || unsafe { info.value.data.words[0] } & 0xff != 0
}

#[expect(unsafe_code, reason = "a value is a union")]
pub(crate) fn text_of(info: &Info) -> Option<&[u8]> {
    if info.value.kind != kind::STRING {
        return None;
    }
    // SAFETY: its kind says which member it is.
    let text: *const c_char = unsafe { info.value.data.text };
    if text.is_null() {
        return None;
    }
    // SAFETY: a string of the library's ends with a null, and is there as long as the value.
    Some(unsafe { CStr::from_ptr(text) }.to_bytes())
}

#[expect(unsafe_code, reason = "a value is a union")]
pub(crate) fn bytes_of(info: &Info) -> Option<&[u8]> {
    if info.value.kind != kind::BYTES {
        return None;
    }
    // SAFETY: its kind says which member it is.
    let Bytes { first, size } = unsafe { info.value.data.bytes };
    if first.is_null() {
        return None;
    }
    // SAFETY: there are so many, as long as the value.
    Some(unsafe { std::slice::from_raw_parts(first, size) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{Data, Value as CValue};
    use crate::attribute::{Attribute, Value};
    use crate::information::Information;

    fn logged(attributes: &[Attribute], directives: &[Attribute]) -> Logged {
        let infos = Information::new(attributes).unwrap();
        let directives = Information::new(directives).unwrap();
        of(infos.infos(), directives.infos())
    }

    #[test]
    fn texts_for_the_streams_are_taken_and_nothing_else() {
        let found = logged(
            &[
                Attribute::text("pmix.log.stderr", "one"),
                Attribute::text("pmix.log.email", "two"),
                Attribute::new("pmix.log.stderr", Value::Flag(true)),
                Attribute::text("pmix.log.stdout", "three"),
                Attribute::text("pmix.log.stdout", ""),
            ],
            &[],
        );
        let texts = vec![
            (Channel::Stderr, b"one".to_vec()),
            (Channel::Stdout, b"three".to_vec()),
        ];
        assert_eq!(found, Logged { topic: None, texts });
    }

    #[test]
    fn a_long_text_is_cut() {
        let long = "x".repeat(TEXTS_MAX - 1);
        let found = logged(
            &[
                Attribute::text("pmix.log.stderr", long),
                Attribute::text("pmix.log.stderr", "yz"),
                Attribute::text("pmix.log.stderr", "more"),
            ],
            &[],
        );
        let lengths: Vec<usize> = found.texts.iter().map(|(_, text)| text.len()).collect();
        assert_eq!(lengths, [TEXTS_MAX - 1, 1]);
    }

    #[test]
    fn a_topic_is_of_what_is_to_be_shown_once() {
        let topic = |once| {
            let directives = [
                Attribute::new("pmix.log.agg", Value::Flag(once)),
                Attribute::text("pmix.log.key", "help.txt"),
                Attribute::text("pmix.log.val", "abort"),
            ];
            logged(&[Attribute::text("pmix.log.stderr", "text")], &directives).topic
        };
        assert_eq!(topic(true).as_deref(), Some("help.txt / abort"));
        assert_eq!(topic(false), None);
    }

    /// As Open MPI 4 packs it.
    fn packed(parts: &[&[u8]]) -> Vec<u8> {
        let mut packed = Vec::new();
        for part in parts {
            packed.extend([0, 0, 0, 1]);
            if *part != [1] {
                packed.extend(u32::try_from(part.len() + 1).unwrap().to_be_bytes());
            }
            packed.extend(*part);
            packed.extend((*part != [1]).then_some(0));
        }
        packed
    }

    fn of_bytes(bytes: &[u8]) -> Logged {
        let mut name = [0; 512];
        name[..12].copy_from_slice(b"pmix.log.msg");
        let bytes = Bytes {
            first: bytes.as_ptr(),
            size: bytes.len(),
        };
        let info = Info {
            key: name,
            flags: 0,
            value: CValue {
                kind: kind::BYTES,
                data: Data { bytes },
            },
        };
        of(&[info], &[])
    }

    #[test]
    fn what_open_mpi_4_packs_is_read_and_half_of_it_is_nothing() {
        let whole = packed(&[b"help.txt", b"abort", &[1], b"why\n"]);
        let found = of_bytes(&whole);
        assert_eq!(found.topic.as_deref(), Some("help.txt / abort"));
        assert_eq!(found.texts, [(Channel::Stderr, b"why\n".to_vec())]);
        for end in 0..whole.len() {
            assert_eq!(of_bytes(&whole[..end]), Logged::default(), "{end}");
        }
    }
}
