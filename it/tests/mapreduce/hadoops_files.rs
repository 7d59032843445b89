//! Files that Hadoop's own classes write are read here, and Hadoop's classes read what is written here.
//!
//! Its example `Sort` does both, in its client's process: SequenceFiles become SequenceFiles, and text becomes text.
//! Zstandard alone is not tried in either direction: it needs Hadoop's native library, which no jar has, and the case
//! holds that Hadoop says so. LZ4 takes `lz4-java` beside Hadoop's jars.

use anyhow::{Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::session::stop;
use it::{Run, hadoop};

use crate::{files, program, put, start, succeeds};

pub const CASES: &[(&str, Case)] = &[
    (
        "SequenceFiles of each Writable go to Hadoop's classes and come back, and MapFiles come",
        sequences,
    ),
    (
        "compressed text goes to Hadoop's classes and comes back",
        compressed,
    ),
];

/// Writables of a SequenceFile, and what is in it.
struct Pair {
    /// As the example `writables` calls them.
    types: &'static str,
    key: &'static str,
    value: &'static str,
    /// With what Hadoop compresses the values that it writes.
    codec: &'static str,
    /// And how many records at a time.
    at_once: &'static str,
    rows: u32,
    /// A key, which no other row has, and a value.
    row: fn(i32) -> (String, String),
}

/// More rows than lie between two syncs, or as many as there are bytes.
const ROWS: u32 = 12_000;
const BYTES: u32 = 256;
/// Maps begin and end in the middle.
const CUT: [&str; 4] = [
    "-D",
    "mapreduce.input.fileinputformat.split.maxsize=90000",
    "-D",
    "gerbil.split.pack=1",
];

const PAIRS: &[Pair] = &[
    Pair {
        types: "text-int",
        key: "Text",
        value: "IntWritable",
        codec: "DefaultCodec",
        at_once: "BLOCK",
        rows: ROWS,
        row: |n| {
            (
                format!("é {}", n * 7919 % 100_003),
                n.wrapping_mul(1_640_531_527).to_string(),
            )
        },
    },
    Pair {
        types: "long-double",
        key: "LongWritable",
        value: "DoubleWritable",
        codec: "BZip2Codec",
        at_once: "RECORD",
        rows: 300,
        row: |n| {
            (
                ((i64::from(n) - 150) * 3_000_000_007).to_string(),
                format!("{:?}", f64::from(n) / 8.0),
            )
        },
    },
    Pair {
        types: "bytes-float",
        key: "BytesWritable",
        value: "FloatWritable",
        codec: "SnappyCodec",
        at_once: "BLOCK",
        rows: ROWS,
        row: |n| {
            (
                (n * 7919 % 100_003).to_string(),
                format!("{:?}", f64::from(n) / -4.0),
            )
        },
    },
    Pair {
        types: "int-boolean",
        key: "IntWritable",
        value: "BooleanWritable",
        codec: "Lz4Codec",
        at_once: "BLOCK",
        rows: ROWS,
        row: |n| (((n - 5000) * 77).to_string(), (n % 3 == 0).to_string()),
    },
    Pair {
        types: "double-null",
        key: "DoubleWritable",
        value: "NullWritable",
        codec: "BZip2Codec",
        at_once: "BLOCK",
        rows: ROWS,
        row: |n| {
            let key = match n {
                77 => f64::NAN,
                _ => f64::from(n - 5000) / 8.0,
            };
            (format!("{key:?}"), String::new())
        },
    },
    Pair {
        types: "byte-short",
        key: "ByteWritable",
        value: "ShortWritable",
        codec: "GzipCodec",
        at_once: "BLOCK",
        rows: BYTES,
        row: |n| ((n - 128).to_string(), ((n - 128) * 255).to_string()),
    },
    Pair {
        types: "vint-vlong",
        key: "VIntWritable",
        value: "VLongWritable",
        codec: "",
        at_once: "BLOCK",
        rows: ROWS,
        row: |n| {
            (
                (n - 5000).wrapping_mul(429_497).to_string(),
                (i64::from(n - 6000) << (n % 51)).to_string(),
            )
        },
    },
    Pair {
        types: "vlong-vint",
        key: "VLongWritable",
        value: "VIntWritable",
        codec: "DefaultCodec",
        at_once: "RECORD",
        rows: ROWS,
        row: |n| {
            (
                ((i64::from(n) - 5000) * 1_300_000_000_000_007).to_string(),
                (n - 6000).wrapping_shl(n.unsigned_abs() % 20).to_string(),
            )
        },
    },
];

impl Pair {
    fn rows(&self) -> impl Iterator<Item = (String, String)> {
        (0..).map(self.row).take(self.rows as usize)
    }

    /// The pairs as text output shows them: bytes in pairs of digits, and nothing for nothing.
    fn shown(&self) -> Vec<String> {
        let row = |(key, value): (String, String)| match self.types {
            "bytes-float" => format!("{}\t{value}", hexadecimal(key.as_bytes())),
            "double-null" => key,
            _ => format!("{key}\t{value}"),
        };
        self.rows().map(row).collect()
    }

    /// The same as `hadoop fs -text` shows them.
    fn told(&self) -> String {
        let null = match self.types {
            "double-null" => "\t(null)",
            _ => "",
        };
        let line = |row| format!("{row}{null}\n");
        self.shown().into_iter().map(line).collect()
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    pairs.join(" ")
}

fn sequences(given: &Given) -> Result<()> {
    start(given)?;
    let writables = program("writables")?;
    for pair in PAIRS {
        let at = |name: &str| format!("/sequences/{}/{name}", pair.types);
        let ours = |job: &str, options: &[&str], from: &str, to: &str| -> Result<String> {
            let (from, to) = (at(from), at(to));
            let what = ["--job", job, "--types", pair.types, &from, &to];
            let line = [&["-q"][..], options, &[writables.as_str()], &what].concat();
            succeeds(given, &line)?;
            let parts = files(given, &to)?.into_iter();
            let parts = parts.filter(|(name, _)| name.starts_with("part-"));
            let bytes: Vec<u8> = parts.flat_map(|(_, bytes)| bytes).collect();
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let rows: String = pair
            .rows()
            .map(|(key, value)| format!("{key}\t{value}\n"))
            .collect();
        put(given, &at("in"), &[("rows", &rows)])?;
        ours("write", &[], "in", "plain")?;
        // With the codec that Hadoop compresses with.
        let output = "mapreduce.output.fileoutputformat.compress";
        let codec = match pair.codec {
            "" => "deflate".to_owned(),
            codec => format!("org.apache.hadoop.io.compress.{codec}"),
        };
        let compress = [
            format!("{output}=true"),
            format!("{output}.codec={codec}"),
            format!("{output}.type={}", pair.at_once),
            "io.seqfile.compress.blocksize=40000".to_owned(),
        ];
        let compress: Vec<&str> = compress
            .iter()
            .flat_map(|setting| ["-D", setting])
            .collect();
        ours("write", &compress, "in", "compressed")?;
        let sorted = ours("sort", &CUT, "plain", "sorted")?;
        let mut found: Vec<&str> = sorted.lines().collect();
        found.sort_unstable();
        let mut shown = pair.shown();
        shown.sort_unstable();
        ensure!(found == shown, "{}: other records than before", pair.types);

        let classes = [pair.key, pair.value].map(|name| format!("org.apache.hadoop.io.{name}"));
        let formats = ["SequenceFileInputFormat", "SequenceFileOutputFormat"];
        sort(
            given,
            (pair.codec, pair.at_once),
            formats,
            &classes,
            &at("compressed"),
            &at("theirs"),
        )?;
        let theirs = ours("read", &CUT, "theirs", "back")?;
        ensure!(
            theirs == sorted,
            "{}: Hadoop's records are others",
            pair.types
        );
        if matches!(pair.types, "text-int" | "long-double") {
            let formats = ["SequenceFileInputFormat", "MapFileOutputFormat"];
            let how = (pair.codec, pair.at_once);
            sort(given, how, formats, &classes, &at("plain"), &at("map"))?;
            let found = given.cluster.dfs(&["-ls", "-R", &at("map")])?;
            ensure!(
                found.stdout_text().contains("/map/part-r-00000/index"),
                "no MapFile: {}",
                found.stdout_text()
            );
            let theirs = ours("read", &CUT, "map", "map-back")?;
            ensure!(
                theirs == sorted,
                "{}: records of Hadoop's MapFile are others",
                pair.types
            );
        }
    }
    let plain = |pair: &Pair| format!("/sequences/{}/plain/part-m-00000", pair.types);
    let plain: Vec<String> = PAIRS.iter().map(plain).collect();
    let words: Vec<&str> = ["-text"]
        .into_iter()
        .chain(plain.iter().map(String::as_str))
        .collect();
    let told = given.cluster.dfs(&words)?.stdout_text();
    let wanted: String = PAIRS.iter().map(Pair::told).collect();
    ensure!(told == wanted, "hadoop fs -text shows other records");
    packed(given, &writables)?;
    stop(given, "s")
}

/// SequenceFiles in a SequenceFile of the same types are its values, for Hadoop, too, whose splits begin within them. They
/// are longer than what is compressed at a time.
fn packed(given: &Given, writables: &str) -> Result<()> {
    let at = |name: &str| format!("/sequences/packed/{name}");
    let ours = |job: &str, options: &[&str], from: &str, to: &str| {
        let what = ["--job", job, "--types", "text-bytes", &at(from), &at(to)];
        let line = [&["-q"], &CUT[..], options, &[writables], &what].concat();
        succeeds(given, &line)
    };
    let rows: String = (0..ROWS).map(|n| format!("key {n}\tvalue {n}\n")).collect();
    put(
        given,
        &at("in"),
        &[("a", &rows), ("b", &rows), ("c", &rows)],
    )?;
    ours("write", &[], "in", "inner")?;
    let inner = files(given, &at("inner"))?.into_iter();
    let inner: Vec<String> = inner
        .filter(|(name, _)| name.starts_with("part-"))
        .map(|(_, bytes)| hexadecimal(&bytes))
        .collect();
    let classes = ["Text", "BytesWritable"].map(|name| format!("org.apache.hadoop.io.{name}"));
    let formats = ["SequenceFileInputFormat", "SequenceFileOutputFormat"];
    let output = "mapreduce.output.fileoutputformat.compress";
    for (codec, at_once) in [
        ("", "NONE"),
        ("SnappyCodec", "RECORD"),
        ("Lz4Codec", "BLOCK"),
    ] {
        let to = |name: &str| format!("{name}-{at_once}");
        let compress = [
            format!("{output}={}", !codec.is_empty()),
            format!("{output}.codec=org.apache.hadoop.io.compress.{codec}"),
            format!("{output}.type={at_once}"),
        ];
        let compress: Vec<&str> = match codec {
            "" => Vec::new(),
            _ => compress
                .iter()
                .flat_map(|setting| ["-D", setting])
                .collect(),
        };
        ours("pack", &compress, "inner", &to("packed"))?;
        sort(
            given,
            (codec, at_once),
            formats,
            &classes,
            &at(&to("packed")),
            &at(&to("theirs")),
        )?;
        ours("read", &[], &to("theirs"), &to("back"))?;
        let back: Vec<u8> = files(given, &at(&to("back")))?
            .into_iter()
            .filter(|(name, _)| name.starts_with("part-"))
            .flat_map(|(_, bytes)| bytes)
            .collect();
        let back = String::from_utf8(back)?;
        let values = back
            .lines()
            .map(|line| line.split_once('\t').map_or("", |(_, value)| value));
        ensure!(
            values.eq(inner.iter().map(String::as_str)),
            "{codec} {at_once}: {} files were packed, and {} records are there",
            inner.len(),
            back.lines().count()
        );
    }
    Ok(())
}

fn compressed(given: &Given) -> Result<()> {
    // Several blocks of each codec, of which bzip2's are the longest: 900 kB.
    let row = |n: u32| {
        format!(
            "{:07}\tline {}\n",
            n * 7919 % 1_000_003,
            n.wrapping_mul(2_654_435_761)
        )
    };
    let mut rows: Vec<String> = (0..60_000).map(row).collect();
    put(given, "/compressed/in", &[("rows", &rows.concat())])?;
    rows.sort_unstable();
    let sorted = rows.concat();
    start(given)?;
    let formats = program("formats")?;
    let at = |name: &str| format!("/compressed/{name}");
    let ours = |codec: &str, from: &str, to: &str, part: &str| -> Result<Vec<u8>> {
        let codec = format!("mapreduce.output.fileoutputformat.compress.codec={codec}");
        let compress = format!(
            "mapreduce.output.fileoutputformat.compress={}",
            part.contains('.')
        );
        let options = [
            "-q", "-D", &codec, "-D", &compress, &formats, "--job", "keyvalue",
        ];
        succeeds(given, &[&options[..], &[&at(from), &at(to)]].concat())?;
        let mut left = files(given, &at(to))?;
        ensure!(left.len() == 2, "{:?}", left.keys());
        left.remove(part)
            .ok_or_else(|| anyhow::anyhow!("no {part}"))
    };
    let text = ["org.apache.hadoop.io.Text"; 2].map(str::to_owned);
    let classes = ["KeyValueTextInputFormat", "TextOutputFormat"];
    for (codec, ending, class) in [
        ("gzip", "gz", "GzipCodec"),
        ("bzip2", "bz2", "BZip2Codec"),
        ("deflate", "deflate", "DefaultCodec"),
        ("snappy", "snappy", "SnappyCodec"),
        ("lz4", "lz4", "Lz4Codec"),
    ] {
        ours(codec, "in", ending, &format!("part-r-00000.{ending}"))?;
        sort(
            given,
            (class, "NONE"),
            classes,
            &text,
            &at(ending),
            &at(class),
        )?;
        let back = ours("gzip", class, &format!("{class}-back"), "part-r-00000")?;
        ensure!(
            back == sorted.as_bytes(),
            "{class}: Hadoop's records are others"
        );
    }
    let stored = ours("zstd", "in", "zst", "part-r-00000.zst")?;
    ensure!(stored.len() < sorted.len() / 2, "{} bytes", stored.len());
    let refused = given.cluster.tool(
        "org.apache.hadoop.fs.FsShell",
        &["-text", "/compressed/zst/part-r-00000.zst"],
    );
    let refused = Run::new(refused).deadline(DEADLINE).finish()?;
    // Once it can, the file is to be read above.
    ensure!(
        refused
            .stderr_text()
            .contains("native zStandard library not available"),
        "{refused:?}"
    );
    stop(given, "s")
}

/// Hadoop's `Sort` in a process of its own, of `from` to `to`: with a codec, or none, for so many records at a time,
/// formats for both, and the classes of keys and values.
fn sort(
    given: &Given,
    (codec, at_once): (&str, &str),
    [reads, writes]: [&str; 2],
    [key, value]: &[String; 2],
    from: &str,
    to: &str,
) -> Result<()> {
    let output = "-Dmapreduce.output.fileoutputformat.compress";
    // Splits of SequenceFiles begin in the middle, as they do here.
    let most = match reads {
        "SequenceFileInputFormat" => "90000",
        _ => "134217728",
    };
    let options = [
        format!("-Dmapreduce.input.fileinputformat.split.maxsize={most}"),
        "-Dmapreduce.framework.name=local".to_owned(),
        format!("{output}={}", !codec.is_empty()),
        format!("{output}.type={at_once}"),
        "-Dio.seqfile.compress.blocksize=40000".to_owned(),
        format!("{output}.codec=org.apache.hadoop.io.compress.{codec}"),
    ];
    let reads = format!("org.apache.hadoop.mapreduce.lib.input.{reads}");
    let writes = format!("org.apache.hadoop.mapreduce.lib.output.{writes}");
    let formats = ["-r", "1", "-inFormat", &reads, "-outFormat", &writes];
    let rest = ["-outKey", key, "-outValue", value, from, to];
    let options = options.iter().map(String::as_str);
    let words: Vec<&str> = options.chain(formats).chain(rest).collect();
    let mut command = given
        .cluster
        .tool("org.apache.hadoop.examples.Sort", &words);
    if codec == "Lz4Codec" {
        let jar = hadoop::lz4_jar()?;
        command.env(
            "JDK_JAVA_OPTIONS",
            format!("-Xbootclasspath/a:{}", jar.display()),
        );
    }
    let what = format!("Sort {}", words.join(" "));
    Run::new(command)
        .deadline(DEADLINE)
        .finish()?
        .success(&what)?;
    Ok(())
}
