//! mpiexec's single-dash words, put into one form before anything else looks at them.
//!
//! `-np 4`, `-np=4`, `-n4`, `--np 4` and `-processes 4` all become `--processes=4`. Every long option
//! may be written with one dash. Reading stops at the first word that is neither an option nor the
//! value of one: the program. What stands behind it is never touched, but for a lone `:`, behind which
//! the next program begins with its own options; behind `--` not even that.

use std::ffi::{OsStr, OsString};
use std::iter::Peekable;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::vec::IntoIter;

use super::launchers::{self, Meaning};
use super::optional::{self, NextWord, is_yes_or_no};

use Meaning::{File, Is, LabelOrList, Means, NoEffect, Ours, ProgramOrManager, Refused, Same};

/// An option as the parser behind this one knows it.
#[derive(Clone, Debug)]
pub(super) struct KnownOption {
    pub long: String,
    /// Other spellings, without dashes.
    pub aliases: Vec<String>,
    pub short: Option<char>,
    pub value: Value,
}

/// Whether an option has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    None,
    /// Behind `=` only.
    Optional,
    /// The same, the name of a file: any word may be one.
    OptionalFile,
    /// Yes or no, behind `=` or as the next word; without either it is yes.
    Switch,
    /// Behind `=`, or the next word.
    Required,
    /// A name and a value: two words, or `NAME=VALUE` in one.
    Pair,
}

/// The command line in canonical form.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lexed {
    /// `--option`, `--option=value`, then `--` and the program with its arguments, untouched.
    pub words: Vec<OsString>,
    /// The same of each further program, which a lone `:` sets apart.
    pub further: Vec<Vec<OsString>>,
    /// What was understood without having an effect, a sentence each.
    pub notes: Vec<String>,
    /// The file that the rest of the line was read from.
    file: Option<OsString>,
}

/// What the lexer has to know of files.
pub(super) struct FileLookups<'a> {
    /// Whether a word that may be a program or a list of jobs is such a list.
    pub is_list: &'a dyn Fn(&OsStr) -> bool,
    /// Whether a word may be a program, which may lie in one of these folders too.
    pub is_program: &'a dyn Fn(&OsStr, &[PathBuf]) -> bool,
    /// The words of a configuration file, with a colon between programs.
    pub configuration: &'a dyn Fn(&OsStr) -> Result<Vec<OsString>, String>,
}

/// The words that are left.
type RemainingWords = Peekable<IntoIter<OsString>>;

const APART: &[u8] = b":";

/// Puts the words behind the command's own name into canonical form.
///
/// # Errors
/// One sentence for the user.
pub(super) fn lex(
    words: impl IntoIterator<Item = OsString>,
    known: &[KnownOption],
    files: &FileLookups<'_>,
) -> Result<Lexed, String> {
    let mut lexed = Lexed::default();
    let mut words = words.into_iter().collect::<Vec<_>>().into_iter().peekable();
    let mut more = one(&mut lexed, &mut words, known, files)?;
    let first = std::mem::take(&mut lexed.words);
    while more {
        more = one(&mut lexed, &mut words, known, files)?;
        let further = std::mem::take(&mut lexed.words);
        lexed.further.push(further);
    }
    lexed.words = first;
    Ok(lexed)
}

