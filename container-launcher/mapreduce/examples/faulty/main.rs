//! A job whose mapper does what mappers must not, on lines that say so, and whose reducer does on words that do; the
//! tests of failures run it.
//!
//! `cargo run --example faulty -- --local IN OUT`

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

use gerbil_mapreduce::prelude::*;

struct Faulty {
    eaten: Vec<Vec<u8>>,
}

impl Mapper for Faulty {
    type Input = TextLines;
    type Key = Text;
    type Value = u64;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        match line {
            b"params" => {
                let param: u64 = out.params()?;
                out.count("faulty", "param", param);
            }
            b"panic" => assert!(line.is_empty(), "this line is not empty"),
            b"error" => return Err(Error::new("this line is refused")),
            b"long error" => return Err(Error::new("much ".repeat(1 << 20) + "is said")),
            b"own counters" => {
                let map = out.number();
                (0..4000).for_each(|name| out.count("faulty", &format!("{map}.{name}"), 1));
            }
            b"many counters" => {
                (0..100_000).for_each(|name| out.count("faulty", &name.to_string(), 1))
            }
            b"loop" => loop {
                std::hint::spin_loop();
            },
            b"sleep" => std::thread::park_timeout(std::time::Duration::from_millis(300)),
            // Their second attempts find one.
            b"no device" if out.attempt() == 0 => return Err(Error::of_cuda(100, "cuInit")),
            b"exit 86" if out.attempt() == 0 => leave_with(86),
            b"no room" if is_small() => return Err(Error::no_room("512 MiB do not fit")),
            b"abort" => std::process::abort(),
            b"exit" => leave_with(0),
            b"eat" => loop {
                self.eaten.push(vec![1; 1 << 20]);
                std::thread::park_timeout(std::time::Duration::from_millis(1));
            },
            b"print" => writeln!(std::io::stdout(), "this goes to standard output")?,
            b"stdin" => {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text)?;
                out.count("faulty", "read from standard input", text.len() as u64);
            }
            b"chdir" => std::env::set_current_dir("/")?,
            b"fork" => drop(std::process::Command::new("sleep").arg("600").spawn()?),
            b"setsid" => start("setsid", "exec sleep 600")?,
            // Its own parent is gone at once.
            b"daemon" => start("setsid", "sleep 600 &")?,
            b"child eats" => {
                start(
                    "sh",
                    "x=$(head -c 300000000 /dev/zero | tr '\\0' x); sleep 600",
                )?;
                loop {
                    std::thread::park();
                }
            }
            b"long key" => out.emit(&vec![b'k'; 100_000_000], &1)?,
            // Its second attempt does not.
            b"straggle" if out.attempt() == 0 => {
                std::thread::park_timeout(std::time::Duration::from_secs(300));
            }
            b"attempt" if out.attempt() == 0 => std::process::abort(),
            b"grow" => {
                let input = std::fs::OpenOptions::new().append(true).open(out.input());
                input?.write_all(b"more\n")?;
            }
            b"shrink" => std::fs::OpenOptions::new()
                .write(true)
                .open(out.input())?
                .set_len(10)?,
            b"other" => return out.emit(line, &u64::from(out.attempt())),
            b"status" => out.status("half way")?,
            // Longer than the timeout of its test, which no single step is.
            b"slow emits" => {
                for _ in 0..STEPS {
                    pause();
                    out.emit(line, &1)?;
                }
            }
            b"slow combine" => {
                for _ in 0..STEPS {
                    out.emit(line, &SLOW)?;
                }
            }
            _ => {}
        }
        out.emit(line, &1)
    }
}

/// Emits what has no JSON: its keys are no text.
struct Unwritable;

impl Mapper for Unwritable {
    type Input = TextLines;
    type Key = Text;
    type Value = Json<BTreeMap<(u32, u32), u32>>;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        out.emit(line, &Json(BTreeMap::from([((1, 2), 3)])))
    }
}

/// Steps of what is slow.
const STEPS: usize = 50;
/// Values from here on are combined slowly.
const SLOW: u64 = 1 << 32;

/// One step of what is slow.
fn pause() {
    std::thread::park_timeout(std::time::Duration::from_millis(50));
}

struct FaultyCombine;

impl Combiner<u64> for FaultyCombine {
    fn combine(&mut self, left: u64, right: u64) -> Result<u64> {
        if left >= SLOW {
            pause();
        }
        Ok(left + right)
    }
}

