//! How a job fails, as one table: each row is a run of a program with `--local`. Whatever goes wrong, the exit code is
//! true, one sentence says what it was, no output is taken for whole, the folder for spills is empty, and no
//! process is left. What speaks another version of the task protocol is refused in `protocol.rs`: an executable with
//! `--local` speaks with itself.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::broken;
use crate::program::{Bed, command, example};

/// Where a row's program runs.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq)]
enum Surroundings {
    Here,
    /// As a user who may not read everything, if this one may.
    AsNobody,
    /// With a disk of 512 KiB for spills, or for output.
    SmallSpills,
    SmallOutput,
    /// With the environment variable of the example `faulty` that makes a role register other jobs.
    Odd(&'static str),
}

/// One row.
#[cfg(test)]
struct Row {
    /// What goes wrong.
    what: &'static str,
    /// The example that is run.
    program: &'static str,
    /// Makes the input, called `in`, or another.
    input: fn(&Bed),
    name: &'static str,
    /// Beside `--local --quiet`.
    options: &'static [&'static str],
    place: Surroundings,
    code: i32,
    /// The sentence, with `*` for what nobody can know, and `{}` for the test's folder.
    says: &'static str,
    /// What all parts of the output hold; none: there is no output.
    leaves: Option<&'static str>,
}

#[cfg(test)]
const ROW: Row = Row {
    what: "",
    program: "faulty",
    input: |_| {},
    name: "in",
    options: &[],
    place: Surroundings::Here,
    code: 1,
    says: "",
    leaves: None,
};

/// Variable by which a row's processes are found.
#[cfg(test)]
const MARK: &str = "HOW_IT_FAILS";

#[cfg(test)]
const fn row(what: &'static str, input: fn(&Bed), says: &'static str) -> Row {
    Row {
        what,
        input,
        says,
        ..ROW
    }
}

/// A job that succeeds in spite of it.
#[cfg(test)]
const fn harmless(what: &'static str, input: fn(&Bed), leaves: &'static str) -> Row {
    Row {
        what,
        input,
        code: 0,
        leaves: Some(leaves),
        ..ROW
    }
}

/// What mappers do.
#[cfg(test)]
const MAPPERS: &[Row] = &[
    row(
        "a mapper panics",
        |bed| bed.write("in", "good\npanic\n"),
        "map 0 panicked on record 1 of the split, at byte 5 of {}/in, at *main.rs:*: this line is not empty",
    ),
    row(
        "a mapper returns an error",
        |bed| bed.write("in", "a\nb\nerror\n"),
        "map 0: {}/in, record 2 at byte 4: this line is refused",
    ),
    Row {
        options: &["-D", "mapreduce.task.timeout=400"],
        ..row(
            "a mapper loops",
            |bed| bed.write("in", "a\nloop\n"),
            "map 0 made no progress for 0.4 s on record 1 of the split, at byte 2 of {}/in",
        )
    },
    Row {
        options: &["-D", "gerbil.task.memory.mb=100"],
        ..row(
            "a mapper eats memory",
            |bed| bed.write("in", "eat\n"),
            "map 0 has * MiB in memory where 100 are the limit (gerbil.task.memory.mb) on record 0 of the split, at \
             byte 0 of {}/in",
        )
    },
    Row {
        options: &[
            "-D",
            "gerbil.task.memory.mb=100",
            "-D",
            "mapreduce.task.timeout=30000",
        ],
        ..row(
            "a child of a mapper eats memory",
            |bed| bed.write("in", "child eats\n"),
            "map 0 has * MiB in memory where 100 are the limit (gerbil.task.memory.mb) on record 0 of the split, at \
             byte 0 of {}/in",
        )
    },
    row(
        "a mapper exits 0 in the middle",
        |bed| bed.write("in", "a\nexit\n"),
        "map 0 ended its process with exit code 0 on record 1 of the split, at byte 2 of {}/in",
    ),
    row(
        "a mapper aborts",
        |bed| bed.write("in", "a\nabort\n"),
        "map 0 was killed by signal 6 on record 1 of the split, at byte 2 of {}/in",
    ),
    row(
        "a mapper forks and panics",
        |bed| bed.write("in", "setsid\ndaemon\npanic\n"),
        "map 0 panicked on record 2 of the split, at byte 14 of {}/in, at *: this line is not empty",
    ),
    row(
        "a mapper forks and exits",
        |bed| bed.write("in", "setsid\ndaemon\nexit\n"),
        "map 0 ended its process with exit code 0 on record 2 of the split, at byte 14 of {}/in",
    ),
    harmless(
        "a mapper forks, into sessions and away from its parent",
        |bed| bed.write("in", "fork\nsetsid\ndaemon\n"),
        "daemon\t1\nfork\t1\nsetsid\t1\n",
    ),
    harmless(
        "a mapper writes to standard output, reads standard input and changes its folder",
        |bed| bed.write("in", "print\nstdin\nchdir\nx\n"),
        "chdir\t1\nprint\t1\nstdin\t1\nx\t1\n",
    ),
    row(
        "a key is too long",
        |bed| bed.write("in", "a\nlong key\n"),
        "map 0: {}/in, record 1 at byte 2: a record of 100000008 bytes was emitted, 100000000 of them its key; the \
         longest may have 50331648: raise gerbil.record.max",
    ),
    Row {
        options: &["-D", "gerbil.record.max=99"],
        ..row(
            "a record is too long",
            |bed| bed.write("in", format!("a\n{}\n", "b".repeat(95))),
            "map 0: {}/in, record 1 at byte 2: a record of 103 bytes was emitted, 95 of them its key; the longest may \
             have 99: raise gerbil.record.max",
        )
    },
];

