//! What this machine does at the most: copies of memory, and bytes over loopback.

use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

/// As many as rings have, of as many bytes.
const BLOCKS: usize = 16;
const BLOCK: usize = 1 << 20;
/// How much is read at once.
const PIECE: usize = 256 << 10;
/// A peer that says nothing is gone.
const SILENCE: Duration = Duration::from_secs(20);

/// Bytes that are copied from block to block, MB/s, by one thread.
pub(crate) fn copies(time: Duration) -> f64 {
    let mut blocks = vec![vec![1_u8; BLOCK]; BLOCKS];
    let began = Instant::now();
    let mut copied = 0;
    while began.elapsed() < time {
        let (from, to) = blocks.split_at_mut(BLOCKS / 2);
        for (from, to) in from.iter().zip(to) {
            to.copy_from_slice(black_box(from));
            copied += BLOCK;
        }
        black_box(&mut blocks);
    }
    rate(copied, began.elapsed())
}

/// Bytes that one thread reads from another, over TCP on a loopback address, MB/s.
pub(crate) fn loopback(time: Duration) -> Result<f64> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let writer = std::thread::spawn(move || -> Result<()> {
        let mut stream = TcpStream::connect_timeout(&address, SILENCE)?;
        stream.set_write_timeout(Some(SILENCE))?;
        let piece = vec![1_u8; PIECE];
        let began = Instant::now();
        while began.elapsed() < time {
            stream.write_all(&piece)?;
        }
        Ok(())
    });
    let (mut stream, _) = listener.accept()?;
    stream.set_read_timeout(Some(SILENCE))?;
    let mut piece = vec![0_u8; PIECE];
    let began = Instant::now();
    let mut read = 0;
    loop {
        match stream.read(&mut piece)? {
            0 => break,
            bytes => read += bytes,
        }
    }
    let rate = rate(read, began.elapsed());
    let written = writer.join();
    written.map_err(|_panicked| anyhow!("the writer panicked"))??;
    Ok(rate)
}

fn rate(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64() / 1e6
}