/// Reads up to the end of a program's arguments; whether another program follows.
fn one(
    lexed: &mut Lexed,
    words: &mut RemainingWords,
    known: &[KnownOption],
    files: &FileLookups<'_>,
) -> Result<bool, String> {
    while let Some(word) = words.next() {
        if word.as_bytes() == b"--" {
            lexed.words.push(word);
            lexed.words.extend(words);
            return Ok(false);
        }
        if word.as_bytes() == APART {
            return Ok(true);
        }
        let Some(option) = Given::new(&word)? else {
            return Ok(program(lexed, word, words));
        };
        let option = option.apart(known);
        let long = match launchers::meaning(option.name) {
            Some(Refused(instead)) => {
                return Err(match instead.starts_with('-') {
                    true => (*instead).to_owned(),
                    false => format!("{} is not taken: {instead}", option.written),
                });
            }
            Some(NoEffect { values, because }) => {
                let inline = usize::from(option.value.is_some());
                for _ in inline..*values {
                    if words.next().is_none() {
                        return Err(format!("{} wants a value", option.written));
                    }
                }
                let note = format!("{} has no effect here: {because}", option.written);
                lexed.notes.push(note);
                continue;
            }
            Some(File) => {
                let given = option.value.map(OsStr::to_owned);
                let Some(name) = given.or_else(|| words.next()) else {
                    return Err(format!("{} wants a value", option.written));
                };
                if let Some(more) = words.next() {
                    return Err(format!(
                        "nothing may follow {} {}, but {} does; programs and their options belong \
                         into the file",
                        option.written,
                        name.display(),
                        more.display()
                    ));
                }
                if let Some(file) = &lexed.file {
                    return Err(format!(
                        "{} {} stands in {}, which is such a file itself: it may name no other",
                        option.written,
                        name.display(),
                        file.display()
                    ));
                }
                *words = (files.configuration)(&name)?.into_iter().peekable();
                lexed.file = Some(name);
                continue;
            }
            Some(ProgramOrManager) => match option.value.and_then(launchers::manager) {
                Some(manager) => {
                    lexed.words.push(format!("--pm={manager}").into());
                    continue;
                }
                None => option.name,
            },
            Some(LabelOrList) if option.value.is_some() => "list",
            Some(LabelOrList) => match words.peek() {
                Some(next) if !next.as_bytes().starts_with(b"-") && (files.is_list)(next) => "list",
                Some(_) | None => "label",
            },
            Some(Means(words)) => {
                if let Some(value) = option.value {
                    return Err(format!(
                        "{} takes no value, but {} was given",
                        option.written,
                        value.display()
                    ));
                }
                lexed.words.push((*words).into());
                continue;
            }
            Some(Is(long)) => long,
            Some(Same | Ours(_)) | None => option.name,
        };
        let Some(found) = find(known, long) else {
            return Err(option.unknown(known));
        };
        let mut canonical = OsString::from(format!("--{}", found.long));
        let value = match (found.value, option.value.map(OsStr::to_owned)) {
            (Value::None, Some(value)) => {
                return Err(format!(
                    "{} takes no value, but {} was given",
                    option.written,
                    value.display()
                ));
            }
            (Value::Optional | Value::OptionalFile, None) => {
                let is_last = words.len() == 1;
                if let Some(next) = words.peek() {
                    let is_file = found.value == Value::OptionalFile;
                    let is_program = || (files.is_program)(next, &program_folders(&lexed.words));
                    let next = NextWord {
                        word: next,
                        is_rather_value: is_file && !is_program(),
                        is_last,
                        noun: optional::PROGRAM,
                    };
                    next.refuse_value(option.written)?;
                }
                None
            }
            (Value::Switch, None) => {
                let next = words.next_if(|next| is_yes_or_no(next));
                if let (None, Some(stray)) = (&next, words.peek())
                    && !stray.as_bytes().starts_with(b"-")
                    && stray.as_bytes() != APART
                    && !(files.is_program)(stray, &program_folders(&lexed.words))
                {
                    return Err(format!(
                        "{0} {1}: {1} is neither true nor false, and no program is called so",
                        option.written,
                        stray.display()
                    ));
                }
                Some(next.unwrap_or_else(|| "true".into()))
            }
            (Value::None | Value::Optional | Value::OptionalFile | Value::Switch, value) => value,
            (Value::Required, given) => Some(
                given
                    .or_else(|| words.next())
                    .ok_or_else(|| format!("{} wants a value", option.written))?,
            ),
            (Value::Pair, given) => {
                let wants = || format!("{} wants a name and a value", option.written);
                let mut pair = given.or_else(|| words.next()).ok_or_else(wants)?;
                if !pair.as_bytes().contains(&b'=') {
                    pair.push("=");
                    pair.push(words.next().ok_or_else(wants)?);
                }
                Some(pair)
            }
        };
        if let Some(value) = value {
            canonical.push("=");
            canonical.push(value);
        }
        lexed.words.push(canonical);
    }
    Ok(false)
}