/// What inputs and outputs do.
#[cfg(test)]
const FILES: &[Row] = &[
    Row {
        name: "in.gz",
        ..row(
            "gzip, a byte flipped",
            |bed| bed.write("in.gz", broken::flipped(broken::gzip())),
            "map 0: *reading {}/in.gz: Gzip data of {}/in.gz are broken before byte *: *",
        )
    },
    Row {
        name: "in.bz2",
        ..row(
            "bzip2, a byte flipped",
            |bed| bed.write("in.bz2", broken::flipped(broken::bzip2())),
            "map 0: *reading {}/in.bz2: Bzip2 data of {}/in.bz2 are broken before byte *: *",
        )
    },
    Row {
        name: "in.zst",
        ..row(
            "Zstandard, a byte flipped",
            |bed| bed.write("in.zst", broken::flipped(broken::zstd())),
            "map 0: *reading {}/in.zst: Zstd data of {}/in.zst are broken before byte *: *",
        )
    },
    Row {
        name: "in.lz4",
        ..row(
            "LZ4 in Hadoop's frames, a byte of a length flipped",
            |bed| bed.write("in.lz4", broken::length_flipped(broken::lz4())),
            "map 0: *reading {}/in.lz4: Lz4 data of {}/in.lz4 are broken before byte *: *",
        )
    },
    Row {
        name: "in.snappy",
        ..row(
            "Snappy in Hadoop's frames, a byte of a length flipped",
            |bed| bed.write("in.snappy", broken::length_flipped(broken::snappy())),
            "map 0: *reading {}/in.snappy: Snappy data of {}/in.snappy are broken before byte *: *",
        )
    },
    Row {
        name: "in.gz",
        ..row(
            "gzip, cut off",
            |bed| bed.write("in.gz", broken::halved(broken::gzip())),
            "map 0: *reading {}/in.gz: Gzip data of {}/in.gz are broken before byte *: *",
        )
    },
    Row {
        name: "in.lz4",
        ..row(
            "LZ4 in Hadoop's frames, cut off",
            |bed| bed.write("in.lz4", broken::halved(broken::lz4())),
            "map 0: *reading {}/in.lz4: Lz4 data of {}/in.lz4 are broken before byte *: *",
        )
    },
    Row {
        program: "formats",
        options: &["--job", "readseq"],
        ..row(
            "a SequenceFile is cut off",
            |bed| {
                bed.write(
                    "in",
                    broken::halved(include_bytes!("../hadoop/plain.seq").to_vec()),
                )
            },
            "map 0: {}/in: the SequenceFile is cut off in the record at byte *",
        )
    },
    Row {
        name: "none",
        ..row(
            "an input is not there",
            |_| {},
            "{}/none: there is no such file",
        )
    },
    Row {
        place: Surroundings::AsNobody,
        ..row(
            "an input may not be read",
            |bed| {
                bed.write("in", "x\n");
                let mode = fs::Permissions::from_mode(0o000);
                fs::set_permissions(bed.path("in"), mode).unwrap();
            },
            "{}/in: Permission denied (os error 13)",
        )
    },
    row(
        "an input is a folder that holds one",
        |bed| bed.write("in/deep/er", "x\n"),
        "{}/in/deep is a folder inside of an input folder: --recursive reads those, too",
    ),
    Row {
        options: &[
            "--slots",
            "1",
            "-D",
            "mapreduce.input.fileinputformat.split.maxsize=100",
            "-D",
            "gerbil.split.pack=1",
        ],
        ..row(
            "an input grows while it is read",
            |bed| bed.write("in", format!("grow\n{}", "x\n".repeat(100))),
            "map *: {}/in had 205 bytes and has 210 now: it was changed while it was read",
        )
    },
    row(
        "an input is cut off while it is read",
        |bed| bed.write("in", format!("shrink\n{}", "x\n".repeat(1_000_000))),
        "map 0: *{}/in: it had 2000007 bytes and ends at * now: it was changed while it was read",
    ),
    row(
        "the output is there",
        |bed| {
            bed.write("in", "x\n");
            bed.write("out/mine", "");
        },
        "the output {}/out is there already: name another, or remove it",
    ),
    Row {
        options: &[
            "-D",
            "mapreduce.input.linerecordreader.line.maxlength=1000000",
        ],
        ..row(
            "a line is longer than it may be",
            |bed| bed.write("in", "x".repeat(2_000_000)),
            "map 0: {}/in: the line at byte 0 is longer than 1000000 bytes*",
        )
    },
];

