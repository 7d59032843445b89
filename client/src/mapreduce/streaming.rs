//! Programs that are in this file: `streaming`, which is Hadoop Streaming, and `jar …/hadoop-streaming.jar`, as old scripts
//! call it.

use std::ffi::OsString;
use std::path::Path;

use gerbil_streaming::{Brought, ThisMachine, asked};
use staging::Shipped;

use crate::usage::UsageError;

/// The word that chooses it, and what lists call it.
pub(super) const NAME: &str = "streaming";
/// The word before a jar.
const JAR: &str = "jar";

/// Words that choose it.
#[derive(Debug)]
pub(super) struct Chosen {
    /// Its own.
    pub(super) words: Vec<OsString>,
    /// Files, then archives, that its tasks need.
    pub(super) shipped: [Vec<Shipped>; 2],
}

/// The words behind those that choose it; none: they are of another program.
///
/// # Errors
/// They are of a jar that is none of Hadoop Streaming's.
pub(super) fn words(words: &[OsString]) -> Result<Option<&[OsString]>, UsageError> {
    match words {
        [first, rest @ ..] if first == NAME => Ok(Some(rest)),
        [first, jar, rest @ ..] if first == JAR => {
            let name = Path::new(jar).file_name().unwrap_or_default();
            let name = name.to_string_lossy();
            match name.contains("streaming") && name.ends_with(".jar") {
                true => Ok(Some(rest)),
                false => Err(UsageError::Jar {
                    jar: jar.to_string_lossy().into_owned(),
                }),
            }
        }
        _ => Ok(None),
    }
}

/// The same, understood.
///
/// # Errors
/// As [`words`]; or they make no job.
pub(super) fn chosen(all: &[OsString]) -> Result<Option<Chosen>, UsageError> {
    let Some(words) = words(all)? else {
        return Ok(None);
    };
    let found = asked(words, &ThisMachine);
    let found = found.map_err(|sentence| UsageError::Streaming { sentence })?;
    let shipped = |brought: &[Brought]| {
        let of = |file: &Brought| Shipped {
            path: file.path.clone().into(),
            name: file.link.clone(),
        };
        brought.iter().map(of).collect()
    };
    Ok(Some(Chosen {
        words: words.to_vec(),
        shipped: [shipped(&found.files), shipped(&found.archives)],
    }))
}

/// Whether only the help is wanted.
pub(super) fn wants_help(all: &[OsString]) -> bool {
    let Ok(Some(words)) = words(all) else {
        return false;
    };
    asked(words, &ThisMachine).is_ok_and(|asked| asked.help)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Option<Vec<String>>, String> {
        let all: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let found = words(&all).map_err(|error| error.to_string())?;
        Ok(found.map(|words| {
            words
                .iter()
                .map(|word| word.to_str().unwrap().to_owned())
                .collect()
        }))
    }

    #[test]
    fn the_jar_of_hadoop_streaming_is_told_from_others() {
        let rest = Some(vec!["-input".to_owned(), "a".to_owned()]);
        for line in [
            "streaming -input a",
            "jar /opt/hadoop/share/hadoop/tools/lib/hadoop-streaming-3.4.2.jar -input a",
            "jar hadoop-0.20.2-streaming.jar -input a",
        ] {
            assert_eq!(of(line), Ok(rest.clone()), "{line}");
        }
        assert_eq!(of("./streaming IN OUT"), Ok(None));
        assert_eq!(of("jar"), Ok(None));
        let refused = of("jar wordcount.jar IN OUT").unwrap_err();
        assert!(refused.contains("wordcount.jar"), "{refused}");
        let help: Vec<OsString> = ["streaming", "-info"].map(OsString::from).to_vec();
        assert!(wants_help(&help));
    }
}
