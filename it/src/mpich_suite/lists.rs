//! The suite's lists of tests, read as its `runtests` reads them.
//!
//! ```text
//! PROGRAM [PROCESSES] [KEY=VALUE...]   a test
//! DIRECTORY                            the lists of that folder
//! !DIRECTORY:TARGET                    something to be made first
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// The lists that `make testing` names, in its order: tests, tests over many datatypes, and tests of
/// each algorithm of a collective operation.
pub const NAMES: [&str; 3] = ["testlist", "testlist.dtp", "testlist.cvar"];

/// Processes of a test whose line does not say.
const PROCESSES: &str = "2";

/// One test, as listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedTest {
    /// The folder whose list has it, `coll` or `errors/coll`.
    pub directory: String,
    /// Which of the lists.
    pub list: String,
    /// Its line, as it stands there.
    pub line: String,
    /// What `runtests` calls it: folder, program, processes, arguments and variables; and ` #2` and so
    /// on where one of that name came before.
    pub name: String,
    /// Why it is expected to fail, in the suite's words.
    pub expected_failure: Option<String>,
}

impl ListedTest {
    /// The first folder of its path.
    #[must_use]
    pub fn top(&self) -> &str {
        top(&self.directory)
    }
}

/// What runs in one go of `runtests`: neighbours of one list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuitePiece {
    /// Counted from 0.
    pub number: usize,
    /// The folder of the list.
    pub directory: String,
    /// The tests, in the list's order.
    pub tests: Vec<ListedTest>,
}

impl std::fmt::Display for SuitePiece {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "piece {}, {} tests of {}",
            self.number,
            self.tests.len(),
            self.directory
        )
    }
}

/// Tests of a piece, at most: a minute or two.
const PIECE: usize = 30;

/// All tests of the suite configured in `built` from `source`, in the order in which they run.
///
/// # Errors
///
/// A list cannot be read.
pub fn read(built: &Path, source: &Path) -> Result<Vec<ListedTest>> {
    let mut reader = ListReader {
        built,
        source,
        names: BTreeMap::new(),
        all: Vec::new(),
    };
    for directory in folders(built, source, "")? {
        reader.folder(&directory)?;
    }
    Ok(reader.all)
}

/// `tests` in pieces that can run side by side. Tests of MPI-IO write files of the same names into
/// their folder: those of one folder are one piece.
#[must_use]
pub fn pieces(tests: &[ListedTest]) -> Vec<SuitePiece> {
    let mut pieces: Vec<SuitePiece> = Vec::new();
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let list = |name: &'static str| tests.iter().filter(move |test| test.list == name);
    // The suite's own tests before the many that repeat some of them.
    for test in NAMES.into_iter().flat_map(list) {
        let of = (test.directory.as_str(), test.list.as_str());
        let place = places.get(&of).copied();
        let open = place
            .filter(|place| test.directory.ends_with("io") || pieces[*place].tests.len() < PIECE);
        let place = open.unwrap_or_else(|| {
            pieces.push(SuitePiece {
                number: pieces.len(),
                directory: test.directory.clone(),
                tests: Vec::new(),
            });
            pieces.len() - 1
        });
        places.insert(of, place);
        pieces[place].tests.push(test.clone());
    }
    pieces
}

struct ListReader<'a> {
    built: &'a Path,
    source: &'a Path,
    names: BTreeMap<String, usize>,
    all: Vec<ListedTest>,
}

impl ListReader<'_> {
    fn folder(&mut self, directory: &str) -> Result<()> {
        for list in NAMES {
            for line in lines(self.built, self.source, directory, list)? {
                let Some(entry) = TestLine::parse(&line) else {
                    continue;
                };
                if self.built.join(directory).join(&entry.program).is_dir() {
                    self.folder(&format!("{directory}/{}", entry.program))?;
                    continue;
                }
                let name = self.unique(entry.name(directory));
                self.all.push(ListedTest {
                    directory: directory.to_owned(),
                    list: list.to_owned(),
                    name,
                    expected_failure: entry.expected_failure,
                    line,
                });
            }
        }
        Ok(())
    }

    /// `name`, or with ` #2` and so on where it came before.
    fn unique(&mut self, name: String) -> String {
        let count = self.names.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 {
            name
        } else {
            format!("{name} #{count}")
        }
    }
}