/// What disks do that are full. Whoever may mount some, if only for himself, runs these; whoever may not is told.
#[cfg(test)]
const DISKS: &[Row] = &[
    Row {
        place: Surroundings::SmallSpills,
        ..row(
            "the disk is full in a spill",
            |bed| bed.write("in", broken::many_words()),
            "map 0: *No space left on device*",
        )
    },
    Row {
        place: Surroundings::SmallOutput,
        ..row(
            "the disk is full in the output",
            |bed| bed.write("in", broken::many_words()),
            "reduce 0: *No space left on device*",
        )
    },
];

/// Jobs that are odd, and well.
#[cfg(test)]
const SIZES: &[Row] = &[
    harmless("no record", |bed| bed.write("in", ""), ""),
    harmless("no file", |bed| fs::create_dir(bed.path("in")).unwrap(), ""),
    harmless("one record", |bed| bed.write("in", "x"), "x\t1\n"),
    Row {
        options: &["--reduces", "0"],
        ..harmless(
            "no reduces",
            |bed| bed.write("in", "b\na\nb\n"),
            "b\t1\na\t1\nb\t1\n",
        )
    },
    Row {
        options: &["--reduces", "0"],
        ..harmless("no reduces and no record", |bed| bed.write("in", ""), "")
    },
    Row {
        options: &["--reduces", "50"],
        ..harmless(
            "more partitions than records",
            |bed| bed.write("in", "x\nx\n"),
            "x\t2\n",
        )
    },
    Row {
        options: &["-D", "mapreduce.task.io.sort.mb=1", "--reduces", "3"],
        ..harmless(
            "all keys equal",
            |bed| bed.write("in", "same\n".repeat(200_000)),
            "same\t200000\n",
        )
    },
    harmless(
        "10,000 tiny files",
        |bed| {
            fs::create_dir(bed.path("in")).unwrap();
            for number in 0..10_000 {
                fs::write(bed.path(&format!("in/{number:05}")), "x\n").unwrap();
            }
        },
        "x\t10000\n",
    ),
];

/// Roles that do not fit.
#[cfg(test)]
const ROLES: &[Row] = &[
    Row {
        place: Surroundings::Odd("task"),
        ..row(
            "a task process registers other jobs",
            |bed| bed.write("in", "x\n"),
            "a task process: registers other jobs than this process did: registration must not depend on files, time \
             or environment",
        )
    },
    Row {
        place: Surroundings::Odd("drive"),
        ..row(
            "the driver registers other jobs",
            |bed| bed.write("in", "x\n"),
            "the driver registers other jobs than this process did: registration must not depend on files, time or \
             environment",
        )
    },
];

/// The command of a row, marked by `mark`.
#[cfg(test)]
fn run_of(row: &Row, bed: &Bed, mark: &str) -> Command {
    let output = match row.place {
        Surroundings::SmallOutput => "small/out",
        _ => "out",
    };
    let options = [&["--local", "--quiet"], row.options].concat();
    let job = command(
        row.program,
        &options,
        &[&bed.at(row.name), &bed.at(output)],
        &[],
    );
    let is_root = rustix::process::geteuid().is_root();
    let mut run = match row.place {
        Surroundings::AsNobody if is_root => {
            // Who needs the program, and folders to write to.
            fs::copy(example("faulty"), bed.path("faulty")).unwrap();
            for folder in [".", "spills"] {
                let mode = fs::Permissions::from_mode(0o777);
                fs::set_permissions(bed.path(folder), mode).unwrap();
            }
            let mut other = Command::new("setpriv");
            other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
            other.arg(bed.path("faulty")).args(job.get_args());
            other
        }
        Surroundings::SmallSpills | Surroundings::SmallOutput => {
            fs::create_dir(bed.path("small")).unwrap();
            let folder = match row.place {
                Surroundings::SmallSpills => bed.at("spills"),
                _ => bed.at("small"),
            };
            // What is left on the small disk is looked at before it goes with the namespace.
            let script = format!(
                "mount -t tmpfs -o size=512k none {folder} && \"$@\"; code=$?; left=$(ls -A {folder}); test -z \
                 \"$left\" || echo \"left: $left\" >&2; exit $code"
            );
            let mut shell = mounting();
            shell.args(["sh", "-c", &script, "sh"]);
            shell.arg(job.get_program()).args(job.get_args());
            shell
        }
        _ => job,
    };
    if let Surroundings::Odd(role) = row.place {
        run.env("FAULTY_PLAN", role);
    }
    run.env("TMPDIR", bed.path("spills")).env(MARK, mark);
    run
}

