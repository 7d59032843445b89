//! Whole jobs through the local runner: what they leave is what was expected, byte for byte.

use std::fmt::Write as _;
use std::io::Write as _;

use crate::program::{Bed, program};

#[cfg(test)]
fn run(name: &str, options: &[&str], operands: &[&str]) -> String {
    let (code, said) = program(name, &[&["--local"], options].concat(), operands, &[]);
    assert_eq!(code, 0, "{said}");
    said
}

/// Some text with words that come often and words that come once.
#[cfg(test)]
fn text(lines: u32) -> String {
    let mut text = String::new();
    let mut state = 1_u32;
    for line in 0..lines {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        writeln!(
            text,
            "the word{} and word{} of line{line}",
            (state >> 20) % 37,
            (state >> 8) % 1009
        )
        .unwrap();
    }
    text
}

#[cfg(test)]
fn counted(text: &str) -> String {
    let mut counts = std::collections::BTreeMap::new();
    text.split_whitespace()
        .for_each(|word| *counts.entry(word).or_insert(0_u64) += 1);
    counts
        .iter()
        .map(|(word, count)| format!("{word}\t{count}\n"))
        .collect()
}

#[test]
fn words_are_counted_whatever_slots_splits_and_spills_there_are() {
    let bed = Bed::new();
    let text = text(10_000);
    let cut = text[..text.len() / 3].rfind('\n').unwrap() + 1;
    bed.write("in/a", &text[..cut]);
    bed.write("in/b", &text[cut..]);
    let said = run("wordcount", &[], &[&bed.at("in"), &bed.at("out")]);
    assert!(said.contains("MAP_INPUT_RECORDS=10000"), "{said}");
    assert_eq!(bed.read("out/part-r-00000"), counted(&text));
    assert_eq!(bed.read("out/_SUCCESS"), "");
    let small = [
        "-D",
        "mapreduce.input.fileinputformat.split.maxsize=100000",
        "-D",
        "gerbil.split.pack=1",
    ];
    let tight = ["-D", "mapreduce.task.io.sort.mb=1", "--slots", "3"];
    run(
        "wordcount",
        &[small.as_slice(), &tight].concat(),
        &[&bed.at("in"), &bed.at("out2")],
    );
    assert_eq!(bed.read("out2/part-r-00000"), counted(&text));
    run(
        "wordcount",
        &["--reduces", "3"],
        &[&bed.at("in"), &bed.at("out3")],
    );
    let mut lines: Vec<&str> = Vec::new();
    let parts = bed.parts("out3");
    lines.extend(std::str::from_utf8(&parts).unwrap().lines());
    lines.sort_unstable();
    assert_eq!(lines.join("\n") + "\n", counted(&text));
}

/// The first job that README shows is the example, which the tests run: letter for letter but for line breaks.
#[test]
fn the_first_job_of_the_readme_is_what_runs_here() {
    let readme = include_str!("../../README.md");
    let shown = readme.split("```rust,no_run\n").nth(1).unwrap();
    let shown = shown.split("```").next().unwrap();
    let example = include_str!("../../examples/wordcount.rs");
    let letters = |text: &str| -> String {
        let code = text.lines().filter(|line| !line.starts_with("//!"));
        code.flat_map(str::chars)
            .filter(|letter| !letter.is_whitespace())
            .collect()
    };
    assert_eq!(letters(shown), letters(example));
    assert!(shown.lines().count() <= 20, "that is not twenty lines");
}

/// Map output is compressed where that is asked for, and here not without being asked: memory is faster.
#[test]
fn map_output_is_compressed_when_it_is_asked_for() {
    let bed = Bed::new();
    let text = text(10_000);
    bed.write("in", &text);
    let bytes = |options: &[&str], out: &str| -> u64 {
        let said = run("invertedindex", options, &[&bed.at("in"), &bed.at(out)]);
        let (_, rest) = said.split_once("MAP_OUTPUT_MATERIALIZED_BYTES=").unwrap();
        rest.lines().next().unwrap().parse().unwrap()
    };
    let plain = bytes(&[], "plain");
    let asked = bytes(&["-D", "mapreduce.map.output.compress=true"], "asked");
    assert!(asked * 2 < plain, "{asked} and {plain} bytes");
    assert_eq!(bed.parts("asked"), bed.parts("plain"));
}

