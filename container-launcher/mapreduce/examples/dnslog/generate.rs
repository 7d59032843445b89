//! Logs that are made of a number, for want of public ones: servers differ in how far they are, how much that varies, and
//! how often nothing comes back.

use gerbil_mapreduce::prelude::*;

use crate::SERVERS;

/// Kinds of question, the common ones more often.
const KINDS: [&str; 6] = ["A", "A", "AAAA", "NS", "MX", "DS"];

/// A map makes a file.
pub(crate) struct Files;

impl Mapper for Files {
    type Input = Numbers;
    type Key = Text;
    type Value = ();

    fn map(&mut self, file: u64, (): (), out: &mut Emit<'_, Self>) -> Result<()> {
        let (records, seed) = (out.option::<u64>("records")?, out.option::<u64>("seed")?);
        for record in 0..records {
            let line = line(seed, file, record);
            out.emit(&line, &())?;
        }
        Ok(())
    }
}

fn line(seed: u64, file: u64, record: u64) -> String {
    let random = mixed(mixed(seed) ^ (file << 40) ^ record);
    let [letter, loss, near, far, kind, name, ..] = random.to_be_bytes();
    let server = usize::from(letter) % SERVERS;
    let of = mixed(seed ^ (1 << 63) ^ (u64::from(letter) % 13));
    // Microseconds: from 2 to 129 ms away, and up to as much again, mostly little.
    let away = 2_000 + (of & 127) * 1_000;
    let more = away * u64::from(near) * u64::from(far) / (255 * 255);
    let lost = u64::from(loss) % 100 < (of >> 8) % 9;
    let time = match lost {
        true => "-".to_owned(),
        // One in 256 is asked twice.
        false if far == 255 => (away + more + 800_000).to_string(),
        false => (away + more).to_string(),
    };
    let at = record * 997;
    format!(
        "{}.{:06} {}.root-servers.net host{name}.example {} {time}",
        1_700_000_000 + file * 86_400 + at / 1_000_000,
        at % 1_000_000,
        char::from(b"abcdefghijklm"[server]),
        KINDS[usize::from(kind) % KINDS.len()],
    )
}

/// As `SplitMix64` mixes (Steele, Lea, Flood, OOPSLA 2014).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
