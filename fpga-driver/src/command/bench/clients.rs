//! Twenty clients on one board: equal shares, and who had the card when.

use super::Server;
use crate::command::{CommandFailure, SOFTWARE, failed, say};
use fpga_driver::Function;
use fpga_driver::client::{Accelerator, AcceleratorError};
use fpga_driver::echo::plain;
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

const CLIENTS: usize = 20;
const PROFILE: &str = "[[board]]\nkind = \"model\"\nfunctions = { sink = 20 }\nlink_mb_s = 1000\nblocks = 4\nblock_kib = 256\n";
const PATIENCE: Duration = Duration::from_secs(20);
/// Packets a client has under way.
const WINDOW: usize = 4;

/// When a packet was sent and answered, from the start of all.
type Span = (Duration, Duration);

/// Lets the clients send as fast as they can, and compares what each got through.
pub fn share(gantt: Option<&Path>, time: Duration) -> Result<(), CommandFailure> {
    let server = Server::start(PROFILE)?;
    let start = Instant::now() + Duration::from_millis(200);
    let mut threads = Vec::new();
    for number in 0..CLIENTS {
        let socket = server.socket.clone();
        threads.push(std::thread::spawn(
            move || -> Result<Vec<Span>, AcceleratorError> {
                let name = format!("client {number}");
                let lease = Accelerator::lease(&socket, Function::Sink, &name, None)?;
                let (mut writer, mut reader) = lease.open()?;
                let block = writer.geometry().block;
                while Instant::now() < start {
                    std::thread::park_timeout(start.saturating_duration_since(Instant::now()));
                }
                let mut begun = std::collections::VecDeque::new();
                let mut spans = Vec::new();
                while start.elapsed() < time {
                    while begun.len() < WINDOW {
                        writer
                            .block(Some(PATIENCE))?
                            .send(&plain(Function::Sink, block))?;
                        begun.push_back(start.elapsed());
                    }
                    drop(reader.result(Some(PATIENCE))?);
                    let from = begun.pop_front().unwrap_or_default();
                    spans.push((from, start.elapsed()));
                }
                Ok(spans)
            },
        ));
    }
    let mut all = Vec::new();
    for thread in threads {
        let spans = thread
            .join()
            .map_err(|_panicked| failed(SOFTWARE)("a client panicked"))?
            .map_err(failed(SOFTWARE))?;
        all.push(spans);
    }
    let counts: Vec<usize> = all.iter().map(Vec::len).collect();
    let total: usize = counts.iter().sum();
    let least = counts.iter().min().copied().unwrap_or(0);
    let most = counts.iter().max().copied().unwrap_or(0);
    let percent = |count: usize| count * CLIENTS * 1000 / total.max(1);
    say(&format!(
        "{CLIENTS} clients on one board: {total} packets of 256 KiB in {time:?}; the least has {}.{} % of an equal share, the most {}.{} %",
        percent(least) / 10,
        percent(least) % 10,
        percent(most) / 10,
        percent(most) % 10
    ));
    say(&format!("packets of each: {counts:?}"));
    if let Some(path) = gantt {
        std::fs::write(path, draw(&all)).map_err(failed(SOFTWARE))?;
        say(&format!("drawn in {}", path.display()));
    }
    Ok(())
}

/// The first 200 ms: a row a client, a bar from each answer back to the one before it.
fn draw(clients: &[Vec<Span>]) -> String {
    let shown = Duration::from_millis(200);
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1100 460\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"1100\" height=\"460\" fill=\"white\"/>\n<text x=\"70\" y=\"18\">20 clients on one board: when each packet was answered (a tick), and waited from the moment it was sent (a line)</text>\n",
    );
    for (row, spans) in clients.iter().enumerate() {
        let y = 30 + row * 20;
        writeln!(svg, "<text x=\"5\" y=\"{}\">client {row}</text>", y + 12).ok();
        for (from, to) in spans.iter().filter(|(_, to)| *to < shown) {
            let x = |at: &Duration| 70 + at.as_micros() * 1000 / shown.as_micros();
            writeln!(
                svg,
                "<line x1=\"{from}\" x2=\"{to}\" y1=\"{middle}\" y2=\"{middle}\" stroke=\"#bcd\"/><rect x=\"{to}\" y=\"{y}\" width=\"3\" height=\"14\" fill=\"#247\"/>",
                from = x(from),
                to = x(to),
                middle = y + 7,
            )
            .ok();
        }
    }
    for at in [0, 50, 100, 150, 200] {
        let x = 70 + at * 5;
        writeln!(svg, "<text x=\"{x}\" y=\"450\">{at} ms</text>").ok();
    }
    svg.push_str("</svg>\n");
    svg
}
