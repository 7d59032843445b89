//! What clients publish for each other by name: `PMIx_Publish`, `PMIx_Lookup` and `PMIx_Unpublish`.
//!
//! Open MPI publishes ports, and the processes of two groups that are to meet. What is published is one string to the
//! host: a letter for its kind, and the text, or the bytes in hexadecimal.

use std::ffi::{CStr, CString, c_char};

use crate::abi::{Bytes, Data, Info, PData, Value, kind};
use crate::library::proc_of;
use crate::logged::{bytes_of, key, text_of};

/// Keys that begin so are directives, not names.
const DIRECTIVE: &[u8] = b"pmix.";
/// `PMIX_PERSIST_FIRST_READ`.
const FIRST_READ: u8 = 1;
const TEXT: char = 't';
const BYTES: char = 'b';

/// What a client asks of the name service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names {
    /// To keep these for others.
    Publish {
        /// Names, and what is kept under each.
        entries: Vec<(String, String)>,
        /// Whoever looks a name up first takes it away.
        once: bool,
    },
    /// What is kept under these.
    Lookup {
        /// Names.
        names: Vec<String>,
        /// It waits for those that are not there yet, so many seconds at most; 0: for ever. None: it does not wait.
        wait: Option<u32>,
    },
    /// To keep these no longer.
    Unpublish {
        /// Names.
        names: Vec<String>,
    },
}

/// What is to be published; none: it has a value that only its own library can read.
pub(crate) fn published(infos: &[Info]) -> Option<Names> {
    let mut entries = Vec::new();
    let mut once = false;
    for info in infos {
        match key(info) {
            b"pmix.persist" => once = byte_of(info) == Some(FIRST_READ),
            directive if directive.starts_with(DIRECTIVE) => {}
            name => {
                let name = String::from_utf8_lossy(name).into_owned();
                entries.push((name, written(info)?));
            }
        }
    }
    Some(Names::Publish { entries, once })
}

/// What is to be looked up.
///
/// # Safety
///
/// `names` is null, or a list of strings with a null behind the last.
#[expect(unsafe_code, reason = "a list of the library's")]
pub(crate) unsafe fn looked_up(names: *mut *mut c_char, infos: &[Info]) -> Names {
    let mut wait = None;
    for info in infos {
        match key(info) {
            b"pmix.wait" => wait = wait.or(Some(0)),
            b"pmix.timeout" => {
                let seconds = number_of(info).filter(|&seconds| seconds > 0);
                wait = seconds.or(wait);
            }
            _ => {}
        }
    }
    // Without the one directive the other says only how long the answer may take.
    let waits = infos.iter().any(|info| key(info) == b"pmix.wait");
    Names::Lookup {
        // SAFETY: the caller's.
        names: unsafe { list(names) },
        wait: wait.filter(|_| waits),
    }
}

/// The strings of a list.
///
/// # Safety
///
/// As of [`looked_up`].
#[expect(unsafe_code, reason = "a list of the library's")]
pub(crate) unsafe fn list(names: *mut *mut c_char) -> Vec<String> {
    let mut all = Vec::new();
    let mut at = names;
    // SAFETY: the caller's.
    unsafe {
        while !at.is_null() && !(*at).is_null() {
            all.push(CStr::from_ptr(*at).to_string_lossy().into_owned());
            at = at.add(1);
        }
    }
    all
}

/// As the library is told what was found, and what that points to.
pub(crate) struct Found {
    pub(crate) data: Vec<PData>,
    _texts: Vec<CString>,
    _bytes: Vec<Vec<u8>>,
}

impl Found {
    /// Of names and what was kept under each. What nobody here has written is left out.
    pub(crate) fn new(entries: &[(String, String)]) -> Self {
        let mut found = Self {
            data: Vec::new(),
            _texts: Vec::new(),
            _bytes: Vec::new(),
        };
        for (name, kept) in entries {
            let mut letters = kept.chars();
            let kind = letters.next();
            let mut data = Data { words: [0; 3] };
            let kind = match kind {
                Some(TEXT) => {
                    let Ok(text) = CString::new(letters.as_str()) else {
                        continue;
                    };
                    data.text = text.as_ptr();
                    found._texts.push(text);
                    kind::STRING
                }
                Some(BYTES) => {
                    let Some(bytes) = read(letters.as_str()) else {
                        continue;
                    };
                    data.bytes = Bytes {
                        first: bytes.as_ptr(),
                        size: bytes.len(),
                    };
                    found._bytes.push(bytes);
                    kind::BYTES
                }
                Some(_) | None => continue,
            };
            found.data.push(PData {
                proc: proc_of("", 0),
                key: key_of(name),
                value: Value { kind, data },
            });
        }
        found
    }
}

