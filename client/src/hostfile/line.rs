//! One mention of a host.
//!
//! ```text
//! host        host:4        n[1-3]:4        host 4        host slots=4  max_slots=8        [fe80::1]:4
//! ```

use super::PROCESSES_MAX;
use super::error::Trouble;

/// A host as one line, or one piece of a word, mentions it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mention<'a> {
    pub name: &'a str,
    /// `None`: no number was given.
    pub places: Option<u32>,
    /// Open MPI's upper bound, which has no effect here.
    pub most: Option<&'a str>,
}

/// Reads `text`; `None` where there is nothing but blanks and a comment.
pub(super) fn mention(text: &str) -> Result<Option<Mention<'_>>, Trouble> {
    let text = text.split('#').next().unwrap_or_default();
    let mut words = text.split_whitespace();
    let Some(first) = words.next() else {
        return Ok(None);
    };
    let (name, count) = host(first)?;
    let mut mention = Mention {
        name,
        places: count.map(places).transpose()?,
        most: None,
    };
    for word in words {
        let count = match word.split_once('=') {
            Some(("max_slots" | "max-slots", most)) => {
                places(most)?;
                mention.most = Some(word);
                continue;
            }
            Some(("slots", count)) => count,
            None if word.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+') => word,
            Some(_) | None => {
                return Err(Trouble::Unknown {
                    word: word.to_owned(),
                });
            }
        };
        if mention.places.is_some() {
            return Err(Trouble::SecondCount {
                name: name.to_owned(),
                value: count.to_owned(),
            });
        }
        mention.places = Some(places(count)?);
    }
    Ok(Some(mention))
}

/// Splits `host:4` and `[fe80::1]:4`.
fn host(word: &str) -> Result<(&str, Option<&str>), Trouble> {
    let no_host = || Trouble::NoHost {
        name: word.to_owned(),
    };
    if word.contains('@') {
        return Err(Trouble::User {
            name: word.to_owned(),
        });
    }
    if let Some(rest) = word.strip_prefix('[') {
        let (address, rest) = rest.split_once(']').ok_or_else(no_host)?;
        let known = address.parse::<std::net::Ipv6Addr>().is_ok();
        return match (known, rest, rest.strip_prefix(':')) {
            (true, "", _) => Ok((address, None)),
            (true, _, Some(count)) => Ok((address, Some(count))),
            _ => Err(no_host()),
        };
    }
    let (name, count) = match word.split_once(':') {
        Some((_, rest)) if rest.contains(':') => {
            return Err(Trouble::BareAddress {
                name: word.to_owned(),
            });
        }
        Some((name, count)) => (name, Some(count)),
        None => (word, None),
    };
    if name.contains('[') {
        // What it stands for is looked at one by one.
        return Ok((name, count));
    }
    match is_name(name) {
        true => Ok((name, count)),
        false => Err(no_host()),
    }
}

/// Whether a host could have this name.
pub(super) fn is_name(name: &str) -> bool {
    let possible = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let begins = name.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    begins && name.chars().all(possible)
}

fn places(text: &str) -> Result<u32, Trouble> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Trouble::NoCount {
            value: text.to_owned(),
        });
    }
    match text.parse::<u32>() {
        Ok(count @ 1..=PROCESSES_MAX) => Ok(count),
        Ok(_) | Err(_) => Err(Trouble::CountOutOfRange {
            value: text.to_owned(),
        }),
    }
}
