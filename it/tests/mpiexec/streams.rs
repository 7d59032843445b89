//! Input and output: whole, in order, labelled, and held back by whoever reads slowly.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::expect;
use it::memory::Resident;

pub const CASES: &[(&str, Case)] = &[
    ("streams: 100 MB each way, byte for byte", bytes),
    ("streams: lines of many ranks are whole and in order", lines),
    (
        "streams: a line that is too long is cut where it is said",
        long_line,
    ),
    (
        "streams: one rank alone, and patterns before lines",
        one_alone,
    ),
    (
        "streams: a reader that stands still holds the writers, and nothing grows",
        still,
    ),
];

fn bytes(given: &Given) -> Result<()> {
    let script = "f=$(mktemp); trap 'rm -f $f' EXIT; head -c 100000000 /dev/urandom > $f; \
                  \"$@\" < $f | cmp - $f && md5sum < $f | wc -l";
    let finished = given.shell(script, &["-n", "2", "cat"])?.finish()?;
    ensure!(
        finished.code() == 0 && finished.stdout_text() == "1\n",
        "{finished:?}"
    );
    given.is_clean()
}

/// Six ranks write lines of very different lengths, in pieces.
const LINES: &str = "awk -v r=$PMI_RANK 'BEGIN { for (i = 0; i < 3000; i++) { printf \"%d:%d:\", r, i; \
    n = (i * 37 + r * 11) % 400; for (k = 0; k < n; k++) printf \"x\"; \
    if (i % 50 == 0) { fflush() } printf \"%d\\n\", n } }'";

fn lines(given: &Given) -> Result<()> {
    let script = given.script("lines", LINES)?;
    for (option, label) in [(None, false), (Some("-l"), true)] {
        let mut line: Vec<&str> = option.into_iter().collect();
        line.extend(["-n", "6", "-ppn", "2", &script]);
        let finished = given.succeeds(&line)?;
        let text = finished.stdout_text();
        let mut next: BTreeMap<u32, u32> = BTreeMap::new();
        for line in text.lines() {
            let (rank, rest) = match label {
                true => {
                    let (shown, rest) = line.split_once(' ').context(line.to_owned())?;
                    let rank: u32 = shown.trim_matches(['[', ']', ':']).parse()?;
                    (Some(rank), rest)
                }
                false => (None, line),
            };
            let parts: Vec<&str> = rest.splitn(3, ':').collect();
            let [own, number, filling] = parts[..] else {
                anyhow::bail!("torn: {line:?}");
            };
            let own: u32 = own.parse().with_context(|| line.to_owned())?;
            ensure!(rank.is_none_or(|rank| rank == own), "{line:?}");
            let expected = next.entry(own).or_default();
            ensure!(
                number.parse::<u32>()? == *expected,
                "rank {own}: {number}, not {expected}"
            );
            let length = (*expected * 37 + own * 11) % 400;
            let wanted = "x".repeat(length as usize) + &length.to_string();
            ensure!(filling == wanted, "torn: {line:?}");
            *expected += 1;
        }
        ensure!(
            next.len() == 6 && next.values().all(|n| *n == 3000),
            "{next:?}"
        );
    }
    Ok(())
}

fn long_line(given: &Given) -> Result<()> {
    let script = given.script("long", "head -c 140000 /dev/zero | tr '\\0' y; echo")?;
    let finished = given.succeeds(&["-l", "-n", "1", &script])?;
    let text = finished.stdout_text();
    let lengths: Vec<usize> = text.lines().map(|line| line.matches('y').count()).collect();
    ensure!(lengths == [65_536, 65_536, 8928], "{lengths:?}");
    let plain = given.succeeds(&["-n", "1", &script])?.stdout_text();
    ensure!(plain == "y".repeat(140_000) + "\n", "{} bytes", plain.len());
    Ok(())
}

fn one_alone(given: &Given) -> Result<()> {
    let script = given.script("both", "echo out $PMI_RANK; echo err $PMI_RANK >&2")?;
    let finished = given.succeeds(&[
        "-output-from",
        "1",
        "-prepend-pattern",
        "%r of %p on %h> ",
        "-n",
        "2",
        "-ppn",
        "1",
        &script,
    ])?;
    let host = crate::hosts(given);
    let right = |text: &str, what: &str| {
        host.iter()
            .any(|host| text == format!("1 of 1 on {host}> {what} 1\n"))
    };
    ensure!(right(&finished.stdout_text(), "out"), "{finished:?}");
    let stderr = finished.stderr_text();
    // A slow cluster is waited for, and that is said.
    let theirs = stderr.lines().filter(|line| !line.starts_with(expect::OWN));
    let theirs: String = theirs.map(|line| format!("{line}\n")).collect();
    ensure!(right(&theirs, "err"), "{finished:?}");
    Ok(())
}

/// Bound on each of our processes, KiB: a build with debug information is large before it does
/// anything.
const MOST_KIB: u64 = 96 * 1024;

fn still(given: &Given) -> Result<()> {
    let (begun, gate) = (given.folder.join("begun"), given.folder.join("read-on"));
    let script = format!(
        "\"$@\" | {{ head -c 1000 >/dev/null; touch {}; until [ -e {} ]; do sleep 0.1; done; wc -c; }}",
        begun.display(),
        gate.display()
    );
    let flood = given.script(
        "flood-40",
        "yes 0123456789012345678901234567890 | head -c 40000000",
    )?;
    let mut running = given
        .shell(&script, &["-n", "3", "-ppn", "1", &flood])?
        .start()?;
    let late = Instant::now() + DEADLINE;
    while !begun.exists() {
        ensure!(Instant::now() < late, "no output in {DEADLINE:?}");
        std::thread::park_timeout(Duration::from_millis(200));
    }
    let look = |seconds: u64| {
        let mut resident = Resident::default();
        for _ in 0..seconds * 5 {
            resident.look(running.id(), given.cluster.folder());
            std::thread::park_timeout(Duration::from_millis(200));
        }
        resident
    };
    let (first, second) = (look(5), look(3));
    std::fs::write(&gate, "")?;
    running.wait_for_stdout("\n")?;
    let finished = running.finish()?;
    ensure!(finished.code() == 0, "{finished:?}");
    // The first thousand are read apart, in one piece that may be longer.
    let rest: u64 = finished.stdout_text().trim().parse()?;
    ensure!((119_000_000..120_000_000).contains(&rest), "{rest}");
    for role in ["appmaster", "launcher"] {
        let (before, after) = (first.0.get(role), second.0.get(role));
        let (before, after) = before
            .zip(after)
            .with_context(|| format!("{first:?} {second:?}"))?;
        ensure!(
            *after <= MOST_KIB && *after <= before + 4096,
            "{role}: {before}, then {after} KiB"
        );
    }
    given.is_clean()
}
