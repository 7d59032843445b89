//! Files that come and go through pipes: each job leaves what it leaves with files at hand, byte for byte.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use gerbil_task::{Connection, FromTask, MapOrder, Page, Piece, ToTask, VERSION, Welcome};

use crate::program::{Bed, example, program};

/// The files of an output, but for what its launcher adds.
#[cfg(test)]
fn files(bed: &Bed, out: &str) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for file in std::fs::read_dir(bed.path(out)).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        files.insert(name, std::fs::read(path).unwrap());
    }
    files.remove("_SUCCESS");
    files
}

/// Runs a job with files and with pipes; its output in both cases.
#[cfg(test)]
fn both(
    bed: &Bed,
    name: &str,
    options: &[&str],
    input: &str,
    out: &str,
) -> BTreeMap<String, Vec<u8>> {
    // One seed and one output: SequenceFiles have the same syncs.
    let options = &[&["-D", "gerbil.sequencefile.seed=both"], options].concat()[..];
    let local = [&["--local", "--quiet"], options].concat();
    let (code, said) = program(name, &local, &[input, &bed.at(out)], &[]);
    assert_eq!(code, 0, "{said}");
    let ordinary = format!("{out}-files");
    std::fs::rename(bed.path(out), bed.path(&ordinary)).unwrap();
    let done = Command::new(example("launch"))
        .args(["--pipes", "--drive"])
        .arg(example(name))
        .args(options)
        .args([input, &bed.at(out)])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{name} {options:?}: {said}");
    let (ordinary, piped) = (files(bed, &ordinary), files(bed, out));
    assert!(!piped.is_empty());
    assert!(
        ordinary == piped,
        "{name} {options:?}: {:?} with files, {:?} with pipes differ",
        lengths(&ordinary),
        lengths(&piped)
    );
    piped
}

#[cfg(test)]
fn lengths(files: &BTreeMap<String, Vec<u8>>) -> Vec<(&str, usize)> {
    files
        .iter()
        .map(|(name, content)| (name.as_str(), content.len()))
        .collect()
}

/// Text of so many lines, with words that come often and words that come once.
#[cfg(test)]
fn text(lines: u32) -> String {
    (0..lines)
        .map(|line| format!("the word{} of line{line}\n", line * 31 % 97))
        .collect()
}

#[cfg(test)]
const CUT: [&str; 4] = [
    "-D",
    "mapreduce.input.fileinputformat.split.maxsize=100000",
    "-D",
    "gerbil.split.pack=1",
];

#[test]
fn text_compressed_or_not_and_output_with_each_codec() {
    let bed = Bed::new();
    let text = text(8_000);
    bed.write("in/a", &text);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    bed.write("in/b.gz", gzip.finish().unwrap());
    bed.write("in/empty", "");
    bed.write("in/none.gz", "");
    let reduces = [CUT.as_slice(), &["--reduces", "3"]].concat();
    let parts = both(&bed, "wordcount", &reduces, &bed.at("in"), "plain");
    assert_eq!(parts.len(), 3);
    for codec in ["gzip", "bzip2", "zstd", "deflate", "lz4", "snappy"] {
        let codec_is = format!("mapreduce.output.fileoutputformat.compress.codec={codec}");
        let compressed = [
            "-D",
            "mapreduce.output.fileoutputformat.compress=true",
            "-D",
            &codec_is,
        ];
        both(&bed, "wordcount", &compressed, &bed.at("in"), codec);
    }
}

#[test]
fn lines_pairs_whole_files_and_side_files() {
    let bed = Bed::new();
    bed.write("in/a", text(3000));
    bed.write("in/b", "no end of line");
    let lines = ["-D", "mapreduce.input.lineinputformat.linespermap=1000"];
    let input = bed.at("in");
    both(
        &bed,
        "formats",
        &[&["--job", "nlines"], lines.as_slice()].concat(),
        &input,
        "n",
    );
    both(
        &bed,
        "formats",
        &[&["--job", "keyvalue"], CUT.as_slice()].concat(),
        &input,
        "kv",
    );
    let whole = both(&bed, "formats", &["--job", "whole"], &input, "whole");
    assert_eq!(whole["read-m-00001"], b"b\n");
}

#[test]
fn sequence_files_compressed_or_not() {
    let bed = Bed::new();
    bed.write("in", text(15_000));
    for compress in ["false", "true"] {
        let compress_is = format!("mapreduce.output.fileoutputformat.compress={compress}");
        let options = ["--job", "writeseq", "-D", &compress_is];
        let seq = format!("seq-{compress}");
        both(&bed, "formats", &options, &bed.at("in"), &seq);
        let out = format!("text-{compress}");
        let options = [&["--job", "readseq"], CUT.as_slice()].concat();
        let parts = both(&bed, "formats", &options, &bed.at(&seq), &out);
        assert!(parts.len() > 2, "{} splits are not many", parts.len());
    }
}

/// Records of a fixed length in and out, and a sample of them through pipes, too.
#[test]
fn records_of_a_fixed_length_are_sorted_as_a_sample_says() {
    let bed = Bed::new();
    let generate = ["--job", "teragen", "-D", "mapreduce.job.maps=3"];
    both(&bed, "tera", &generate, "6000", "rows");
    let sort = [&["--job", "terasort", "--reduces", "3"], CUT.as_slice()].concat();
    let sorted = both(&bed, "tera", &sort, &bed.at("rows"), "sorted");
    assert!(sorted.values().all(|part| part.len() > 100_000));
    both(
        &bed,
        "tera",
        &["--job", "teravalidate"],
        &bed.at("sorted"),
        "valid",
    );
}

#[test]
fn a_pipe_that_ends_too_early_is_named() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut task = Command::new(example("wordcount"))
        .env("GERBIL_ROLE", "task")
        .env("GERBIL_LAUNCHER", std::process::id().to_string())
        .stdin(OwnedFd::from(theirs))
        .spawn()
        .unwrap();
    let mut connection = Connection::new(ours);
    let hello = connection.receive().unwrap();
    assert!(matches!(hello, FromTask::Hello { .. }));
    let (_page, page) = Page::create().unwrap();
    let folder = std::fs::File::open("/tmp").unwrap();
    let welcome = ToTask::Welcome(Welcome {
        version: VERSION,
        job: "wordcount".to_owned(),
        ..Welcome::default()
    });
    connection
        .send_with(&welcome, &[page.as_fd(), folder.as_fd()])
        .unwrap();
    let order = ToTask::Map(MapOrder {
        task: 0,
        attempt: 0,
        partitions: 1,
        pieces: vec![Piece {
            name: "far/away".to_owned(),
            offset: 1000,
            length: 50,
            size: 2000,
        }],
        skip: Vec::new(),
    });
    connection.send(&order).unwrap();
    let asked = connection.receive().unwrap();
    assert!(
        matches!(
            asked,
            FromTask::OpenInput {
                piece: 0,
                from: 1000
            }
        ),
        "{asked:?}"
    );
    let (read, mut write) = std::io::pipe().unwrap();
    connection
        .send_with(&ToTask::Streamed, &[read.as_fd()])
        .unwrap();
    write.write_all(b"a line\nand no").unwrap();
    drop((read, write));
    let FromTask::Failed { sentence, .. } = connection.receive().unwrap() else {
        panic!("it did not fail");
    };
    assert_eq!(sentence, "reading far/away: it ended at byte 1013 of 2000");
    connection.send(&ToTask::Leave).unwrap();
    assert!(task.wait().unwrap().success());
}
