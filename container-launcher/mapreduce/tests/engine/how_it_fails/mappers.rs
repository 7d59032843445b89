//! What mappers do that they must not.

use super::{FailureRow, harmless, row};

/// What mappers do.
#[cfg(test)]
pub(super) const MAPPERS: &[FailureRow] = &[
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
    row(
        "a mapper says too much of its error",
        |bed| bed.write("in", "long error\n"),
        "map 0: {}/in, record 0 at byte 0: much * [and so on] * much is said",
    ),
    row(
        "a reducer returns an error for a long key",
        |bed| bed.write("in", format!("refuse {}\n", "\u{1}".repeat(3 << 20))),
        "reduce 0: group 0, key \"refuse \\u{1}*\\u{1}\" and so on, 3145735 bytes: this word is refused",
    ),
    row(
        "a mapper counts what each record names",
        |bed| bed.write("in", "a\nmany counters\n"),
        "map 0: {}/in, record 1 at byte 2: the task counts under more than 5000 names, the last one \"5000\" in \
         \"faulty\": what each record names is to be emitted, not counted",
    ),
    FailureRow {
        options: &["--slots", "1", "-D", "gerbil.split.pack=1"],
        ..row(
            "maps count what each of them names",
            |bed| {
                for file in ["a", "b", "c"] {
                    bed.write(&format!("in/{file}"), "own counters\n");
                }
            },
            "map 2: it counts under \"2.*\" in \"faulty\" where the tasks of the job have counted under 10000 names, \
             the most that there may be: what each record names is to be emitted, not counted",
        )
    },
    FailureRow {
        options: &["--slots", "1", "-D", "mapreduce.job.counters.max=120"],
        ..row(
            "a map counts under more names than the settings allow",
            |bed| bed.write("in", "own counters\n"),
            "map 0: it counts under \"0.*\" in \"faulty\", and the job may have 120 counters of its own: \
             mapreduce.job.counters.max allows more",
        )
    },
    FailureRow {
        options: &["-D", "mapreduce.task.timeout=400"],
        ..row(
            "a mapper loops",
            |bed| bed.write("in", "a\nloop\n"),
            "map 0 made no progress for 0.4 s on record 1 of the split, at byte 2 of {}/in",
        )
    },
    FailureRow {
        options: &["-D", "gerbil.task.memory.mb=100"],
        ..row(
            "a mapper eats memory",
            |bed| bed.write("in", "eat\n"),
            "map 0 has * MiB in memory where 100 are the limit (gerbil.task.memory.mb) on record 0 of the split, at \
             byte 0 of {}/in",
        )
    },
    FailureRow {
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
    FailureRow {
        options: &["--driver", "unwritable"],
        ..row(
            "a value has no JSON",
            |bed| bed.write("in", "a\n"),
            "map 0: {}/in, record 0 at byte 0: *BTreeMap<(u32, u32), u32> cannot be written as JSON: key must be a \
             string",
        )
    },
    FailureRow {
        options: &["-D", "gerbil.record.max=99"],
        ..row(
            "a record is too long",
            |bed| bed.write("in", format!("a\n{}\n", "b".repeat(95))),
            "map 0: {}/in, record 1 at byte 2: a record of 103 bytes was emitted, 95 of them its key; the longest may \
             have 99: raise gerbil.record.max",
        )
    },
];
