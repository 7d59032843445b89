//! `queued`: many detached jobs in one session on this machine, and what its ApplicationMaster needs for them.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;
use it::load::Usage;
use it::queue::SessionQueue;
use it::{Run, gerbil, sweep};
use session::status::Status;

/// Queues detached jobs in a session without a cluster (`gerbil session start --local`), whose slots one job
/// holds, and prints what the ApplicationMaster needs: memory with none, a tenth and all of them, and how long its
/// policy decides on the mean. Then it lets them run for a while.
#[derive(Debug, Parser)]
struct QueuedOptions {
    /// How many.
    #[arg(long, default_value_t = 10_000)]
    jobs: u32,
    /// Slots of the session.
    #[arg(long, default_value_t = 4)]
    slots: u32,
    /// For how many seconds they run at the end.
    #[arg(long, default_value_t = 20)]
    run: u64,
    /// At most so many compete for slots; others wait until one of them ends.
    #[arg(long)]
    max_running: Option<u32>,
}

/// What an ApplicationMaster's process is told.
const ROLE: &str = "--as=appmaster";
const NAME: &str = "queued";
/// For each command.
const DEADLINE: Duration = Duration::from_secs(120);

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run(&QueuedOptions::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("queued: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &QueuedOptions) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let gerbil = folder.path().join("gerbil");
    symlink(gerbil::binary()?, &gerbil)?;
    let state = folder.path().join("state");
    let command = |words: &[&str]| {
        let mut command = Command::new(&gerbil);
        command
            .args(words)
            .env("XDG_STATE_HOME", &state)
            .env_remove("HADOOP_CONF_DIR");
        Run::new(command).deadline(DEADLINE).finish()
    };
    let slots = options.slots.to_string();
    let most = options.max_running.map(|most| most.to_string());
    let mut line = vec!["session", "start", NAME, "--local", "--slots-per-container"];
    line.push(&slots);
    if let Some(most) = &most {
        line.extend(["--max-running", most]);
    }
    command(&line)?.success("gerbil session start")?;
    let runtime = tokio::runtime::Runtime::new()?;
    let outcome = runtime.block_on(async {
        let queue = SessionQueue::reach(&state, NAME).await?;
        Filling::new(queue)?.fill(options).await
    });
    let stopped = command(&["session", "stop", NAME, "--now"])?;
    outcome?;
    stopped.success("gerbil session stop")?;
    Ok(())
}

/// What is looked at meanwhile.
struct Filling {
    queue: SessionQueue,
    /// The ApplicationMaster's process.
    master: u32,
}

impl Filling {
    fn new(queue: SessionQueue) -> Result<Self> {
        let bed = queue.kept.owned.local.as_ref();
        let bed = fs::canonicalize(bed.context("no local cluster")?)?;
        let found = sweep::find(&bed)?;
        let master = found
            .iter()
            .find(|found| found.arguments.get(1).is_some_and(|role| role == ROLE))
            .with_context(|| format!("no ApplicationMaster runs below {}", bed.display()))?;
        Ok(Self {
            queue,
            master: u32::try_from(master.pid)?,
        })
    }

    async fn fill(mut self, options: &QueuedOptions) -> Result<()> {
        let holder = self.queue.submit("sleep", &["3600"], options.slots).await?;
        let mut begin = Instant::now();
        let before = self.queue.status().await?;
        self.say("no job waits", &before)?;
        for number in 1..=options.jobs {
            self.queue
                .submit("true", &[], 1 + number % options.slots)
                .await?;
            if number == options.jobs / 10 || number == options.jobs {
                let took = begin.elapsed();
                let asked = Instant::now();
                let status = self.queue.status().await?;
                let asked = asked.elapsed();
                let waiting = status.count("waiting");
                ensure!(waiting == number as usize, "{waiting} wait, not {number}");
                let words = format!(
                    "{waiting} jobs wait, submitted in {:.1} s; status in {:.0} ms",
                    took.as_secs_f64(),
                    asked.as_secs_f64() * 1e3
                );
                self.say(&words, &status)?;
                begin = Instant::now();
            }
        }
        let full = self.queue.status().await?;
        self.queue.kill(holder).await?;
        let used = Usage::of(self.master)?;
        tokio::time::sleep(Duration::from_secs(options.run)).await;
        let after = self.queue.status().await?;
        let percent = Usage::of(self.master)?.percent_since(&used);
        let ended = after.ended.saturating_sub(full.ended);
        if ended == 0 {
            bail!("no job has run within {} s", options.run);
        }
        let told = after.told.saturating_sub(full.told);
        let deciding = after.deciding_us.saturating_sub(full.deciding_us);
        let words = format!(
            "{ended} jobs ended within {} s, the ApplicationMaster took {percent:.0} % of a core; {:.1} µs a decision then",
            options.run,
            deciding as f64 / told.max(1) as f64
        );
        self.say(&words, &after)
    }

    fn say(&self, words: &str, status: &Status) -> Result<()> {
        let usage = Usage::of(self.master)?;
        writeln!(
            std::io::stdout(),
            "{words}: {:.1} MB resident, {:.1} MB at most; {} times told, {:.1} µs a decision",
            usage.resident_kib as f64 * 1.024e-3,
            usage.peak_kib as f64 * 1.024e-3,
            status.told,
            status.deciding_us as f64 / status.told.max(1) as f64
        )?;
        Ok(())
    }
}