#[test]
fn small_and_odd_inputs() {
    let bed = Bed::new();
    bed.write("empty", "");
    run("wordcount", &[], &[&bed.at("empty"), &bed.at("out1")]);
    assert_eq!(bed.read("out1/part-r-00000"), "");
    bed.write("one", "word");
    run(
        "wordcount",
        &["--reduces", "5"],
        &[&bed.at("one"), &bed.at("out2")],
    );
    assert_eq!(bed.parts("out2"), b"word\t1\n");
    run(
        "wordcount",
        &["--reduces", "0"],
        &[&bed.at("one"), &bed.at("out3")],
    );
    assert_eq!(bed.read("out3/part-m-00000"), "word\t1\n");
    for number in 0..2000 {
        bed.write(&format!("many/{number:05}"), "x\n");
    }
    let said = run("wordcount", &[], &[&bed.at("many"), &bed.at("out4")]);
    assert!(said.contains("1 map "), "{said}");
    assert_eq!(bed.parts("out4"), b"x\t2000\n");
    bed.write("equal", "same same\n".repeat(20_000));
    run(
        "invertedindex",
        &["-D", "mapreduce.task.io.sort.mb=1"],
        &[&bed.at("equal"), &bed.at("out5")],
    );
    assert_eq!(
        bed.read("out5/part-r-00000"),
        format!("same\t{}\n", bed.at("equal"))
    );
}

#[test]
fn compressed_input_and_output() {
    let bed = Bed::new();
    let text = text(2000);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    bed.write("in/a.gz", gzip.finish().unwrap());
    bed.write("in/b.zst", zstd::encode_all(text.as_bytes(), 1).unwrap());
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(text.as_bytes()).unwrap();
    bed.write("in/c.bz2", bzip2.finish().unwrap());
    bed.write("in/none.gz", "");
    // As `cat` joins two files; in capitals; and with zeros behind it, as tapes and some tools leave them.
    let (half, rest) = text.split_at(text.find('\n').unwrap() + 1);
    let zlib = |part: &str| {
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(part.as_bytes()).unwrap();
        zlib.finish().unwrap()
    };
    bed.write("in/d.deflate", [zlib(half), zlib(rest)].concat());
    std::fs::copy(bed.path("in/a.gz"), bed.path("in/E.GZ")).unwrap();
    let mut padded = std::fs::read(bed.path("in/c.bz2")).unwrap();
    padded.extend([0; 100]);
    bed.write("in/f.bz2", padded);
    let expected = counted(&text.repeat(6));
    run("wordcount", &[], &[&bed.at("in"), &bed.at("out")]);
    assert_eq!(bed.read("out/part-r-00000"), expected);
    for (codec, ending) in [
        ("gzip", "gz"),
        ("bzip2", "bz2"),
        ("zstd", "zst"),
        ("deflate", "deflate"),
        ("lz4", "lz4"),
        ("org.apache.hadoop.io.compress.SnappyCodec", "snappy"),
    ] {
        let codec = format!("mapreduce.output.fileoutputformat.compress.codec={codec}");
        let options = [
            "-D",
            "mapreduce.output.fileoutputformat.compress=true",
            "-D",
            &codec,
        ];
        let out = format!("out-{ending}");
        run("wordcount", &options, &[&bed.at("in"), &bed.at(&out)]);
        assert!(bed.path(&format!("{out}/part-r-00000.{ending}")).exists());
        // Each word once more: so what was written is read back.
        run(
            "wordcount",
            &[],
            &[&bed.at(&out), &bed.at(&format!("again-{ending}"))],
        );
        assert!(
            bed.read(&format!("again-{ending}/part-r-00000"))
                .contains("word7\t1\n")
        );
    }
    // Whichever byte of a Zstandard file is changed, that is found.
    let whole = std::fs::read(bed.path("out-zst/part-r-00000.zst")).unwrap();
    for at in (16..whole.len()).step_by(97) {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        assert!(
            zstd::decode_all(changed.as_slice()).is_err(),
            "byte {at} of {}",
            whole.len()
        );
    }
}

