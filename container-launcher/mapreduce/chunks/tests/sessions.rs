//! Jobs whose maps are engines, as a user runs them on one machine: processes that share a disk and a device, which is PoCL's
//! where there is no GPU.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as the tests do")]

#[path = "../examples/jobs/seeds.rs"]
mod seeds;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CHUNK: u64 = 64 << 10;

/// Runs the example `regression` on `points` in a folder: its exit code, and what it said.
fn regression(folder: &Path, output: &str, settings: &[&str]) -> (i32, String) {
    example(folder, "regression", ["points", output], settings)
}

/// Runs an example from its input to its output.
fn example(folder: &Path, name: &str, files: [&str; 2], settings: &[&str]) -> (i32, String) {
    let test = std::env::current_exe().unwrap();
    let target: PathBuf = test.parent().and_then(Path::parent).unwrap().into();
    let chunk = format!("gpu.chunk={CHUNK}");
    let mut command = Command::new(target.join("examples").join(name));
    for setting in ["gerbil.opencl.processors=true", &chunk]
        .iter()
        .chain(settings)
    {
        match setting.starts_with("--") {
            true => command.arg(setting),
            false => command.args(["-D", setting]),
        };
    }
    let done = command
        .arg("--local")
        .args(files)
        .current_dir(folder)
        .env("GERBIL_DEVICES", "0@gpu0")
        .env("GERBIL_DEVICE_TURNS", folder.join("turns"))
        .env_remove("GERBIL_READ_BROKER")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = [done.stdout, done.stderr].concat();
    (
        done.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

/// The output's sums, and what the processor makes of the same points.
fn compare(text: &str, points: &[u8]) {
    let values: Vec<f64> = seeds::floats(points).map(f64::from).collect();
    for line in text.lines() {
        let (name, found) = line.split_once('\t').unwrap();
        let terms = values.chunks_exact(2).map(|point| match name {
            "n" => 1.0,
            "x" => point[0],
            "y" => point[1],
            "xx" => point[0] * point[0],
            "yy" => point[1] * point[1],
            _ => point[0] * point[1],
        });
        let (found, wanted): (f64, f64) = (found.parse().unwrap(), terms.sum());
        let most = if name == "n" { 0.0 } else { wanted * 1e-5 };
        assert!((found - wanted).abs() <= most, "{line}: {wanted}");
    }
    assert_eq!(text.lines().count(), 6, "{text}");
}

#[test]
fn maps_that_are_engines_share_a_broker_and_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Three maps, of which the last one's last chunk is short.
    let count = CHUNK / 4 * 11 + 2 * 1001;
    let points = seeds::bytes(5, 0, count);
    std::fs::write(folder.join("points"), &points).unwrap();
    let split = format!(
        "mapreduce.input.fileinputformat.split.maxsize={}",
        CHUNK * 4
    );
    let mut before = None;
    for (output, settings) in [
        ("one", vec!["gpu.tasks=1", "gpu.read-order=rr:turn=1"]),
        (
            "two",
            vec!["gpu.tasks=3", "gpu.buffer=kernel", "gpu.io=buffered"],
        ),
    ] {
        let settings: Vec<&str> = settings.into_iter().chain([split.as_str()]).collect();
        let (code, said) = regression(folder, output, &settings);
        assert_eq!(code, 0, "{said}");
        assert!(
            said.contains("3 maps") && said.contains("CHUNKS=12"),
            "{said}"
        );
        let read = format!("BYTES_READ={}", points.len());
        assert!(said.contains(&read), "{said}");
        let text = std::fs::read_to_string(folder.join(output).join("part-r-00000")).unwrap();
        compare(&text, &points);
        assert_eq!(before.get_or_insert_with(|| text.clone()), &text);
    }
    // The last of them has taken it away.
    assert!(!folder.join("turns/gpu0.socket").exists());
}

#[test]
fn what_makes_no_sense_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("points"), [0; 12]).unwrap();
    for (setting, sentence) in [
        (
            "gpu.chunk=5000",
            "gpu.chunk=5000: a multiple of 4096 bytes is wanted",
        ),
        (
            "gpu.buffer=never",
            "gpu.buffer=never: copy or kernel is wanted",
        ),
        ("gpu.tasks=0", "gpu.tasks=0: 1 to 8 are wanted"),
        ("gpu.io=any", "gpu.io=any: direct or buffered is wanted"),
        (
            "gpu.read-timeout=0",
            "gpu.read-timeout=0: seconds above 0 are wanted",
        ),
        ("gpu.read-order=any", "read order \"any\" is not known"),
        ("gpu.tasks=1", "12 bytes from 0 on are no whole points of 8"),
    ] {
        let once = "mapreduce.map.maxattempts=1";
        let (code, said) = regression(folder, "out", &[setting, once]);
        assert!(
            code != 0 && said.contains(sentence),
            "{setting}: {code}: {said}"
        );
    }
}

/// What there is of how many numbers, of which each reduce has its own.
#[test]
fn pairs_that_kernels_emit_are_dealt_by_their_keys_and_reduced() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // The last chunk of the last map is short.
    let words = seeds::bytes(9, 0, CHUNK / 4 * 5 + 77);
    let numbers: Vec<u32> = words
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()).wrapping_mul(0x9E37_79B9))
        .collect();
    let bytes: Vec<u8> = numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    std::fs::write(folder.join("numbers"), &bytes).unwrap();
    let mut wanted = [BTreeMap::new(), BTreeMap::new(), BTreeMap::new()];
    for number in &numbers {
        let bin = number >> 20;
        let part = usize::try_from(bin % 3).unwrap();
        *wanted[part].entry(bin).or_insert(0_u64) += 1;
    }
    let split = format!(
        "mapreduce.input.fileinputformat.split.maxsize={}",
        CHUNK * 3
    );
    for (output, tasks, reduce) in [
        ("one", "gpu.tasks=1", "--reduce=processor"),
        ("three", "gpu.tasks=3", "--reduce=processor"),
        ("device", "gpu.tasks=2", "--reduce=device"),
    ] {
        let settings = [split.as_str(), tasks, reduce, "mapreduce.job.reduces=3"];
        let (code, said) = example(folder, "histogram", ["numbers", output], &settings);
        assert_eq!(code, 0, "{said}");
        assert!(said.contains("CHUNKS=6"), "{said}");
        // A chunk has 8192 values, which are of some of a reduce's keys or of all.
        assert_eq!(said.contains("SEGMENTS="), output == "device", "{said}");
        for (part, wanted) in wanted.iter().enumerate() {
            let file = folder.join(output).join(format!("part-r-{part:05}"));
            let text: String = wanted
                .iter()
                .map(|(bin, count)| format!("{bin}\t{count}\n"))
                .collect();
            assert_eq!(
                std::fs::read_to_string(file).unwrap(),
                text,
                "{output} {part}"
            );
        }
    }
    // A whole chunk has 16384 numbers.
    let settings = ["histogram.bound=16383", "mapreduce.map.maxattempts=1"];
    let (code, said) = example(folder, "histogram", ["numbers", "bound"], &settings);
    let sentence = "the kernel histogram has emitted 16384 pairs of a chunk of 65536 bytes, and its bound is 16383";
    assert!(code != 0 && said.contains(sentence), "{said}");
}
