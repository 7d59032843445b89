//! A job of tasks for the tests of this crate: counts words, and does what lines beginning with `!` say.

use std::io::Write as _;
use std::time::Duration;

use fpga_client::client::{ACCELERATORS_VARIABLE, inherited};
use fpga_client::echo::Echo;
use gerbil_mapreduce::prelude::*;

struct Words;

impl Mapper for Words {
    type Input = TextLines;
    type Key = Text;
    type Value = u64;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        match line {
            b"!abort" => {
                writeln!(std::io::stderr(), "these are my last words")?;
                std::process::abort()
            }
            b"!error" => return Err(Error::new("this line is refused")),
            b"!status" => out.status("half way")?,
            // So that a test sees it, and does something to it.
            b"!stand" => {
                std::fs::write("standing", format!("{}\n", std::process::id()))?;
                loop {
                    std::thread::park();
                }
            }
            // Threads that begin others, and a program: what is hard to move.
            b"!churn" => churn()?,
            // Half a gigabyte of pages that are all written to.
            b"!eat" => {
                let eaten = vec![1_u8; 512 << 20];
                std::hint::black_box(&eaten);
                loop {
                    std::thread::park();
                }
            }
            // More than any pipe holds, and then it stands.
            b"!fill" => {
                for number in 0..300_000_u64 {
                    out.emit(b"filled", &number)?;
                }
                std::fs::write("standing", format!("{}\n", std::process::id()))?;
                loop {
                    std::thread::park();
                }
            }
            // It writes on when somebody has removed this file.
            b"!wait" => {
                std::fs::write("waiting", format!("{}\n", std::process::id()))?;
                while std::path::Path::new("waiting").exists() {
                    std::thread::park_timeout(Duration::from_millis(5));
                }
                for number in 0..300_000_u64 {
                    out.emit(b"filled", &number)?;
                }
            }
            // In its turn at one of the node's devices.
            b"!device" => {
                let devices = Devices::here()?.ok_or_else(|| Error::new("there is no device"))?;
                let turn = devices.turn(|| ())?;
                writeln!(out.side_file("device")?, "{}", turn.device())?;
            }
            // The same, where the container was granted one of several: nobody else of it has any meanwhile.
            b"!alone" => {
                let permits = std::env::var("GERBIL_DEVICE_PERMITS")?;
                let (_, folder) = permits.split_once('@').unwrap_or_default();
                let devices = Devices::here()?.ok_or_else(|| Error::new("there is no device"))?;
                let turn = devices.turn(|| ())?;
                let taken = std::path::Path::new(folder).join("taken");
                std::fs::File::create_new(&taken)?;
                std::thread::park_timeout(Duration::from_millis(100));
                std::fs::remove_file(&taken)?;
                writeln!(out.side_file("alone")?, "{permits} {}", devices.count())?;
                drop(turn);
            }
            // A packet goes to each device that was leased for it, and comes back.
            b"!leased" => {
                let mut side = out.side_file("leased")?;
                writeln!(side, "{}", std::env::var(ACCELERATORS_VARIABLE)?)?;
                for (function, accelerator) in inherited()? {
                    let (mut writer, mut reader) = accelerator.open()?;
                    writer.write(&Echo(b"there"))?;
                    let (_, back): (u64, Vec<u8>) = reader.read(Duration::from_secs(60))?;
                    writeln!(side, "{function} {}", String::from_utf8_lossy(&back))?;
                }
            }
            // As a program ends that finds no device.
            b"!lost" => std::process::exit(86),
            b"!side" => out.side_file("side")?.write_all(b"beside\n")?,
            _ => {}
        }
        line.split(|b| b.is_ascii_whitespace())
            .filter(|word| !word.is_empty())
            .try_for_each(|word| out.emit(word, &1))
    }
}

/// Ends with the last of what it begins.
fn churn() -> Result<()> {
    let pass = || std::thread::park_timeout(Duration::from_micros(200));
    std::thread::scope(|all| {
        for _ in 0..4 {
            all.spawn(|| {
                for _ in 0..4 {
                    all.spawn(pass);
                }
            });
        }
        std::process::Command::new("true").status()
    })?;
    Ok(())
}

fn main() -> ExitCode {
    Job::new("words").map(|| Words).reduce(|| Sum).main()
}
