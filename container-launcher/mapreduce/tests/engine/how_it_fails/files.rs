//! Inputs that are broken, changed, missing or in the way, and disks that are full.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::{FailureRow, Surroundings, row};
use crate::broken;

/// What inputs and outputs do.
#[cfg(test)]
pub(super) const FILES: &[FailureRow] = &[
    FailureRow {
        name: "in.gz",
        ..row(
            "gzip, a byte flipped",
            |bed| bed.write("in.gz", broken::flipped(broken::gzip())),
            "map 0: *reading {}/in.gz: Gzip data of {}/in.gz are broken before byte *: *",
        )
    },
    FailureRow {
        name: "in.bz2",
        ..row(
            "bzip2, a byte flipped",
            |bed| bed.write("in.bz2", broken::flipped(broken::bzip2())),
            "map 0: *reading {}/in.bz2: Bzip2 data of {}/in.bz2 are broken before byte *: *",
        )
    },
    FailureRow {
        name: "in.zst",
        ..row(
            "Zstandard, a byte flipped",
            |bed| bed.write("in.zst", broken::flipped(broken::zstd())),
            "map 0: *reading {}/in.zst: Zstd data of {}/in.zst are broken before byte *: *",
        )
    },
    FailureRow {
        name: "in.lz4",
        ..row(
            "LZ4 in Hadoop's frames, a byte of a length flipped",
            |bed| bed.write("in.lz4", broken::length_flipped(broken::lz4())),
            "map 0: *reading {}/in.lz4: Lz4 data of {}/in.lz4 are broken before byte *: *",
        )
    },
    FailureRow {
        name: "in.snappy",
        ..row(
            "Snappy in Hadoop's frames, a byte of a length flipped",
            |bed| bed.write("in.snappy", broken::length_flipped(broken::snappy())),
            "map 0: *reading {}/in.snappy: Snappy data of {}/in.snappy are broken before byte *: *",
        )
    },
    FailureRow {
        name: "in.gz",
        ..row(
            "gzip, cut off",
            |bed| bed.write("in.gz", broken::halved(broken::gzip())),
            "map 0: *reading {}/in.gz: Gzip data of {}/in.gz are broken before byte *: *",
        )
    },
    FailureRow {
        name: "in.lz4",
        ..row(
            "LZ4 in Hadoop's frames, cut off",
            |bed| bed.write("in.lz4", broken::halved(broken::lz4())),
            "map 0: *reading {}/in.lz4: Lz4 data of {}/in.lz4 are broken before byte *: *",
        )
    },
    FailureRow {
        name: "in.parquet",
        ..row(
            "Parquet, by its name, where lines are read",
            |bed| bed.write("in.parquet", "PAR1"),
            "{}/in.parquet is Parquet, and a mapper of lines would be handed garbage; one whose Input is Parquet<T> reads it*",
        )
    },
    row(
        "Avro, by how it begins, where lines are read",
        |bed| bed.write("in", include_bytes!("../../fixtures/counts-null.avro")),
        "map 0: {}/in is Avro, and a mapper of lines would be handed garbage; one whose Input is Avro<T> reads it*",
    ),
    row(
        "Parquet, by how it begins, where lines are read",
        |bed| bed.write("in", include_bytes!("../../fixtures/encodings.parquet")),
        "map 0: {}/in is Parquet, and a mapper of lines would be handed garbage; one whose Input is Parquet<T> reads it*",
    ),
    FailureRow {
        program: "formats",
        options: &["--job", "readseq"],
        ..row(
            "a SequenceFile is cut off",
            |bed| {
                bed.write(
                    "in",
                    broken::halved(include_bytes!("../../hadoop/plain.seq").to_vec()),
                )
            },
            "map 0: {}/in: the SequenceFile is cut off in the record at byte *",
        )
    },
    FailureRow {
        program: "writables",
        ..row(
            "a SequenceFile holds other types than the job reads",
            |bed| bed.write("in", include_bytes!("../../hadoop/plain.seq")),
            "map 0: {}/in: its keys are org.apache.hadoop.io.LongWritable, and the job reads \
             org.apache.hadoop.io.Text (as *Text)",
        )
    },
    FailureRow {
        program: "formats",
        options: &["--job", "readseq"],
        ..row(
            "a SequenceFile is empty",
            |bed| bed.write("in", ""),
            "map 0: {}/in is empty, and a SequenceFile without records still has a header: leave the file out",
        )
    },
    FailureRow {
        program: "formats",
        options: &["--job", "readseq"],
        ..row(
            "a SequenceFile is older than those of Hadoop 2",
            |bed| bed.write("in", b"SEQ\x05and more"),
            "map 0: {}/in is a SequenceFile of version 5, and only version 6 is read here",
        )
    },
    FailureRow {
        program: "formats",
        options: &[
            "--job",
            "writeseq",
            "-D",
            "mapreduce.output.fileoutputformat.compress=true",
            "-D",
            "mapreduce.output.fileoutputformat.compress.type=block",
        ],
        ..row(
            "a SequenceFile is to be compressed as none is written",
            |bed| bed.write("in", "x\n"),
            "mapreduce.output.fileoutputformat.compress.type=block: SequenceFiles are written with RECORD, each value \
             compressed by itself, BLOCK, or NONE",
        )
    },
    FailureRow {
        name: "none",
        code: 64,
        ..row(
            "an input is not there",
            |_| {},
            "{}/none: there is no such file",
        )
    },
    FailureRow {
        place: Surroundings::AsNobody,
        code: 74,
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
    FailureRow {
        code: 64,
        ..row(
            "an input is a folder that holds one",
            |bed| bed.write("in/deep/er", "x\n"),
            "{}/in/deep is a folder inside of an input folder: --recursive reads those, too",
        )
    },
    FailureRow {
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
    FailureRow {
        code: 64,
        ..row(
            "the output is there",
            |bed| {
                bed.write("in", "x\n");
                bed.write("out/mine", "");
            },
            "the output {}/out is there already: name another, or remove it",
        )
    },
    FailureRow {
        options: &["-D", "mapreduce.task.io.sort.mb=1"],
        ..row(
            "a line is longer than it may be",
            |bed| bed.write("in", "x".repeat(2_000_000)),
            "map 0: {}/in: the line at byte 0 is longer than * bytes: raise *",
        )
    },
];

/// What disks do that are full. Whoever may mount some, if only for himself, runs these; whoever may not is told.
#[cfg(test)]
pub(super) const DISKS: &[FailureRow] = &[
    FailureRow {
        place: Surroundings::SmallSpills,
        ..row(
            "the disk is full in a spill",
            |bed| bed.write("in", broken::many_words()),
            "map 0: *No space left on device*",
        )
    },
    FailureRow {
        place: Surroundings::SmallOutput,
        ..row(
            "the disk is full in the output",
            |bed| bed.write("in", broken::many_words()),
            "reduce 0: *No space left on device*",
        )
    },
];
