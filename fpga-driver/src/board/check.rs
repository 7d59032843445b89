//! Proves a board: what a card must do before a driver serves it.

use super::exchange::{ExchangeError, Exchanged, exchange};
use super::{Board, BoardError, ID, READY, RESET, Register, VERSION, error};
use crate::bayes::{self, Classes, DocumentsPacket, LoadPacket};
use crate::client::{DeserializePacket, Layout, SerializePacket};
use crate::echo::plain;
use crate::fixed::Seeded;
use crate::function::Function;
use crate::kmeans::{self, Assignments, Keyed, MapPacket, ReducePacket, Sums};
use crate::packet::Header;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a card may take for one exchange.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of the largest exchange.
const BLOCK: usize = 1 << 20;
/// Exchanges whose rate is measured.
const EXCHANGES: u32 = 32;

/// What a board does not do as it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The device is gone.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// A register does not say what it should.
    #[error("{0}")]
    Register(String),
    /// An exchange went wrong.
    #[error("{step}: {source}")]
    Exchange {
        /// What was tried.
        step: String,
        /// What came of it.
        source: ExchangeError,
    },
    /// An answer is not the known one.
    #[error("{step}: {message}")]
    Answer {
        /// What was tried.
        step: String,
        /// How it differs.
        message: String,
    },
}

/// Tries everything, and tells of each step that is passed.
///
/// # Errors
///
/// The first step that is not.
pub fn prove(board: &dyn Board, mut say: impl FnMut(&str)) -> Result<(), CheckError> {
    let functions = registers(board)?;
    let names: Vec<&str> = functions.iter().map(|it| it.name()).collect();
    say(&format!(
        "registers: id, version and STATE are right; computes {}",
        names.join(", ")
    ));
    for function in functions {
        let (data, what) = known_answer(board, function)?;
        say(&format!("{function}: {what}"));
        if matches!(function, Function::Echo | Function::Sink) {
            say(&rate(board, function, &data)?);
        }
    }
    say("interrupts: sent and result came for every packet");
    Ok(())
}

fn registers(board: &dyn Board) -> Result<Vec<Function>, CheckError> {
    let wrong = |message: String| Err(CheckError::Register(message));
    let id = board.read(Register::Id)?;
    if id != ID {
        return wrong(format!(
            "the id register says {id:#010x}, not {ID:#010x}: this is no card of ours"
        ));
    }
    let version = board.read(Register::Version)?;
    if version != VERSION {
        return wrong(format!(
            "the registers are of version {version}, not {VERSION}"
        ));
    }
    board.write(Register::Command, RESET)?;
    let until = Instant::now() + PATIENCE;
    while board.read(Register::State)? != READY {
        if Instant::now() > until {
            return wrong(format!("STATE is not ready {PATIENCE:?} after a reset"));
        }
        std::thread::park_timeout(Duration::from_millis(1));
    }
    for pattern in [0xffff_ffff, 0xaaaa_5555, 0] {
        board.write(Register::HeaderAddress, pattern)?;
        let back = board.read(Register::HeaderAddress)?;
        if back != pattern {
            return wrong(format!(
                "the header's address was written as {pattern:#010x} and reads {back:#010x}"
            ));
        }
    }
    let bits = board.read(Register::Functions)?;
    let functions: Vec<Function> = Function::ALL
        .into_iter()
        .filter(|function| bits & function.bit() != 0)
        .collect();
    if functions.is_empty() {
        return wrong(format!(
            "the functions register says {bits:#x}: nothing that this driver knows"
        ));
    }
    Ok(functions)
}

fn run(
    board: &dyn Board,
    step: &str,
    layout: &Layout,
    data: &[u8],
) -> Result<Exchanged, CheckError> {
    let data = Arc::new(data.to_vec());
    let exchanged = exchange(board, &layout.header, &data, PATIENCE).map_err(|source| {
        CheckError::Exchange {
            step: step.to_owned(),
            source,
        }
    })?;
    if exchanged.error == error::NONE {
        Ok(exchanged)
    } else {
        Err(CheckError::Answer {
            step: step.to_owned(),
            message: format!("the error register says {}", exchanged.error),
        })
    }
}

fn pack(step: &str, packet: &impl SerializePacket) -> Result<(Layout, Vec<u8>), CheckError> {
    let mut block = vec![0; BLOCK];
    let layout = packet
        .serialize(&mut block)
        .map_err(|unfit| CheckError::Answer {
            step: step.to_owned(),
            message: unfit.to_string(),
        })?;
    block.truncate(layout.length);
    Ok((layout, block))
}

fn same<T: PartialEq>(step: &str, found: &T, wanted: &T) -> Result<(), CheckError> {
    if found == wanted {
        return Ok(());
    }
    Err(CheckError::Answer {
        step: step.to_owned(),
        message: "the card's answer is not the processor's".to_owned(),
    })
}

fn understood<R: DeserializePacket>(step: &str, result: &[u8]) -> Result<R, CheckError> {
    R::deserialize(result).map_err(|message| CheckError::Answer {
        step: step.to_owned(),
        message,
    })
}