/// What goes before a command that mounts what nobody else sees: anybody may, but root himself, in a namespace where he
/// is root.
#[cfg(test)]
fn mounting() -> Command {
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command.arg("--mount");
    command
}

/// Whether `text` is `pattern`, in which `*` stands for anything.
#[cfg(test)]
fn is_like(text: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => text == pattern,
        Some((before, rest)) => text.strip_prefix(before).is_some_and(|text| {
            (0..=text.len()).any(|at| text.get(at..).is_some_and(|text| is_like(text, rest)))
        }),
    }
}

/// Processes that have `mark` in their environment, which are ended: none should be there.
#[cfg(test)]
fn marked(mark: &str) -> Vec<String> {
    let mark = format!("{MARK}={mark}\0");
    let processes = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let environment = fs::read(entry.path().join("environ")).ok()?;
            let is_marked = environment
                .windows(mark.len())
                .any(|part| part == mark.as_bytes());
            let command = fs::read(entry.path().join("cmdline")).ok()?;
            is_marked.then(|| String::from_utf8_lossy(&command).into_owned())
        });
    processes.collect()
}

/// Runs a row; what is not as it should be.
#[cfg(test)]
fn wrong(row: &Row) -> Vec<String> {
    let bed = Bed::new();
    fs::create_dir(bed.path("spills")).unwrap();
    (row.input)(&bed);
    let mark = bed.at("");
    let done = run_of(row, &bed, &mark).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    let mut wrong = Vec::new();
    if done.status.code() != Some(row.code) {
        wrong.push(format!("exit code {:?}", done.status.code()));
    }
    // A panic is told by Rust itself, too, and what a mapper prints is its own affair.
    let sentences: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix(row.program)?.strip_prefix(": "))
        .collect();
    let says = row.says.replace("{}", bed.at("").trim_end_matches('/'));
    match (sentences.as_slice(), says.as_str()) {
        ([], "") => {}
        ([sentence], says) if is_like(sentence, says) => {}
        _ => wrong.push(format!("it said {sentences:#?}")),
    }
    if said.contains("left: ") {
        wrong.push("something is left on the small disk".to_owned());
    }
    let spills: Vec<_> = fs::read_dir(bed.path("spills"))
        .unwrap()
        .flatten()
        .collect();
    if !spills.is_empty() {
        wrong.push(format!("spills are left: {spills:?}"));
    }
    let left = marked(&mark);
    if !left.is_empty() {
        wrong.push(format!("processes are left: {left:?}"));
    }
    match row.leaves {
        Some(leaves) => {
            let found = String::from_utf8_lossy(&bed.parts("out")).into_owned();
            if found != leaves || !bed.path("out/_SUCCESS").exists() {
                wrong.push(format!("the output is {found:?}"));
            }
        }
        None if bed.path("out/mine").exists() => {
            let names = fs::read_dir(bed.path("out")).unwrap().count();
            wrong.extend((names > 1).then(|| "somebody's output was changed".to_owned()));
        }
        None if bed.path("out").exists() => wrong.push("output is left".to_owned()),
        None => {}
    }
    if !wrong.is_empty() {
        wrong.push(said);
    }
    wrong
}

/// Runs rows, all of them, and tells of each that is not as it says.
#[cfg(test)]
fn hold(rows: &[Row]) {
    let told: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let wrong = wrong(row);
            (!wrong.is_empty()).then(|| format!("{}: {}", row.what, wrong.join("\n  ")))
        })
        .collect();
    assert!(told.is_empty(), "{}", told.join("\n\n"));
}

#[test]
fn mappers_that_do_what_they_must_not() {
    hold(MAPPERS);
}

#[test]
fn files_that_are_broken_changed_missing_or_in_the_way() {
    hold(FILES);
}

#[test]
fn disks_that_are_full() {
    let bed = Bed::new();
    let tried = mounting()
        .args(["mount", "-t", "tmpfs", "none", &bed.at("")])
        .output()
        .unwrap();
    assert!(
        tried.status.success(),
        "no disk can be mounted here ({}): run this as root, or let users have namespaces (sysctl \
         user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)",
        String::from_utf8_lossy(&tried.stderr).trim()
    );
    hold(DISKS);
}

#[test]
fn jobs_of_odd_sizes() {
    hold(SIZES);
}

#[test]
fn roles_that_do_not_fit() {
    hold(ROLES);
}