#[test]
fn teragen_terasort_teravalidate() {
    let bed = Bed::new();
    run(
        "tera",
        &["--job", "teragen", "-D", "mapreduce.job.maps=3"],
        &["20000", &bed.at("gen")],
    );
    let generated = bed.parts("gen");
    assert_eq!(generated.len(), 2_000_000);
    let small = [
        "-D",
        "mapreduce.task.io.sort.mb=1",
        "-D",
        "mapreduce.input.fileinputformat.split.maxsize=300000",
    ];
    run(
        "tera",
        &[small.as_slice(), &["--job", "terasort", "--reduces", "3"]].concat(),
        &[&bed.at("gen"), &bed.at("sorted")],
    );
    let mut records: Vec<&[u8]> = generated.chunks(100).collect();
    records.sort_by(|a, b| a[..10].cmp(&b[..10]));
    assert!(
        bed.parts("sorted") == records.concat(),
        "the sorted records are not those of a stable sort"
    );
    run(
        "tera",
        &["--job", "teravalidate"],
        &[&bed.at("sorted"), &bed.at("valid")],
    );
    run(
        "tera",
        &["--job", "teravalidate"],
        &[&bed.at("gen"), &bed.at("invalid")],
    );
    // The checksum that Hadoop 3.4.2's own TeraValidate tells of 3,000 rows of its own TeraGen.
    run("tera", &["--job", "teragen"], &["3000", &bed.at("few")]);
    run(
        "tera",
        &["--job", "terasort"],
        &[&bed.at("few"), &bed.at("few-sorted")],
    );
    run(
        "tera",
        &["--job", "teravalidate"],
        &[&bed.at("few-sorted"), &bed.at("few-valid")],
    );
    assert_eq!(
        bed.read("few-valid/part-r-00000"),
        "checksum\t5df74ac0097\n"
    );
    let valid = bed.read("valid/part-r-00000");
    assert!(
        valid.starts_with("checksum\t") && valid.lines().count() == 1,
        "{valid}"
    );
    let invalid = bed.read("invalid/part-r-00000");
    assert!(
        invalid.starts_with(&valid) && invalid.contains("error\tmisorder in part-m-00000 between"),
        "{invalid}"
    );
}

#[test]
fn the_other_examples() {
    let bed = Bed::new();
    bed.write("logs", "dfs.a dfs.b\ndfs.a\nnothing\n");
    run(
        "grep",
        &["--pattern", "dfs[a-z.]+"],
        &[&bed.at("logs"), &bed.at("grep")],
    );
    assert_eq!(bed.read("grep/part-r-00000"), "2\tdfs.a\n1\tdfs.b\n");
    bed.write("lines", "pear\nfig\n\napple\nfig\n");
    run("sortlines", &[], &[&bed.at("lines"), &bed.at("sorted")]);
    assert_eq!(bed.read("sorted/part-r-00000"), "\napple\nfig\nfig\npear\n");
    bed.write("pairs", "3 2\n1 5\n3 1\n1 -4\n");
    run(
        "secondarysort",
        &[],
        &[&bed.at("pairs"), &bed.at("secondary")],
    );
    let line = "-".repeat(48);
    assert_eq!(
        bed.read("secondary/part-r-00000"),
        format!("{line}\t\n1\t-4\n1\t5\n{line}\t\n3\t1\n3\t2\n")
    );
    bed.write("users", "1\tann\n2\tbob\n");
    bed.write("orders", "2\tink\n1\tpen\n2\tcap\n3\tcup\n");
    run(
        "join",
        &["--orders", &bed.at("orders")],
        &[&bed.at("users"), &bed.at("join")],
    );
    assert_eq!(
        bed.read("join/part-r-00000"),
        "1\tann\tpen\n2\tbob\tink\n2\tbob\tcap\n"
    );
    let (code, said) = program("pi", &["--local", "--quiet"], &["4", "1000"], &[]);
    assert!(
        code == 0 && said.starts_with("Estimated value of Pi is 3.14"),
        "{said}"
    );
    bed.write("points", "0,0\n10,10\n0,2\n10,12\n2,0\n12,10\n");
    run(
        "kmeans",
        &["--k", "2"],
        &[&bed.at("points"), &bed.at("kmeans")],
    );
    let last = (0..)
        .take_while(|round| bed.path(&format!("kmeans/round-{round}")).exists())
        .last()
        .unwrap();
    let centres = bed.read(&format!("kmeans/round-{last}/part-r-00000"));
    assert_eq!(centres.lines().count(), 2, "{centres}");
}

#[test]
fn lines_of_a_file_are_dealt_by_number() {
    let bed = Bed::new();
    bed.write("in", "a\nb\nc\nd\ne\n");
    let report = bed.at("report.json");
    run(
        "wordcount",
        &["--report", &report],
        &[&bed.at("in"), &bed.at("out")],
    );
    let report = bed.read("report.json");
    assert!(
        report.contains("\"MAP_INPUT_RECORDS\": 5") && report.contains("\"maps\": 1"),
        "{report}"
    );
}
