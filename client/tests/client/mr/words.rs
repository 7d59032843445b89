//! Counts words, and drives in ways that a test asks for.

use gerbil_mapreduce::prelude::*;

struct Words;

impl Mapper for Words {
    type Input = TextLines;
    type Key = Text;
    type Value = u64;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        line.split(|b| b.is_ascii_whitespace())
            .filter(|w| !w.is_empty())
            .try_for_each(|w| out.emit(w, &1))
    }
}

/// Ends the process as if all were well.
#[expect(clippy::exit, reason = "that a driver does it is what is tested")]
fn leave() -> ! {
    std::process::exit(0)
}

fn driver(run: &mut Run<'_>) -> Result<()> {
    let (input, output) = (run.inputs().join(","), run.output().to_owned());
    let how: String = run.option("driver")?;
    if how == "two" {
        let one = run
            .job("words")
            .input(&input)
            .output(&format!("{output}/one"));
        let one = one.submit()?;
        let other = run
            .job("words")
            .input(&input)
            .output(&format!("{output}/other"));
        let other = other.submit()?;
        one.wait()?;
        return other.wait().map(drop);
    }
    let submitted = run.job("words").input(&input).output(&output).submit()?;
    match how.as_str() {
        "panic" => assert!(how.is_empty(), "this driver had enough"),
        "exit" => leave(),
        "loop" => loop {
            std::thread::park();
        },
        "again" => {
            let failed = submitted.wait();
            let sentence = failed.err().map(|error| error.to_string());
            return Err(Error::new(format!("{sentence:?}")));
        }
        _ => {}
    }
    let finished = submitted.wait()?;
    if how == "read" {
        use std::io::Write as _;
        write!(std::io::stdout(), "{}", finished.read_text()?)?;
        let counted = finished.counter("Map-Reduce Framework", "Map input records");
        writeln!(std::io::stdout(), "{counted} records")?;
        run.remove(&output)?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let job = Job::new("words")
        .option::<String>("driver", Some(""), "what the driver does")
        .map(|| Words)
        .combine(|| Sum)
        .reduce(|| Sum);
    App::new("mr-words").job(job).drive(driver).main()
}
