//! Seeded documents: lists of term ids, half of them the class's own.

use std::fmt::Write as _;

use fpga_driver::bayes;
use gerbil_mapreduce::prelude::*;

/// Documents that are made at a time.
const TOGETHER: u32 = 1000;

/// Terms of a document, on average, at most.
const LENGTH: u32 = 100_000;

/// A file each.
pub struct Documents;

impl Mapper for Documents {
    type Input = Numbers;
    type Key = u32;
    type Value = Text;

    fn map(&mut self, file: u64, (): (), out: &mut Emit<'_, Self>) -> Result<()> {
        let (lines, seed): (u32, u64) = (out.option("lines")?, out.option("seed")?);
        let (classes, terms): (u32, u32) = (out.option("classes")?, out.option("terms")?);
        let length: u32 = out.option("length")?;
        if length > LENGTH || classes == 0 || terms == 0 {
            return Err(Error::new(format!(
                "--classes {classes} --terms {terms} --length {length}: give one class and one term at least, and a length \
                 of {LENGTH} at most"
            )));
        }
        let first = u32::try_from(file)
            .ok()
            .and_then(|file| file.checked_mul(lines));
        let numbers = first.and_then(|first| Some((first, first.checked_add(lines)?)));
        let Some((mut number, end)) = numbers else {
            let words = format!("--lines {lines}: documents have numbers up to {}", u32::MAX);
            return Err(Error::new(words));
        };
        let mut line = String::new();
        let mut part = 0;
        while number < end {
            let now = (end - number).min(TOGETHER);
            let own = seed
                .wrapping_mul(0x1_0000_0000)
                .wrapping_add(file << 16)
                .wrapping_add(part);
            for document in bayes::generate(own, usize::try_from(now)?, classes, terms, length) {
                line.clear();
                write!(line, "{}\t", document.key)?;
                for (at, term) in document.terms.iter().enumerate() {
                    let blank = if at > 0 { " " } else { "" };
                    write!(line, "{blank}{term}")?;
                }
                out.emit(&number, &line)?;
                number += 1;
            }
            part += 1;
        }
        Ok(())
    }
}