/// Folders in which a program is searched before those of PATH, as far as options before it say so.
fn program_folders(lexed: &[OsString]) -> Vec<PathBuf> {
    let value = |word: &OsString, option: &str| {
        let value = word.as_bytes().strip_prefix(option.as_bytes())?;
        Some(OsStr::from_bytes(value).to_owned())
    };
    let mut folders = Vec::new();
    for word in lexed {
        if let Some(path) = value(word, "--path=") {
            folders.extend(std::env::split_paths(&path));
        }
        if let Some(venv) = value(word, "--venv=") {
            folders.push(PathBuf::from(venv).join("bin"));
        }
    }
    folders
}

/// Takes a program and its arguments; whether another follows.
fn program(lexed: &mut Lexed, program: OsString, words: &mut RemainingWords) -> bool {
    lexed.words.push("--".into());
    lexed.words.push(program);
    for word in words {
        if word.as_bytes() == APART {
            return true;
        }
        lexed.words.push(word);
    }
    false
}

/// One option as it was written.
struct Given<'a> {
    /// With its dashes, without its value.
    written: &'a str,
    name: &'a str,
    /// What stands behind `=`.
    value: Option<&'a OsStr>,
}

impl<'a> Given<'a> {
    /// `None` for a word that is no option; a single dash is none.
    fn new(word: &'a OsStr) -> Result<Option<Self>, String> {
        let bytes = word.as_bytes();
        if !bytes.starts_with(b"-") || bytes == b"-" {
            return Ok(None);
        }
        let end = bytes.iter().position(|byte| *byte == b'=');
        let (written, value) = match end {
            Some(end) => (&bytes[..end], Some(OsStr::from_bytes(&bytes[end + 1..]))),
            None => (bytes, None),
        };
        let written = str::from_utf8(written)
            .map_err(|_no_text| format!("the option {} is no UTF-8", word.display()))?;
        let name = written.strip_prefix("--").or(written.strip_prefix('-'));
        Ok(Some(Self {
            written,
            name: name.unwrap_or_default(),
            value,
        }))
    }

    /// `-n4`, `-fhosts.txt`, `-K0`, `-wnode1`: an option of one letter with its value behind it is the letter, and the
    /// value. Where the rest is nothing but letters, it is rather a word that was misspelt.
    fn apart(self, known: &[KnownOption]) -> Self {
        let is_known = launchers::meaning(self.name).is_some() || find(known, self.name).is_some();
        let mut letters = self.name.chars();
        let Some(letter) = letters.next().filter(|_| !is_known) else {
            return self;
        };
        let rest = letters.as_str();
        let is_word = rest.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
        if self.written.starts_with("--") || self.value.is_some() || is_word {
            return self;
        }
        let name = &self.name[..letter.len_utf8()];
        let long = match launchers::meaning(name) {
            Some(Refused(_)) => None,
            Some(NoEffect { values: 1.., .. }) => None,
            Some(Is(long)) => Some(*long),
            Some(Same | Ours(_)) | None => Some(name),
            Some(NoEffect { .. } | Means(_) | LabelOrList | ProgramOrManager | File) => {
                return self;
            }
        };
        let takes = |option: &KnownOption| matches!(option.value, Value::Required | Value::Switch);
        match long {
            Some(long) if !find(known, long).is_some_and(takes) => self,
            Some(_) | None => Self {
                written: &self.written[..=letter.len_utf8()],
                name,
                value: Some(OsStr::new(rest)),
            },
        }
    }

    fn unknown(&self, known: &[KnownOption]) -> String {
        let names = known
            .iter()
            .flat_map(|known| std::iter::once(&known.long).chain(&known.aliases))
            .map(String::as_str)
            .chain(launchers::words());
        let hint = match nearest(self.name, names) {
            Some(near) if self.written.starts_with("--") => format!("did you mean --{near}?"),
            Some(near) => format!("did you mean -{near}?"),
            None => "gerbil-run --help lists all".to_owned(),
        };
        format!("there is no option {}; {hint}", self.written)
    }
}

/// By long name, other spelling, or letter.
fn find<'k>(known: &'k [KnownOption], name: &str) -> Option<&'k KnownOption> {
    let mut letters = name.chars();
    let letter = letters.next().filter(|_| letters.next().is_none());
    known.iter().find(|known| {
        known.long == name
            || known.aliases.iter().any(|alias| alias == name)
            || (letter.is_some() && known.short == letter)
    })
}

