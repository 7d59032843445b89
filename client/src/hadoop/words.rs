//! Command lines of `hadoop`, understood.

use std::fmt;

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Which Hadoop this is.
    Version,
    /// Something of a file system.
    Files(FilesTask),
    /// A jar with its words.
    Jar(Vec<String>),
}

/// What is done with files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FilesTask {
    /// `-ls`, with what is below where that is wanted.
    List { paths: Vec<String>, is_deep: bool },
    /// `-mkdir`, with the folders above where that is wanted.
    MakeFolder { paths: Vec<String>, is_deep: bool },
    /// `-put`, `-copyFromLocal`; `-` alone is standard input.
    Put {
        from: Vec<String>,
        to: String,
        replaces: bool,
    },
    /// `-appendToFile`; `-` is standard input.
    Append { from: Vec<String>, to: String },
    /// `-get`, `-copyToLocal`.
    Get {
        from: Vec<String>,
        to: String,
        replaces: bool,
    },
    /// `-cat`, `-text`.
    Print { paths: Vec<String>, unpacks: bool },
    /// `-rm`, with what is below, without a word where nothing is there, and past the trash.
    Remove {
        paths: Vec<String>,
        is_deep: bool,
        is_calm: bool,
        is_final: bool,
    },
    /// `-rmdir`.
    RemoveFolder { paths: Vec<String> },
    /// `-count`: folders, files and bytes of each.
    Count { paths: Vec<String> },
    /// `-touchz`.
    Touch { paths: Vec<String> },
    /// `-test -e`, `-d`, `-f` or `-z`.
    Test { what: char, path: String },
    /// `-du`, one sum a path where that is wanted.
    Used { paths: Vec<String>, is_sum: bool },
}

/// What is not done here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotHere(String);

impl fmt::Display for NotHere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// All that there is.
pub(super) const USAGE: &str = "gerbil hadoop stands in for Hadoop's command: version, jar ANY/hadoop-streaming.jar OPTIONS, and fs \
    with -ls [-R], -lsr, -mkdir [-p], -put [-f], -copyFromLocal, -appendToFile, -get [-f], -copyToLocal, -cat, -text, -rm [-R] [-f] \
    [-skipTrash], -rmr, -rmdir, -touchz, -test -e|-d|-f|-z, -du [-s], -count";

/// Understands the words behind `hadoop`.
pub(super) fn asked(words: &[String]) -> Result<Asked, NotHere> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["version"] => Ok(Asked::Version),
        ["jar", rest @ ..] if !rest.is_empty() => Ok(Asked::Jar(
            rest.iter().map(|word| (*word).to_owned()).collect(),
        )),
        ["fs" | "dfs", command, rest @ ..] => files(command, rest).map(Asked::Files),
        _ => Err(NotHere(USAGE.to_owned())),
    }
}

fn files(command: &str, rest: &[&str]) -> Result<FilesTask, NotHere> {
    let no = |why: String| NotHere(format!("{command}: {why}; {USAGE}"));
    let options = rest
        .iter()
        .take_while(|word| word.starts_with('-') && word.len() > 1);
    let options: Vec<&str> = options.copied().collect();
    let paths: Vec<String> = rest
        .iter()
        .skip(options.len())
        .map(|path| (*path).to_owned())
        .collect();
    let known: &[&str] = match command {
        "-ls" => &["-R"],
        "-mkdir" => &["-p"],
        "-put" | "-copyFromLocal" | "-get" | "-copyToLocal" => &["-f"],
        "-rm" | "-rmr" => &["-R", "-r", "-f", "-skipTrash"],
        "-test" => &["-e", "-d", "-f", "-z"],
        "-du" => &["-s"],
        _ => &[],
    };
    if let Some(odd) = options.iter().find(|option| !known.contains(option)) {
        return Err(no(format!("{odd} is not done here")));
    }
    if paths.is_empty() && !matches!(command, "-ls" | "-lsr") {
        return Err(no("a path is wanted".to_owned()));
    }
    let has = |option: &str| options.contains(&option);
    Ok(match command {
        "-ls" | "-lsr" => FilesTask::List {
            // The home folder.
            paths: if paths.is_empty() {
                vec![".".to_owned()]
            } else {
                paths
            },
            is_deep: has("-R") || command == "-lsr",
        },
        "-mkdir" => FilesTask::MakeFolder {
            paths,
            is_deep: has("-p"),
        },
        "-put" | "-copyFromLocal" => {
            let (from, to) = from_and_to(paths);
            FilesTask::Put {
                from,
                to,
                replaces: has("-f"),
            }
        }
        "-appendToFile" => match paths.split_last() {
            Some((_, from)) if from.len() > 1 && from.iter().any(|path| path == "-") => {
                return Err(no(
                    "- is standard input, and stands alone before the file".to_owned()
                ));
            }
            Some((to, from)) if !from.is_empty() => FilesTask::Append {
                from: from.to_vec(),
                to: to.clone(),
            },
            _ => return Err(no("files, or -, and a path are wanted".to_owned())),
        },
        "-get" | "-copyToLocal" => {
            let (from, to) = from_and_to(paths);
            FilesTask::Get {
                from,
                to,
                replaces: has("-f"),
            }
        }
        "-cat" | "-text" => FilesTask::Print {
            paths,
            unpacks: command == "-text",
        },
        "-rm" | "-rmr" => FilesTask::Remove {
            paths,
            is_deep: has("-R") || has("-r") || command == "-rmr",
            is_calm: has("-f"),
            is_final: has("-skipTrash"),
        },
        "-rmdir" => FilesTask::RemoveFolder { paths },
        "-count" => FilesTask::Count { paths },
        "-touchz" => FilesTask::Touch { paths },
        "-test" => match (options.as_slice(), paths.as_slice()) {
            ([what], [path]) => FilesTask::Test {
                what: what.chars().nth(1).unwrap_or('e'),
                path: path.clone(),
            },
            _ => return Err(no("one of -e -d -f -z and a path are wanted".to_owned())),
        },
        "-du" => FilesTask::Used {
            paths,
            is_sum: has("-s"),
        },
        _ => return Err(no("this is not done here".to_owned())),
    })
}