/// The folders that the list of `directory` names.
fn folders(built: &Path, source: &Path, directory: &str) -> Result<Vec<String>> {
    let lines = lines(built, source, directory, NAMES[0])?;
    let entries = lines.iter().filter_map(|line| TestLine::parse(line));
    Ok(entries
        .map(|entry| entry.program)
        .filter(|program| built.join(directory).join(program).is_dir())
        .collect())
}

/// The list's lines without comments; none where there is no such list. The configured list goes
/// before the one that came with the source.
fn lines(built: &Path, source: &Path, directory: &str, list: &str) -> Result<Vec<String>> {
    for root in [built, source] {
        let path = root.join(directory).join(list);
        if fs::metadata(&path).is_ok_and(|found| found.len() > 0) {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let lines = text
                .lines()
                .map(|line| line.split('#').next().unwrap_or("").trim());
            return Ok(lines
                .filter(|line| !line.is_empty() && !line.starts_with('!'))
                .map(str::to_owned)
                .collect());
        }
    }
    Ok(Vec::new())
}

fn top(directory: &str) -> &str {
    directory.split('/').next().unwrap_or(directory)
}

struct TestLine {
    program: String,
    processes: String,
    arguments: Vec<String>,
    environment: Vec<String>,
    expected_failure: Option<String>,
}

impl TestLine {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let mut entry = Self {
            program: words.next()?.to_owned(),
            processes: words.next().unwrap_or(PROCESSES).to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            expected_failure: None,
        };
        for (key, value) in words.filter_map(|word| word.split_once('=')) {
            match key {
                "arg" => entry.arguments.push(value.to_owned()),
                "env" => entry.environment.push(value.to_owned()),
                "xfail" => entry.expected_failure = Some(value.to_owned()),
                _ => {}
            }
        }
        Some(entry)
    }

    /// As `runtests` writes it into its JUnit file, blanks made one.
    fn name(&self, directory: &str) -> String {
        let program = self.program.rsplit('/').next().unwrap_or(&self.program);
        let mut words = vec![format!("{directory}/{program}"), self.processes.clone()];
        words.extend(self.arguments.iter().cloned());
        words.extend(self.environment.iter().cloned());
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite() -> (tempfile::TempDir, Vec<ListedTest>) {
        let folder = tempfile::tempdir().unwrap();
        let (built, source) = (folder.path().join("built"), folder.path().join("source"));
        for inner in ["coll", "errors/coll"] {
            fs::create_dir_all(built.join(inner)).unwrap();
            fs::create_dir_all(source.join(inner)).unwrap();
        }
        let write = |path: &Path, text: &str| fs::write(path, text).unwrap();
        write(&built.join("testlist"), "coll \n#perf\nerrors\n");
        write(
            &built.join("coll/testlist"),
            "allred 4 arg=-count=10 timeLimit=30\nallred 4 arg=-count=10 # again\n\n",
        );
        write(
            &source.join("coll/testlist"),
            "this 1 is not read: the other is\n",
        );
        write(
            &built.join("coll/testlist.cvar"),
            "bcast 10 env=A=1 env=B=2\n",
        );
        write(&source.join("errors/testlist"), "!../util:x\ncoll\n");
        write(
            &source.join("errors/coll/testlist"),
            "noalias 2 xfail=ticket1\n",
        );
        let tests = read(&built, &source).unwrap();
        (folder, tests)
    }

    #[test]
    fn each_listed_test_has_the_name_that_it_will_be_reported_by() {
        let (_folder, tests) = suite();
        let names: Vec<_> = tests.iter().map(|test| test.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "coll/allred 4 -count=10",
                "coll/allred 4 -count=10 #2",
                "coll/bcast 10 A=1 B=2",
                "errors/coll/noalias 2",
            ]
        );
    }

    #[test]
    fn pieces_are_short_except_where_tests_write_files() {
        let test = |directory: &str, number: usize| ListedTest {
            directory: directory.to_owned(),
            list: "testlist".into(),
            line: format!("t{number}"),
            name: format!("{directory}/t{number} 2"),
            expected_failure: None,
        };
        let coll = (0..PIECE + 1).map(|number| test("coll", number));
        let io = (0..PIECE + 1).map(|number| test("cxx/io", number));
        let all: Vec<_> = coll.chain(io).collect();
        let pieces = pieces(&all);
        let sizes: Vec<_> = pieces
            .iter()
            .map(|piece| (piece.directory.as_str(), piece.tests.len()))
            .collect();
        assert_eq!(sizes, [("coll", PIECE), ("coll", 1), ("cxx/io", PIECE + 1)]);
    }
}