/// The name that looks most like `word`, if one does: up to a third of the letters may differ.
fn nearest<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let allowed = (word.chars().count() / 3).max(1);
    names
        .filter(|name| name.chars().count() > 1)
        .map(|name| {
            // A slip rarely begins with the first letter.
            let begins = word.chars().next() == name.chars().next();
            (strsim::damerau_levenshtein(word, name), !begins, name)
        })
        .filter(|(distance, ..)| *distance <= allowed)
        .min()
        .map(|(.., name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<KnownOption> {
        let option = |long: &str, aliases: &[&str], short, value| KnownOption {
            long: long.to_owned(),
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            short,
            value,
        };
        vec![
            option("processes", &["np"], Some('n'), Value::Required),
            option("hostfile", &["machinefile"], Some('f'), Value::Required),
            option("hosts", &["host"], Some('H'), Value::Required),
            option(
                "processes-per-node",
                &["ppn", "perhost"],
                None,
                Value::Required,
            ),
            option("priority", &[], Some('p'), Value::Required),
            option("label", &["prepend-rank"], None, Value::None),
            option("list", &[], None, Value::Required),
            option("queue", &[], None, Value::Required),
            option("help", &[], Some('h'), Value::None),
            option("explain", &[], None, Value::OptionalFile),
            option("local", &[], None, Value::Optional),
            option("path", &[], None, Value::Required),
            option("kill-on-bad-exit", &[], None, Value::Switch),
            option("oversubscribe", &[], Some('o'), Value::Switch),
        ]
    }

    const FILES: FileLookups<'_> = FileLookups {
        is_list: &|word| word == "jobs.txt",
        is_program: &|word, folders| {
            word == "cpi"
                || word.as_bytes().contains(&b'/')
                || (word == "tool" && !folders.is_empty())
        },
        configuration: &|name| match name == "itself" {
            true => Ok(["-n", "1", "-configfile", "itself"]
                .map(OsString::from)
                .into()),
            false => Err("there is none".into()),
        },
    };

    fn lexed(line: &str) -> Result<Lexed, String> {
        let words = line.split_whitespace().map(OsString::from);
        lex(words, &known(), &FILES)
    }

    fn words(line: &str) -> String {
        let lexed = lexed(line).unwrap();
        let words: Vec<_> = lexed.words.iter().map(|w| w.to_str().unwrap()).collect();
        words.join(" ")
    }

    #[test]
    fn a_file_of_programs_names_no_other() {
        let said = lexed("-configfile itself").unwrap_err();
        assert_eq!(
            said,
            "-configfile itself stands in itself, which is such a file itself: it may name no other"
        );
    }

    #[test]
    fn every_spelling_becomes_one() {
        for spelling in [
            "-n 4",
            "-n=4",
            "-n4",
            "-np 4",
            "-np=4",
            "--np 4",
            "--np=4",
            "--processes 4",
            "-processes=4",
            "--n 4",
        ] {
            assert_eq!(words(spelling), "--processes=4", "{spelling}");
        }
        assert_eq!(words("-machinefile hosts"), "--hostfile=hosts");
        assert_eq!(words("-f./hosts"), "--hostfile=./hosts");
        assert_eq!(words("-host a:2,b"), "--hosts=a:2,b");
        assert_eq!(words("-H a"), "--hosts=a");
        assert_eq!(
            words("-ppn 2 -perhost=2"),
            "--processes-per-node=2 --processes-per-node=2"
        );
        assert_eq!(words("-p -3"), "--priority=-3");
        assert_eq!(words("-p-3"), "--priority=-3");
        assert_eq!(words("-queue= -help"), "--queue= --help");
        assert_eq!(words("--explain ./cpi"), "--explain -- ./cpi");
        assert_eq!(words("-explain=x -n4"), "--explain=x --processes=4");
        assert_eq!(words("--explain ./4"), "--explain -- ./4");
        let number = lexed("--explain 4 ./cpi").unwrap_err();
        assert!(number.contains("--explain=4"), "{number}");
    }

    #[test]
    fn a_letter_of_another_launcher_has_its_value_behind_it_too() {
        for (line, wanted) in [
            ("-K0 ./cpi", "--kill-on-bad-exit=0 -- ./cpi"),
            ("-K1 ./cpi", "--kill-on-bad-exit=1 -- ./cpi"),
            ("-K=0 ./cpi", "--kill-on-bad-exit=0 -- ./cpi"),
            ("-o0 ./cpi", "--oversubscribe=0 -- ./cpi"),
            ("-wnode1 ./cpi", "--hosts=node1 -- ./cpi"),
            ("-T4 ./cpi", "-- ./cpi"),
        ] {
            assert_eq!(words(line), wanted, "{line}");
        }
        // A number behind it is no file.
        assert!(lexed("-v3 ./cpi").unwrap_err().contains("no option -v3"));
    }

    #[test]
    fn what_is_behind_the_program_is_never_touched() {
        assert_eq!(
            words("-np 2 ./cpi -np 3 --queue=x -- -N -l"),
            "--processes=2 -- ./cpi -np 3 --queue=x -- -N -l"
        );
        assert_eq!(words("-n 2 -- -odd -n 3"), "--processes=2 -- -odd -n 3");
        assert_eq!(words("- -n 3"), "-- - -n 3");
        assert_eq!(words(""), "");
    }

    #[test]
    fn the_letter_l_is_hydras_switch_or_gerbils_list() {
        assert_eq!(words("-l -n 2 ./cpi"), "--label --processes=2 -- ./cpi");
        assert_eq!(words("-n 2 -l ./cpi 3"), "--processes=2 --label -- ./cpi 3");
        assert_eq!(words("-n 2 -l"), "--processes=2 --label");
        assert_eq!(words("-l jobs.txt -n 2"), "--list=jobs.txt --processes=2");
        assert_eq!(words("-l=other.txt"), "--list=other.txt");
        assert_eq!(words("-prepend-rank ./cpi"), "--label -- ./cpi");
    }

    #[test]
    fn an_unknown_word_gets_one_sentence_with_the_nearest() {
        for (line, wanted) in [
            ("-npp 4 ./cpi", "there is no option -npp; did you mean -np?"),
            (
                "-hostfle h",
                "there is no option -hostfle; did you mean -hostfile?",
            ),
            (
                "--quue q",
                "there is no option --quue; did you mean --queue?",
            ),
            (
                "-zzz",
                "there is no option -zzz; gerbil-run --help lists all",
            ),
            ("-n", "-n wants a value"),
            ("--label=3", "--label takes no value, but 3 was given"),
        ] {
            assert_eq!(lexed(line).unwrap_err(), wanted, "{line}");
        }
        for line in ["-N 4", "-N4"] {
            let error = lexed(line).unwrap_err();
            assert!(error.contains("-ppn"), "{line}: {error}");
        }
        assert!(lexed("-c 4").unwrap_err().contains("--vcores-per-proc"));
    }

    #[test]
    fn a_switch_takes_no_misspelt_word_for_the_program() {
        assert_eq!(words("-o false ./cpi"), "--oversubscribe=false -- ./cpi");
        assert_eq!(words("-o cpi 3"), "--oversubscribe=true -- cpi 3");
        assert_eq!(words("-o ./cpi"), "--oversubscribe=true -- ./cpi");
        assert_eq!(words("-o -n 2"), "--oversubscribe=true --processes=2");
        let error = lexed("-o maybe ./cpi").unwrap_err();
        assert!(
            error.starts_with("-o maybe: maybe is neither true nor false"),
            "{error}"
        );
        assert!(lexed("-o=maybe ./cpi").is_ok());
        assert_eq!(
            words("-path bin -o tool"),
            "--path=bin --oversubscribe=true -- tool"
        );
        assert!(lexed("-o tool").is_err());
    }

    #[test]
    fn what_has_no_effect_is_said_and_takes_its_value_along() {
        let lexed = lexed("-launcher ssh -rmk=slurm -n 2 ./cpi").unwrap();
        assert_eq!(lexed.notes.len(), 2);
        assert!(lexed.notes[0].starts_with("-launcher has no effect"));
        assert_eq!(lexed.words, ["--processes=2", "--", "./cpi"]);
    }

    #[test]
    fn values_need_not_be_text() {
        let odd = OsStr::from_bytes(b"h\xff").to_owned();
        let lexed = lex(["-f".into(), odd.clone()], &known(), &FILES).unwrap();
        assert_eq!(lexed.words[0].as_bytes(), b"--hostfile=h\xff");
        assert!(lex([OsStr::from_bytes(b"-\xff").to_owned()], &known(), &FILES).is_err());
    }
}
