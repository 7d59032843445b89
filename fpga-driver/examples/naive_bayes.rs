//! Naive Bayes on the node's accelerators: a table trained on seeded documents is loaded once, others
//! are classified, and the processor must say the same of each.
//!
//! `cargo run --release -p fpga-driver --example naive_bayes -- /tmp/gerbil-1000/fpgad.sock`

use fpga_driver::bayes::{self, BayesTable, Classes, DocumentsPacket, LoadPacket};
use fpga_driver::client::{Accelerator, AcceleratorError, address};
use fpga_driver::{Function, Status};
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

const CLASSES: u32 = 16;
const TERMS: u32 = 10_000;
const MODEL: u64 = 1;
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn Error>> {
    let socket = std::env::args_os()
        .nth(1)
        .map_or_else(address::default_socket, PathBuf::from);
    run(&socket, &mut std::io::stdout())
}

/// What the program does, with the driver at this socket; fails where a bit differs.
pub fn run(socket: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let lease = Accelerator::lease(socket, Function::BayesMap, "example bayes", Some(PATIENCE))?;
    let (mut writer, mut reader) = lease.open()?;

    let seen = bayes::generate(1, 5000, CLASSES, TERMS, 60);
    let table = BayesTable::train(&seen, usize::try_from(CLASSES)?, usize::try_from(TERMS)?);
    let documents = bayes::generate(2, 8000, CLASSES, TERMS, 60);
    let (mut right, mut same, mut loads) = (0, 0, 0);
    for part in documents.chunks(1000) {
        let packet = DocumentsPacket {
            model: MODEL,
            terms: table.terms(),
            documents: part,
        };
        let Classes(found) = loop {
            writer.write(&packet)?;
            match reader.read(PATIENCE) {
                Ok((_, found)) => break found,
                // Not loaded yet, or the card was reset: it forgets its tables.
                Err(AcceleratorError::Packet {
                    status: Status::NoModel,
                    ..
                }) if loads < 10 => {
                    writer.write(&LoadPacket {
                        model: MODEL,
                        table: &table,
                    })?;
                    reader.read::<Vec<u8>>(PATIENCE)?;
                    loads += 1;
                }
                Err(error) => return Err(error.into()),
            }
        };
        for (document, (key, class)) in part.iter().zip(found) {
            right += usize::from(key == class);
            same += usize::from(table.classify(&document.terms) == Some(class));
        }
    }
    writeln!(
        out,
        "{same} of {} as the processor says, {right} right; the table was loaded {loads} times",
        documents.len()
    )?;
    if same == documents.len() {
        Ok(())
    } else {
        Err("the accelerator and the processor differ".into())
    }
}