/// What is copied, and where: the last one, or the home or working folder.
fn from_and_to(mut paths: Vec<String>) -> (Vec<String>, String) {
    let to = match paths.len() {
        0 | 1 => None,
        _ => paths.pop(),
    };
    (paths, to.unwrap_or_else(|| ".".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Asked, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        asked(&words).map_err(|no| no.to_string())
    }

    #[test]
    fn what_mrjob_types_is_understood() {
        let paths = |all: &[&str]| {
            all.iter()
                .map(|path| (*path).to_owned())
                .collect::<Vec<_>>()
        };
        for (line, wanted) in [
            (
                "fs -ls -R hdfs:///out",
                FilesTask::List {
                    paths: paths(&["hdfs:///out"]),
                    is_deep: true,
                },
            ),
            (
                "fs -ls",
                FilesTask::List {
                    paths: paths(&["."]),
                    is_deep: false,
                },
            ),
            (
                "fs -mkdir -p /a/b",
                FilesTask::MakeFolder {
                    paths: paths(&["/a/b"]),
                    is_deep: true,
                },
            ),
            (
                "fs -put a b /c",
                FilesTask::Put {
                    from: paths(&["a", "b"]),
                    to: "/c".into(),
                    replaces: false,
                },
            ),
            (
                "fs -put a",
                FilesTask::Put {
                    from: paths(&["a"]),
                    to: ".".into(),
                    replaces: false,
                },
            ),
            (
                "fs -put -f - /c",
                FilesTask::Put {
                    from: paths(&["-"]),
                    to: "/c".into(),
                    replaces: true,
                },
            ),
            (
                "fs -appendToFile a b /c",
                FilesTask::Append {
                    from: paths(&["a", "b"]),
                    to: "/c".into(),
                },
            ),
            (
                "fs -get /a",
                FilesTask::Get {
                    from: paths(&["/a"]),
                    to: ".".into(),
                    replaces: false,
                },
            ),
            (
                "fs -rm -R -f -skipTrash /a",
                FilesTask::Remove {
                    paths: paths(&["/a"]),
                    is_deep: true,
                    is_calm: true,
                    is_final: true,
                },
            ),
            (
                "fs -rmr -skipTrash /a",
                FilesTask::Remove {
                    paths: paths(&["/a"]),
                    is_deep: true,
                    is_calm: false,
                    is_final: true,
                },
            ),
            (
                "fs -rm /a /b",
                FilesTask::Remove {
                    paths: paths(&["/a", "/b"]),
                    is_deep: false,
                    is_calm: false,
                    is_final: false,
                },
            ),
            (
                "dfs -test -d /a",
                FilesTask::Test {
                    what: 'd',
                    path: "/a".into(),
                },
            ),
            (
                "fs -text /a",
                FilesTask::Print {
                    paths: paths(&["/a"]),
                    unpacks: true,
                },
            ),
            (
                "fs -copyToLocal -f /a /c b",
                FilesTask::Get {
                    from: paths(&["/a", "/c"]),
                    to: "b".into(),
                    replaces: true,
                },
            ),
        ] {
            assert_eq!(of(line), Ok(Asked::Files(wanted)), "{line}");
        }
        assert_eq!(of("version"), Ok(Asked::Version));
        let jar = ["x/hadoop-streaming.jar", "-input", "a"]
            .map(str::to_owned)
            .to_vec();
        assert_eq!(
            of("jar x/hadoop-streaming.jar -input a"),
            Ok(Asked::Jar(jar))
        );
        for (line, said) in [
            ("fs -chmod 777 /a", "-chmod: this is not done here"),
            ("fs -ls -h /a", "-ls: -h is not done here"),
            ("fs -put", "-put: a path is wanted"),
            ("fs -cat", "-cat: a path is wanted"),
            ("fs -appendToFile a", "files, or -, and a path are wanted"),
            ("fs -appendToFile a - /c", "- is standard input"),
            ("jar", "stands in for Hadoop's command"),
            ("", "stands in for Hadoop's command"),
        ] {
            let refused = of(line).unwrap_err();
            assert!(refused.contains(said), "{line}: {refused}");
        }
    }
}
