//! Counts the words of a file with one thread and a hash map, as one writes it without a framework: what
//! word count is measured against.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};

fn main() -> std::io::Result<()> {
    let path = std::env::args_os()
        .nth(1)
        .unwrap_or_else(|| "/dev/stdin".into());
    let mut file = BufReader::with_capacity(1 << 20, std::fs::File::open(path)?);
    let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
    let mut line = Vec::new();
    while file.read_until(b'\n', &mut line)? > 0 {
        for word in line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
        {
            match counts.get_mut(word) {
                Some(count) => *count += 1,
                None => drop(counts.insert(word.to_vec(), 1)),
            }
        }
        line.clear();
    }
    let mut sorted: Vec<_> = counts.into_iter().collect();
    sorted.sort();
    let mut out = BufWriter::new(std::io::stdout());
    for (word, count) in sorted {
        out.write_all(&word)?;
        writeln!(out, "\t{count}")?;
    }
    out.flush()
}
