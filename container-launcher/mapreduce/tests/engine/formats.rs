//! Formats, each in a whole job.

use crate::program::{Bed, program};

#[cfg(test)]
fn run(job: &str, options: &[&str], operands: &[&str]) -> (i32, String) {
    program(
        "formats",
        &[&["--local", "--quiet", "--job", job], options].concat(),
        operands,
        &[],
    )
}

#[test]
fn n_lines_go_to_each_map() {
    let bed = Bed::new();
    bed.write("in", "a\nb\nc\nd\ne\n");
    let lines = ["-D", "mapreduce.input.lineinputformat.linespermap=2"];
    let (code, said) = run("nlines", &lines, &[&bed.at("in"), &bed.at("out")]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(
        bed.read("out/part-r-00000"),
        "0\ta\n0\tb\n1\tc\n1\td\n2\te\n"
    );
}

#[test]
fn keys_and_values_are_parted_at_the_first_separator() {
    let bed = Bed::new();
    bed.write("in", "b=1=2\na\nc=\n");
    let separator = [
        "-D",
        "mapreduce.input.keyvaluelinerecordreader.key.value.separator==",
    ];
    let (code, said) = run("keyvalue", &separator, &[&bed.at("in"), &bed.at("out")]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(bed.read("out/part-r-00000"), "a\t\nb\t1=2\nc\t\n");
}

#[test]
fn whole_files_are_records_and_side_files_come_with_the_output() {
    let bed = Bed::new();
    bed.write("in/one", "1\n2\n3");
    bed.write("in/two", "");
    let (code, said) = run("whole", &[], &[&bed.at("in"), &bed.at("out")]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(bed.parts("out"), b"one\t5\ntwo\t0\n");
    let read = |map: u32| bed.read(&format!("out/read-m-0000{map}"));
    assert_eq!([read(0), read(1)], ["one\n", "two\n"]);
}

#[test]
fn sequence_files_go_there_and_back_and_a_short_one_is_named() {
    let bed = Bed::new();
    let text: String = (0..60_000).map(|n| format!("line {n}\n")).collect();
    bed.write("in", &text);
    let (code, said) = run("writeseq", &[], &[&bed.at("in"), &bed.at("seq")]);
    assert_eq!(code, 0, "{said}");
    let small = ["-D", "mapreduce.input.fileinputformat.split.maxsize=200000"];
    let (code, said) = run("readseq", &small, &[&bed.at("seq"), &bed.at("out")]);
    assert_eq!(code, 0, "{said}");
    let back = String::from_utf8(bed.parts("out")).unwrap();
    let words: String = back
        .lines()
        .map(|line| format!("{}\n", line.split_once('\t').unwrap().1))
        .collect();
    assert!(words == text, "the lines are not the same");

    let whole = std::fs::read(bed.path("seq/part-m-00000")).unwrap();
    bed.write("short", &whole[..whole.len() - 7]);
    let (code, said) = run("readseq", &[], &[&bed.at("short"), &bed.at("none")]);
    assert!(
        code == 1 && said.contains("short: the SequenceFile is cut off in the record at byte"),
        "{said}"
    );
    bed.write("head", &whole[..40]);
    let (code, said) = run("readseq", &[], &[&bed.at("head"), &bed.at("none")]);
    assert!(
        code == 1 && said.contains("the header of this SequenceFile is broken"),
        "{said}"
    );
    let little = ["-D", "gerbil.record.max=10"];
    let (code, said) = run("readseq", &little, &[&bed.at("seq"), &bed.at("none")]);
    let words = "bytes where 10 are the most: raise gerbil.record.max";
    assert!(code == 1 && said.contains(words), "{said}");
    assert!(said.contains("part-m-00000: the record at byte "), "{said}");
    assert!(!bed.path("none").exists());
}

#[test]
fn values_of_sequence_files_are_compressed_as_settings_say() {
    let bed = Bed::new();
    bed.write("in", "one line\nanother\n");
    let output = "mapreduce.output.fileoutputformat.compress";
    for (codec, kind, class) in [
        ("", "", "DefaultCodec"),
        ("gzip", "RECORD", "GzipCodec"),
        ("deflate", "", "DefaultCodec"),
        ("org.apache.hadoop.io.compress.BZip2Codec", "", "BZip2Codec"),
        ("zstd", "", "ZStandardCodec"),
        ("lz4", "", "Lz4Codec"),
        (
            "org.apache.hadoop.io.compress.SnappyCodec",
            "RECORD",
            "SnappyCodec",
        ),
        ("gzip", "NONE", ""),
        ("", "BLOCK", "DefaultCodec"),
        ("gzip", "BLOCK", "GzipCodec"),
        ("bzip2", "BLOCK", "BZip2Codec"),
        ("zstd", "BLOCK", "ZStandardCodec"),
        ("lz4", "BLOCK", "Lz4Codec"),
        ("snappy", "BLOCK", "SnappyCodec"),
    ] {
        let (seq, out) = (format!("{codec}{kind}-seq"), format!("{codec}{kind}-out"));
        let settings = [
            format!("{output}=true"),
            format!("{output}.codec={codec}"),
            format!("{output}.type={kind}"),
        ];
        let options: Vec<&str> = settings
            .iter()
            .flat_map(|setting| ["-D", setting])
            .collect();
        let (code, said) = run("writeseq", &options, &[&bed.at("in"), &bed.at(&seq)]);
        assert_eq!(code, 0, "{said}");
        let written = std::fs::read(bed.path(&seq).join("part-m-00000")).unwrap();
        let head = String::from_utf8_lossy(&written);
        assert_eq!(head.contains("Codec"), !class.is_empty(), "{head}");
        assert!(head.contains(class), "{class}: {head}");
        let (code, said) = run("readseq", &[], &[&bed.at(&seq), &bed.at(&out)]);
        assert_eq!(code, 0, "{said}");
        assert_eq!(bed.parts(&out), b"0\tone line\n9\tanother\n", "{class}");
    }
}

/// Three SequenceFiles of many records, and each split of what they are packed into begins within one of them.
#[test]
fn sequence_files_in_a_sequence_file_of_the_same_types_are_its_values() {
    let bed = Bed::new();
    let writables = |job: &str, options: &[&str], from: &str, to: &str| {
        let job = ["--local", "--quiet", "--job", job, "--types", "text-bytes"];
        let (code, said) = program(
            "writables",
            &[&job, options].concat(),
            &[&bed.at(from), &bed.at(to)],
            &[],
        );
        assert_eq!(code, 0, "{said}");
    };
    for inner in 0..3 {
        let rows: String = (0..9000)
            .map(|n| format!("key {n}\tvalue {n} of {inner}\n"))
            .collect();
        bed.write(&format!("in/{inner}"), rows);
    }
    let apart = ["-D", "gerbil.split.pack=1"];
    writables("write", &apart, "in", "inner");
    let inner = |number: u32| std::fs::read(bed.path(&format!("inner/part-m-0000{number}")));
    let inner: Vec<Vec<u8>> = (0..3).map(|number| inner(number).unwrap()).collect();
    writables("pack", &[], "inner", "packed");
    let cut = "mapreduce.input.fileinputformat.split.maxsize=150000";
    writables(
        "read",
        &[&apart[..], &["-D", cut]].concat(),
        "packed",
        "out",
    );
    let shown: String = (0_u32..)
        .zip(&inner)
        .map(|(number, bytes)| {
            let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let path = bed.at(&format!("inner/part-m-0000{number}"));
            format!("{path}\t{}\n", pairs.join(" "))
        })
        .collect();
    let found = bed.parts("out");
    let lines = found.split_inclusive(|byte| *byte == b'\n').count();
    assert!(
        found == shown.as_bytes(),
        "{lines} records where 3 were packed"
    );

    // Whoever wants the same bytes again names a seed.
    let seeded = ["-D", "gerbil.sequencefile.seed=ours"];
    let written = || {
        writables("write", &seeded, "in/0", "again");
        let written = std::fs::read(bed.path("again/part-m-00000")).unwrap();
        std::fs::remove_dir_all(bed.path("again")).unwrap();
        written
    };
    let (first, second) = (written(), written());
    assert!(first == second, "the same seed gives other bytes");
    assert_eq!(first.len(), inner[0].len());
    assert!(first != inner[0], "chance gives the same bytes");
}

/// Splits smaller than a block and larger ones, and blocks of one record.
#[test]
fn blocks_of_sequence_files_are_cut_into_splits_and_a_broken_one_is_named() {
    let bed = Bed::new();
    let text: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    bed.write("in", &text);
    let output = "mapreduce.output.fileoutputformat.compress";
    let (compress, block) = (format!("{output}=true"), format!("{output}.type=BLOCK"));
    let lines = |out: &str| -> String {
        let back = String::from_utf8(bed.parts(out)).unwrap();
        let words = back.lines().map(|line| line.split_once('\t').unwrap().1);
        words.map(|words| format!("{words}\n")).collect()
    };
    for (size, most) in [
        ("1000000", 9000),
        ("30000", 5000),
        ("30000", 40_000),
        ("1", 100_000),
    ] {
        let seq = format!("seq-{size}-{most}");
        let bytes = format!("io.seqfile.compress.blocksize={size}");
        let options = ["-D", &compress, "-D", &block, "-D", &bytes];
        let (code, said) = run("writeseq", &options, &[&bed.at("in"), &bed.at(&seq)]);
        assert_eq!(code, 0, "{said}");
        let most = format!("mapreduce.input.fileinputformat.split.maxsize={most}");
        let small = ["-D", &most, "-D", "gerbil.split.pack=1"];
        let out = format!("out-{seq}");
        let (code, said) = run("readseq", &small, &[&bed.at(&seq), &bed.at(&out)]);
        assert_eq!(code, 0, "{said}");
        assert!(lines(&out) == text, "{seq}: the lines are not the same");
    }

    let whole = std::fs::read(bed.path("seq-30000-5000/part-m-00000")).unwrap();
    bed.write("short", &whole[..whole.len() - 7]);
    let (code, said) = run("readseq", &[], &[&bed.at("short"), &bed.at("none")]);
    let words = "short: the SequenceFile is cut off in the block at byte ";
    assert!(code == 1 && said.contains(words), "{said}");
    let mut broken = whole;
    let middle = broken.len() / 2;
    broken[middle..middle + 40].fill(0xAA);
    bed.write("broken", &broken);
    let (code, said) = run("readseq", &[], &[&bed.at("broken"), &bed.at("none")]);
    let words = "of this SequenceFile is broken";
    assert!(
        code == 1 && said.contains(words) && said.contains("broken: the "),
        "{said}"
    );
    let little = ["-D", "gerbil.record.max=10"];
    let (code, said) = run(
        "readseq",
        &little,
        &[&bed.at("seq-1-100000"), &bed.at("none")],
    );
    let words = "where 10 are the most: raise gerbil.record.max";
    assert!(code == 1 && said.contains(words), "{said}");
}

#[test]
fn the_data_of_a_map_file_are_read_and_not_its_index() {
    let bed = Bed::new();
    bed.write("one", "one line\nanother\n");
    bed.write("two", "more\n");
    for (part, input) in ["one", "two"].iter().enumerate() {
        let seq = format!("{input}-seq");
        let (code, said) = run("writeseq", &[], &[&bed.at(input), &bed.at(&seq)]);
        assert_eq!(code, 0, "{said}");
        let written = std::fs::read(bed.path(&seq).join("part-m-00000")).unwrap();
        bed.write(&format!("maps/part-r-0000{part}/data"), &written);
        // One of other types, as far as the format is concerned.
        bed.write(&format!("maps/part-r-0000{part}/index"), "SEQ\x06");
    }
    let all = "0\tone line\n9\tanother\n0\tmore\n";
    let one = "0\tone line\n9\tanother\n";
    for (input, wanted) in [("maps", all), ("maps/*", all), ("maps/part-r-00000", one)] {
        let out = format!("out-{}", input.len());
        let (code, said) = run("readseq", &[], &[&bed.at(input), &bed.at(&out)]);
        assert_eq!(code, 0, "{said}");
        assert_eq!(bed.parts(&out), wanted.as_bytes(), "{input}");
    }
    // Of no other format's is such a folder anything but a folder.
    let (code, said) = run("keyvalue", &[], &[&bed.at("maps"), &bed.at("none")]);
    let words = "maps/part-r-00000 is a folder inside of an input folder: --recursive";
    assert!(code == 64 && said.contains(words), "{code}: {said}");
}

/// `tests/hadoop` holds what Hadoop 3.4.2's own `Sort` made of `lines.txt`: plain, its records compressed, with zlib,
/// Snappy and LZ4, in blocks.
#[test]
fn hadoops_own_sequence_files_are_read() {
    let bed = Bed::new();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hadoop");
    let text = std::fs::read_to_string(format!("{folder}/lines.txt")).unwrap();
    let mut offset = 0;
    let wanted: String = text
        .split_inclusive('\n')
        .map(|line| {
            let row = format!("{offset}\t{line}");
            offset += line.len();
            row
        })
        .collect();
    for kind in ["plain", "record", "snappy", "lz4", "block"] {
        let (code, said) = run(
            "readseq",
            &[],
            &[&format!("{folder}/{kind}.seq"), &bed.at(kind)],
        );
        assert_eq!(code, 0, "{said}");
        assert_eq!(bed.read(&format!("{kind}/part-m-00000")), wanted);
    }
}

/// What the linker, link-time optimization and strip leave of what stages need.
#[test]
fn needs_are_read_out_of_a_stripped_executable() {
    let bed = Bed::new();
    let module = concat!(env!("CARGO_MANIFEST_DIR"), "/src/needs.rs");
    bed.write(
        "job.rs",
        format!(
            "#[path = {module:?}]\nmod needs;\nstruct Words;\nneeds!(Words, map, \"gpu\");\nstruct Sums;\n\
             needs!(Sums, reduce, \"acc/kmeans-reduce\");\nfn main() {{}}\n"
        ),
    );
    let program = bed.path("job");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let built = std::process::Command::new(rustc)
        .args([
            "--edition=2024",
            "-Copt-level=3",
            "-Clto=fat",
            "-Cstrip=symbols",
        ])
        .arg("-Clink-arg=-Wl,--gc-sections")
        .arg(bed.path("job.rs"))
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let file = std::fs::read(program).unwrap();
    let found = String::from_utf8(section(&file, "gerbil_needs").unwrap().to_vec()).unwrap();
    let mut lines: Vec<&str> = found.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "{\"stage\":\"map\",\"type\":\"Words\",\"need\":\"gpu\"}",
            "{\"stage\":\"reduce\",\"type\":\"Sums\",\"need\":\"acc/kmeans-reduce\"}",
        ]
    );
}

/// A section of an ELF file of 64 bits, little-endian.
#[cfg(test)]
fn section<'a>(file: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let number = |at: usize, bytes: usize| {
        let read = file.get(at..at + bytes)?;
        let value = read
            .iter()
            .rev()
            .fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
        usize::try_from(value).ok()
    };
    let (table, size, count, names) = (
        number(40, 8)?,
        number(58, 2)?,
        number(60, 2)?,
        number(62, 2)?,
    );
    let content = |index: usize| {
        let head = table + index * size;
        file.get(number(head + 24, 8)?..)?
            .get(..number(head + 32, 8)?)
    };
    let names = content(names)?;
    (0..count)
        .find(|index| {
            let at = number(table + index * size, 4).unwrap_or(0);
            names
                .get(at..)
                .and_then(|it| it.split(|byte| *byte == 0).next())
                == Some(name.as_bytes())
        })
        .and_then(content)
}
