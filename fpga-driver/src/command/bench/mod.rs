//! `fpgad bench`: what this machine does, beside the paper's Table 3.

mod clients;
mod host;
pub mod pays;
mod way;

use super::{CommandFailure, UNAVAILABLE, failed, say};
use fpga_driver::client::address;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Measures everything, each for so many seconds.
pub fn run(gantt: Option<&Path>, seconds: f64) -> Result<(), CommandFailure> {
    let time = Duration::try_from_secs_f64(seconds).map_err(failed(super::CONFIG))?;
    say("module                             paper, MB/s     here, MB/s");
    let parse = host::parse(time);
    row("input acquisition: parsing", "89.6", &format!("{parse:.0}"));
    let assemble = host::assemble(time);
    row("packets assembling", "2660", &format!("{assemble:.0}"));
    let link = way::link(time)?;
    row(
        "transmission and result",
        "1000",
        &format!("{link:.0} (link modelled at 1000)"),
    );
    let sink = way::rings(time)?;
    row("rings, 1 MiB there", "", &format!("{sink:.0}"));
    let echo = way::echo(time)?;
    row("rings, 1 MiB there and back", "", &format!("{echo:.0}"));
    let [median, worst] = way::latency()?;
    say(&format!(
        "empty exchange: {median:?} median, {worst:?} 99th of 100"
    ));
    way::rest()?;
    clients::share(gantt, time)?;
    say(&host::simulation());
    Ok(())
}

fn row(module: &str, paper: &str, here: &str) {
    say(&format!("{module:<34} {paper:>11} {here:>14}"));
}

/// Bytes of a time, in MB/s.
fn rate(bytes: usize, time: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let bytes = bytes as f64;
    bytes / time.as_secs_f64() / 1e6
}

/// A driver of its own process, with a folder of its own.
struct Server {
    child: Child,
    folder: PathBuf,
    socket: PathBuf,
}

impl Server {
    fn start(profile: &str) -> Result<Self, CommandFailure> {
        let program = std::env::current_exe().map_err(failed(UNAVAILABLE))?;
        let folder = std::env::temp_dir().join(format!(
            "fpgad-bench-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        let socket = folder.join("fpgad.sock");
        address::prepare_folder(&socket, address::Reach::Own).map_err(failed(UNAVAILABLE))?;
        let file = folder.join("fpga.toml");
        std::fs::write(&file, profile).map_err(failed(UNAVAILABLE))?;
        let child = Command::new(program)
            .arg("serve")
            .arg("--fpgad")
            .arg(&socket)
            .arg("--profile")
            .arg(&file)
            .stdin(Stdio::null())
            .spawn()
            .map_err(failed(UNAVAILABLE))?;
        let server = Self {
            child,
            folder,
            socket,
        };
        let until = Instant::now() + Duration::from_secs(10);
        while fpga_driver::client::map(&server.socket).is_err() {
            if Instant::now() > until {
                return Err(CommandFailure {
                    code: UNAVAILABLE,
                    message: "the driver that was started does not answer".to_owned(),
                });
            }
            std::thread::park_timeout(Duration::from_millis(5));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; the folder is this process's own.
        drop(self.child.kill());
        drop(self.child.wait());
        drop(std::fs::remove_dir_all(&self.folder));
    }
}
