//! The paths that inputs name, as Hadoop's `FileInputFormat` reads them: several words, and lists with commas. Pure: both
//! launchers call it before they look at a file system or touch an output.

use std::fmt;

use crate::pattern::{SPECIAL, split};

/// Words that name nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputError {
    /// There is no input.
    None,
    /// An input is empty, or a part between its commas is.
    Empty(String),
    /// The output is empty.
    EmptyOutput,
}

/// The usual cause of an empty word.
const UNSET: &str = "is a variable of the command line not set?";

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => write!(
                f,
                "the job has no input: name a file or a folder that it reads"
            ),
            Self::Empty(word) if word.is_empty() => {
                write!(f, "an input is empty (\"\") and names no file: {UNSET}")
            }
            Self::Empty(word) => write!(
                f,
                "an input is the list {word:?}, which has an empty part: {UNSET} (\\, is a comma in a name)"
            ),
            Self::EmptyOutput => {
                write!(f, "the output is empty (\"\") and names no folder: {UNSET}")
            }
        }
    }
}

impl std::error::Error for InputError {}

/// The paths and patterns of `inputs`: each is one, or a list of them. A comma in braces, or behind a backslash, parts
/// nothing.
///
/// # Errors
/// There is none, or one of them is empty.
pub fn paths(inputs: &[String]) -> Result<Vec<&str>, InputError> {
    let mut all = Vec::new();
    for input in inputs {
        let parts = split(input);
        if parts.contains(&"") {
            return Err(InputError::Empty(input.clone()));
        }
        all.extend(parts);
    }
    match all.is_empty() {
        true => Err(InputError::None),
        false => Ok(all),
    }
}

/// Refuses an output that names nothing.
///
/// # Errors
/// It is empty.
pub fn check_output(output: &str) -> Result<(), InputError> {
    match output.is_empty() {
        true => Err(InputError::EmptyOutput),
        false => Ok(()),
    }
}

/// The end of a sentence that says that `path` is not there, if it was a part of a list among the `inputs`; else nothing.
#[must_use]
pub fn as_part(inputs: &[String], path: &str) -> String {
    let is_part = |list: &&String| list.as_str() != path && split(list).contains(&path);
    let list = inputs.iter().find(is_part);
    list.map_or_else(String::new, |list| {
        format!(", as a part of the list {list} (a comma in a name is \\,)")
    })
}

/// The input that stands for the one file or folder of this name, whatever letters the name has.
#[must_use]
pub fn escaped(name: &str) -> String {
    let mut input = String::with_capacity(name.len());
    for letter in name.chars() {
        if SPECIAL.contains(&letter) || matches!(letter, ',' | '}' | ']' | '\\') {
            input.push('\\');
        }
        input.push(letter);
    }
    input
}

/// Whether a file of this name is none that a folder or a pattern stands for: it begins with `_` or `.`.
#[must_use]
pub fn is_hidden(name: &str) -> bool {
    name.starts_with(['_', '.'])
}

/// Which folders inside of input folders are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Folders {
    /// All.
    pub recursive: bool,
    /// MapFiles, of which there are the data alone, wherever they are.
    pub map_files: bool,
}

/// The file of a MapFile that has its records.
pub const MAP_FILE_DATA: &str = "data";

/// Whether a folder of these files, apart from hidden ones, is a MapFile of Hadoop's: a SequenceFile of sorted keys, and
/// one that says where some of them are. A `BloomMapFile` has a third.
pub fn is_map_file<'a>(names: impl IntoIterator<Item = &'a str>) -> bool {
    let (mut has_data, mut has_index) = (false, false);
    for name in names {
        match name {
            MAP_FILE_DATA => has_data = true,
            "index" => has_index = true,
            "bloom" => {}
            _ => return false,
        }
    }
    has_data && has_index
}

#[cfg(test)]
mod tests {
    use super::{InputError, as_part, check_output, escaped, is_map_file, paths};
    use crate::pattern::{is_pattern, unescaped};

    #[test]
    fn words_that_name_nothing_are_refused() {
        let empty = |word: &str| Err(InputError::Empty(word.to_owned()));
        for (inputs, expected) in [
            (&["in"][..], Ok(vec!["in"])),
            (&["a,b", "c"], Ok(vec!["a", "b", "c"])),
            (&["a,{b,c}d,e"], Ok(vec!["a", "{b,c}d", "e"])),
            (&["{a,}b"], Ok(vec!["{a,}b"])),
            (&[r"m\,n"], Ok(vec![r"m\,n"])),
            (&[r"m\\,n"], Ok(vec![r"m\\", "n"])),
            (&[r"a\{,b"], Ok(vec![r"a\{", "b"])),
            (&["}a,b"], Ok(vec!["}a", "b"])),
            (&[" "], Ok(vec![" "])),
            (&[], Err(InputError::None)),
            (&[""], empty("")),
            (&["a", ""], empty("")),
            (&["", "a"], empty("")),
            (&["in,"], empty("in,")),
            (&[",in"], empty(",in")),
            (&["in,,x"], empty("in,,x")),
            (&[","], empty(",")),
            (&["a", "b,"], empty("b,")),
        ] {
            let inputs: Vec<String> = inputs.iter().map(|input| (*input).to_owned()).collect();
            assert_eq!(paths(&inputs), expected, "{inputs:?}");
        }
        assert_eq!(check_output(""), Err(InputError::EmptyOutput));
        assert_eq!(check_output("out"), Ok(()));
    }

    #[test]
    fn a_map_file_has_data_and_index_and_nothing_else() {
        for (names, expected) in [
            (&["data", "index"][..], true),
            (&["index", "data"], true),
            (&["bloom", "data", "index"], true),
            (&["data"], false),
            (&["index"], false),
            (&["bloom", "data"], false),
            (&["data", "index", "part-r-00000"], false),
            (&["Data", "index"], false),
            (&[], false),
        ] {
            assert_eq!(is_map_file(names.iter().copied()), expected, "{names:?}");
        }
    }

    #[test]
    fn a_refusal_says_the_word_and_what_to_do() {
        for (refusal, said) in [
            (InputError::Empty(String::new()), "an input is empty (\"\")"),
            (InputError::Empty("in,".to_owned()), "the list \"in,\""),
            (InputError::EmptyOutput, "the output is empty (\"\")"),
        ] {
            let refusal = refusal.to_string();
            assert!(refusal.contains(said), "{refusal}");
            assert!(refusal.contains("not set?"), "{refusal}");
        }
    }

    #[test]
    fn a_part_that_is_not_there_is_said_to_be_one() {
        let inputs = ["x".to_owned(), "m,n".to_owned()];
        assert_eq!(as_part(&inputs, "x"), "");
        assert_eq!(
            as_part(&inputs, "m"),
            r", as a part of the list m,n (a comma in a name is \,)"
        );
    }

    #[test]
    fn an_escaped_name_is_one_input_whatever_letters_it_has() {
        for name in [
            "plain",
            "m,n",
            "{a,b}",
            "a*b?c",
            "[x]",
            r"back\slash",
            "ü, é",
        ] {
            let input = [escaped(name)];
            let paths = paths(&input).unwrap();
            assert_eq!(paths.len(), 1, "{name}");
            assert!(!is_pattern(paths[0]), "{name}");
            assert_eq!(unescaped(paths[0]), name);
        }
    }
}