/// Starts a shell with `script`, by `how`, which keeps nothing of this process open.
fn start(how: &str, script: &str) -> Result<()> {
    use std::process::{Command, Stdio};
    let mut command = Command::new(how);
    if how == "setsid" {
        command.arg("sh");
    }
    command.args(["-c", script]);
    let command = command.stdin(Stdio::null()).stdout(Stdio::null());
    drop(command.stderr(Stdio::null()).spawn()?);
    Ok(())
}

struct FaultySum;

impl Reducer<Text, u64> for FaultySum {
    type Key = Text;
    type Value = u64;

    fn reduce(
        &mut self,
        word: &[u8],
        values: &mut Values<'_, Text, u64>,
        out: &mut Output<'_, Text, u64>,
    ) -> Result<()> {
        match word {
            b"reduce error" => return Err(Error::new("this word is refused")),
            b"reduce abort" => std::process::abort(),
            _ if word.starts_with(b"refuse ") => return Err(Error::new("this word is refused")),
            _ if word.starts_with(b"again ") && out.attempt() == 0 => {
                return Err(Error::new("this word is refused at first"));
            }
            _ => {}
        }
        let sum = values.fold(0, |sum, more| {
            if word == b"slow values" {
                pause();
            }
            Ok(sum + more)
        })?;
        out.emit(word, &sum)
    }
}

/// Ends the process, whatever it is in the middle of.
#[expect(clippy::exit, reason = "that a mapper does it is what is tested")]
fn leave_with(code: i32) -> ! {
    std::process::exit(code)
}

/// Whether this task's node has the device of the tests that is too small.
fn is_small() -> bool {
    std::env::var("GERBIL_DEVICES").is_ok_and(|devices| devices.contains("nvidia2"))
}

/// Dies by a signal in the task role before it says anything: the first that finds no file of this name, or each
/// where the name is empty.
fn die_early() {
    let Some(mark) = std::env::var_os("FAULTY_START") else {
        return;
    };
    let is_task = std::env::var("GERBIL_ROLE").as_deref() == Ok("task");
    if is_task && (mark.is_empty() || std::fs::File::create_new(mark).is_ok()) {
        std::process::abort();
    }
}

fn main() -> ExitCode {
    die_early();
    // Registers other jobs in the role that this names.
    let odd =
        std::env::var("FAULTY_PLAN").is_ok_and(|role| std::env::var("GERBIL_ROLE") == Ok(role));
    let name = if odd { "another" } else { "faulty" };
    let job = Job::new(name)
        .option::<String>(
            "driver",
            Some(""),
            "what the driver does that drivers must not",
        )
        .map(|| Faulty { eaten: Vec::new() })
        .combine(|| FaultyCombine)
        .reduce(|| FaultySum);
    let unwritable = Job::new("unwritable").map(|| Unwritable).map_only();
    let beside = Job::new("beside")
        .map_lines::<Text, u64, _>(|line, out| out.emit(line, &1))
        .and_lines("more", Some(""), "lines that count tenfold", |line, out| {
            out.emit(line, &10)
        })
        .reduce(|| Sum);
    App::new("faulty")
        .job(job)
        .job(unwritable)
        .job(beside)
        .drive(driver)
        .main()
}

/// Runs the job, or does what the option says.
fn driver(run: &mut Run<'_>) -> Result<()> {
    let (input, output) = (run.inputs().join(","), run.output().to_owned());
    let how: String = run.option("driver")?;
    let name = match how.as_str() {
        "unwritable" => "unwritable",
        "beside itself" | "beside" => "beside",
        _ => "faulty",
    };
    let job = run.job(name).input(&input).output(&output);
    let job = match how.as_str() {
        "exit" => leave_with(0),
        "error" => return Err(Error::new("this driver wants no job")),
        "params" => job.params(&"not a number")?,
        "beside itself" => job.input_of("more", &input).input_of("more", &input),
        "no such input" => job.input_of("more", &input),
        _ => job,
    };
    let job = job.submit()?;
    match how.as_str() {
        "panic" => assert!(how.is_empty(), "this driver had enough"),
        "exit later" => leave_with(0),
        // The client waits then.
        "forget" => return Ok(()),
        "loop" => loop {
            std::thread::park();
        },
        "remove" => run.remove(&input)?,
        _ => {}
    }
    job.wait().map(drop)
}