/// `pmix_key_t`; a name that is too long is cut.
fn key_of(name: &str) -> [u8; crate::abi::KEY] {
    let mut key = [0; crate::abi::KEY];
    let last = key.len().saturating_sub(1);
    for (to, &from) in key.iter_mut().take(last).zip(name.as_bytes()) {
        *to = from;
    }
    key
}

/// A value as the host keeps it.
fn written(info: &Info) -> Option<String> {
    if let Some(text) = text_of(info) {
        return Some(format!("{TEXT}{}", str::from_utf8(text).ok()?));
    }
    let bytes = bytes_of(info)?;
    let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
    Some(std::iter::once(BYTES.to_string()).chain(digits).collect())
}

fn read(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(byte).collect()
}

#[expect(unsafe_code, reason = "a value is a union")]
fn byte_of(info: &Info) -> Option<u8> {
    // SAFETY: all bytes of the union may be read where its kind is a byte.
    let byte = || unsafe { info.value.data.words[0] }.to_ne_bytes()[0];
    matches!(
        info.value.kind,
        kind::PERSISTENCE | kind::BYTE | kind::UINT8
    )
    .then(byte)
}

#[expect(unsafe_code, reason = "a value is a union")]
fn number_of(info: &Info) -> Option<u32> {
    // SAFETY: its kind says which member it is; those that may be negative are read as such.
    let number = || unsafe { info.value.data.number };
    match info.value.kind {
        kind::UINT32 | kind::UINT => Some(number()),
        kind::INT | kind::INT32 => u32::try_from(number().cast_signed()).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::{self, Attribute};
    use crate::information::Information;

    #[test]
    fn what_is_published_is_found_as_it_was() {
        let all = [
            Attribute::text("a service", "tag#7$entry"),
            Attribute::text("pmix.range", "session"),
        ];
        let all = Information::new(&all).unwrap();
        let Some(Names::Publish { entries, once }) = published(all.infos()) else {
            panic!("a text is published");
        };
        assert_eq!(entries, [("a service".into(), "ttag#7$entry".into())]);
        assert!(!once);
        let found = Found::new(&[
            ("a".into(), "ttext".into()),
            ("b".into(), "b00ff".into()),
            ("c".into(), "b0".into()),
            ("d".into(), "x".into()),
            ("e".into(), String::new()),
        ]);
        let kinds: Vec<u16> = found.data.iter().map(|data| data.value.kind).collect();
        assert_eq!(kinds, [kind::STRING, kind::BYTES, kind::BYTES]);
        assert_eq!(found._bytes, [vec![0, 255], vec![0]]);
        assert!(found.data[0].key.starts_with(b"a\0"));
        assert_eq!(key_of(&"n".repeat(1000)).last(), Some(&0));
    }

    #[test]
    #[expect(unsafe_code, reason = "what the library would give")]
    fn a_look_up_waits_where_it_is_told_to() {
        let of = |attributes: &[Attribute]| {
            let infos = Information::new(attributes).unwrap();
            let name = CString::new("a service").unwrap();
            let mut list = [name.as_ptr().cast_mut(), std::ptr::null_mut()];
            // SAFETY: a list with a null behind its last.
            match unsafe { looked_up(list.as_mut_ptr(), infos.infos()) } {
                Names::Lookup { names, wait } => {
                    assert_eq!(names, ["a service"]);
                    wait
                }
                other => panic!("{other:?}"),
            }
        };
        let number = |key, number| Attribute::new(key, attribute::Value::Number(number));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[number("pmix.timeout", 60)]), None);
        assert_eq!(of(&[number("pmix.wait", 1)]), Some(0));
        let both = [number("pmix.timeout", 60), number("pmix.wait", 1)];
        assert_eq!(of(&both), Some(60));
    }
}
