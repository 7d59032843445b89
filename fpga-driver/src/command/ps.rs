//! `fpgad ps`.

use super::{CommandFailure, UNAVAILABLE, failed, say};
use fpga_driver::client;
use std::path::Path;

/// Lists virtual devices and boards.
pub fn run(socket: &Path) -> Result<(), CommandFailure> {
    let (devices, boards) = client::map(socket).map_err(failed(UNAVAILABLE))?;
    say(&format!(
        "{:<18} {:<8} {:>6} {:>8} {:>6} {:>9} {:>9} {:>6}  HOLDER",
        "DEVICE", "BOARD", "LEASE", "PID", "UID", "PACKETS", "MB/S", "QUEUED"
    ));
    for device in devices {
        let Some(lease) = device.lease else {
            say(&format!(
                "{:<18} {:<8} {:>6}",
                device.device, device.board, "-"
            ));
            continue;
        };
        // Bytes a millisecond are kilobytes a second.
        let rate = lease.bytes_in / lease.age_ms.max(1);
        say(&format!(
            "{:<18} {:<8} {:>6} {:>8} {:>6} {:>9} {:>5}.{:03} {:>6}  {}",
            device.device,
            device.board,
            lease.lease,
            lease.pid,
            lease.uid,
            lease.packets,
            rate / 1000,
            rate % 1000,
            lease.queued,
            printable(&lease.holder)
        ));
    }
    for board in boards {
        let mut line = format!(
            "board {}: {} packets, {} on the card, {} wait, {} resets, busy {}.{:03} s of {}",
            board.board,
            board.packets,
            board.in_flight,
            board.queued,
            board.resets,
            board.busy_us / 1_000_000,
            board.busy_us / 1000 % 1000,
            board.served_us / 1_000_000
        );
        if let Some(reason) = board.last_reset {
            line.push_str(&format!(", the last because: {reason}"));
        }
        if board.off.is_none() && board.lost_by > 0 {
            line.push_str(&format!(
                ", and leases in a row that lost a packet twice: {} (the third turns the board off)",
                board.lost_by
            ));
        }
        if let Some(off) = board.off {
            line.push_str(&format!("; {off}"));
        }
        say(&line);
    }
    Ok(())
}

/// A holder's own words, without what would move the terminal's cursor.
fn printable(holder: &str) -> String {
    holder.chars().filter(|it| !it.is_control()).collect()
}
