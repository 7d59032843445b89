//! Jobs of odd sizes, which are well.

use std::fs;

use super::{FailureRow, harmless};

/// Jobs that are odd, and well.
#[cfg(test)]
pub(super) const SIZES: &[FailureRow] = &[
    harmless("no record", |bed| bed.write("in", ""), ""),
    harmless("no file", |bed| fs::create_dir(bed.path("in")).unwrap(), ""),
    harmless("one record", |bed| bed.write("in", "x"), "x\t1\n"),
    FailureRow {
        options: &["--reduces", "0"],
        ..harmless(
            "no reduces",
            |bed| bed.write("in", "b\na\nb\n"),
            "b\t1\na\t1\nb\t1\n",
        )
    },
    FailureRow {
        options: &["--reduces", "0"],
        ..harmless("no reduces and no record", |bed| bed.write("in", ""), "")
    },
    FailureRow {
        options: &["--reduces", "50"],
        ..harmless(
            "more partitions than records",
            |bed| bed.write("in", "x\nx\n"),
            "x\t2\n",
        )
    },
    FailureRow {
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