/// Tries one function with data whose answer the processor knows.
fn known_answer(board: &dyn Board, function: Function) -> Result<(Vec<u8>, String), CheckError> {
    let step = function.name();
    match function {
        Function::Echo | Function::Sink => {
            let mut seeded = Seeded(1);
            let data: Vec<u8> = (0..BLOCK / 8)
                .flat_map(|_| seeded.bits().to_le_bytes())
                .collect();
            let found = run(board, step, &plain(function, data.len()), &data)?.result;
            if function == Function::Echo {
                same(step, &found, &data)?;
                Ok((data, "1 MiB there and back, the same bits".to_owned()))
            } else {
                same(step, &found, &super::model::sink(&data).result)?;
                Ok((data, "1 MiB there, its length and CRC back".to_owned()))
            }
        }
        Function::KmeansMap => {
            let (d, k, n) = (128, 16, 1000);
            let vectors = kmeans::generate(1, n, d, 16);
            let centroids = kmeans::generate(2, k, d, 16);
            let keys: Vec<u32> = (0..1000).collect();
            let mut cycles = [0; 2];
            for combine in [false, true] {
                let packet = MapPacket {
                    centroids: &centroids,
                    pairs: Keyed {
                        keys: &keys,
                        vectors: &vectors,
                    },
                    dimension: d,
                    combine,
                };
                let (layout, data) = pack(step, &packet)?;
                let exchanged = run(board, step, &layout, &data)?;
                cycles[usize::from(combine)] = exchanged.cycles;
                if combine {
                    let wanted = kmeans::assign(&vectors, &centroids, d);
                    same(step, &Sums::read(&exchanged.result, d), &wanted)?;
                } else {
                    let Assignments(found) = understood(step, &exchanged.result)?;
                    let wanted: Vec<(u32, u32)> = keys
                        .iter()
                        .zip(vectors.chunks_exact(d))
                        .map(|(&key, vector)| (key, index(kmeans::nearest(vector, &centroids))))
                        .collect();
                    same(step, &found, &wanted)?;
                }
            }
            let said = format!(
                "{n} vectors of {d}, {k} centroids: as the processor says; {} cycles, {} with COMBINE",
                cycles[0], cycles[1]
            );
            Ok((Vec::new(), said))
        }
        Function::KmeansReduce => {
            let vectors = kmeans::generate(1, 600, 128, 16);
            let centroids = kmeans::generate(2, 16, 128, 16);
            let parts: Vec<Sums> = vectors
                .chunks(200 * 128)
                .map(|part| kmeans::assign(part, &centroids, 128))
                .collect();
            let (layout, data) = pack(step, &ReducePacket { partial: &parts })?;
            let exchanged = run(board, step, &layout, &data)?;
            let wanted = kmeans::assign(&vectors, &centroids, 128);
            same(step, &Sums::read(&exchanged.result, 128), &wanted)?;
            let said = format!(
                "3 partial sums: as the processor says; {} cycles",
                exchanged.cycles
            );
            Ok((Vec::new(), said))
        }
        Function::BayesMap => {
            let table = bayes::BayesTable::train(&bayes::generate(1, 500, 8, 1000, 50), 8, 1000);
            let documents = bayes::generate(2, 300, 8, 1000, 50);
            let (layout, data) = pack(
                step,
                &LoadPacket {
                    model: 7,
                    table: &table,
                },
            )?;
            run(board, step, &layout, &data)?;
            let packet = DocumentsPacket {
                model: 7,
                terms: table.terms(),
                documents: &documents,
            };
            let (layout, data) = pack(step, &packet)?;
            let exchanged = run(board, step, &layout, &data)?;
            let Classes(found) = understood(step, &exchanged.result)?;
            let wanted: Vec<(u32, u32)> = documents
                .iter()
                .map(|it| (it.key, table.classify(&it.terms).unwrap_or(u32::MAX)))
                .collect();
            same(step, &found, &wanted)?;
            let unknown = Layout {
                header: Header {
                    model: 8,
                    ..layout.header
                },
                ..layout
            };
            if run(board, step, &unknown, &data).is_ok() {
                return Err(CheckError::Answer {
                    step: step.to_owned(),
                    message: "a model that was never loaded gave an answer".to_owned(),
                });
            }
            let said = format!(
                "a table of 1000 terms and 8 classes loaded, 300 documents: as the processor says; {} cycles",
                exchanged.cycles
            );
            Ok((Vec::new(), said))
        }
    }
}

fn rate(board: &dyn Board, function: Function, data: &[u8]) -> Result<String, CheckError> {
    let layout = plain(function, data.len());
    let began = Instant::now();
    for _ in 0..EXCHANGES {
        run(board, function.name(), &layout, data)?;
    }
    let large = began.elapsed();
    let empty = plain(function, 0);
    let mut times = Vec::new();
    for _ in 0..EXCHANGES {
        times.push(run(board, function.name(), &empty, &[])?.done);
    }
    times.sort_unstable();
    let median = times[times.len() / 2];
    let bytes = u64::from(EXCHANGES) * data.len() as u64;
    // Bytes a microsecond are megabytes a second.
    let rate = u128::from(bytes) / large.as_micros().max(1);
    Ok(format!(
        "{function}: {rate} MB/s one packet after the other; an empty one takes {median:?} (median)"
    ))
}

fn index(cluster: usize) -> u32 {
    u32::try_from(cluster).unwrap_or(u32::MAX)
}
