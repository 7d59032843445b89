//! Naive Bayes: the likeliest class of a document, which is a list of term ids.
//!
//! Source: HeteroYARN §4.3.3, equation (2).  Products of probabilities become sums of their logarithms,
//! in Q8.24: log P(c|d) = log P(c) + Σ log P(t|c).  Ties go to the lowest class.  The table is loaded
//! once and kept by the card under a model id.
//!
//! | paper    | here              | unit, shape                                   |
//! |----------|-------------------|-----------------------------------------------|
//! | P(c)     | [`BayesTable`], row 0  | log, Q8.24 in i32; `classes`                  |
//! | P(t\|c)  | rows 1 to `terms` | log, Q8.24 in i32; `terms` × `classes`        |
//!
//! Cost: one cycle a term on the card, `classes` additions on the processor.

use crate::board::model::words;
use crate::client::{DeserializePacket, Layout, SerializePacket, Unfit};
use crate::fixed::{Seeded, q24};
use crate::function::Function;
use crate::packet::{Header, LOAD, types};

/// What the header's dimension counts.
const TERMS: &str = "terms of a vocabulary";

/// Log probabilities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BayesTable {
    /// How many classes documents are sorted into.
    pub classes: usize,
    /// (terms + 1) × classes, Q8.24; the first row the classes' own.
    pub logs: Vec<i32>,
}

impl BayesTable {
    /// Terms of the vocabulary.
    pub fn terms(&self) -> usize {
        (self.logs.len() / self.classes.max(1)).saturating_sub(1)
    }

    /// Trains a table: counts, with one added to each so that no probability is zero.
    pub fn train(documents: &[Document], classes: usize, terms: usize) -> Self {
        let mut counts = vec![0; (terms + 1) * classes];
        for document in documents {
            let class = usize::try_from(document.key).unwrap_or(0) % classes.max(1);
            count(&mut counts, classes, class, &document.terms);
        }
        Self::of_counts(&counts, classes)
    }

    /// The table of counts in its own shape: documents of each class, then how often each term is in those.
    pub fn of_counts(counts: &[u64], classes: usize) -> Self {
        let each = classes.max(1);
        let (of_class, of_term) = counts.split_at(classes.min(counts.len()));
        let mut in_class = vec![0u64; classes];
        for row in of_term.chunks_exact(each) {
            for (sum, &count) in in_class.iter_mut().zip(row) {
                *sum += count;
            }
        }
        let terms = of_term.len() / each;
        let log = |count: u64, total: u64, kinds: usize| {
            q24(((float(count) + 1.0) / (float(total) + float(kinds as u64))).ln())
        };
        let documents: u64 = of_class.iter().sum();
        let mut logs: Vec<i32> = of_class
            .iter()
            .map(|&count| log(count, documents, classes))
            .collect();
        for row in of_term.chunks_exact(each) {
            let row = row.iter().zip(&in_class);
            logs.extend(row.map(|(&count, &total)| log(count, total, terms)));
        }
        Self { classes, logs }
    }

    /// The likeliest class, on the processor; `None` where a term does not exist.
    pub fn classify(&self, terms: &[u32]) -> Option<u32> {
        let (priors, rows) = self.logs.split_at_checked(self.classes)?;
        let mut scores: Vec<i64> = priors.iter().map(|&prior| prior.into()).collect();
        for &term in terms {
            let start = usize::try_from(term).ok()?.checked_mul(self.classes)?;
            let row = rows.get(start..)?.get(..self.classes)?;
            for (score, &log) in scores.iter_mut().zip(row) {
                *score = score.wrapping_add(log.into());
            }
        }
        let mut best: Option<(u32, i64)> = None;
        for (class, &score) in (0u32..).zip(&scores) {
            if best.is_none_or(|(_, highest)| score > highest) {
                best = Some((class, score));
            }
        }
        best.map(|(class, _)| class)
    }

    /// What documents name it by: a digest, so that the same table has the same id; not 0.
    pub fn model(&self) -> u64 {
        // FNV-1a of 64 bits.
        let digest = self
            .logs
            .iter()
            .flat_map(|log| log.to_le_bytes())
            .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
                (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        digest.max(1)
    }
}

/// Counts a document of `class` in counts of a table's shape; terms that are beyond it are left out.
pub fn count(counts: &mut [u64], classes: usize, class: usize, terms: &[u32]) {
    if let Some(count) = counts.get_mut(class) {
        *count += 1;
    }
    for &term in terms {
        let cell = usize::try_from(term)
            .ok()
            .and_then(|term| (term + 1).checked_mul(classes)?.checked_add(class));
        if let Some(count) = cell.and_then(|cell| counts.get_mut(cell)) {
            *count += 1;
        }
    }
}

/// A document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Comes back with the class; while training, the class.
    pub key: u32,
    /// Ids of its terms, repeated as they are in the document.
    pub terms: Vec<u32>,
}

/// `count` documents of some `length` terms around `classes` topics, from a seed; keys are the topics.
pub fn generate(seed: u64, count: usize, classes: u32, terms: u32, length: u32) -> Vec<Document> {
    let mut seeded = Seeded(seed);
    let mut documents = Vec::with_capacity(count);
    for _ in 0..count {
        let class = seeded.below(classes);
        let mut document = Document {
            key: class,
            terms: Vec::new(),
        };
        for _ in 0..=seeded.below(length * 2) {
            // Half of the terms are the topic's own.
            let own = terms / classes.max(1);
            let term = if seeded.below(2) == 0 {
                class * own + seeded.below(own.max(1))
            } else {
                seeded.below(terms)
            };
            document.terms.push(term.min(terms.saturating_sub(1)));
        }
        documents.push(document);
    }
    documents
}

/// A table to be loaded.
#[derive(Debug, Clone, Copy)]
pub struct LoadPacket<'a> {
    /// What documents name it by; not 0.
    pub model: u64,
    /// The table.
    pub table: &'a BayesTable,
}

impl SerializePacket for LoadPacket<'_> {
    fn serialize(&self, block: &mut [u8]) -> Result<Layout, Unfit> {
        let dimension = Unfit::dimension(TERMS, self.table.terms())?;
        let needed = self.table.logs.len() * 4;
        let block = block.get_mut(..needed).ok_or(Unfit::Block(needed))?;
        for (place, log) in block.chunks_exact_mut(4).zip(&self.table.logs) {
            place.copy_from_slice(&log.to_le_bytes());
        }
        Ok(Layout {
            length: needed,
            header: Header {
                function: Function::BayesMap.number(),
                centroids: narrow(self.table.classes),
                dimension,
                bytes_per_dimension: 4,
                centroid_type: types::Q8_24,
                flags: LOAD,
                model: self.model,
                ..Header::default()
            },
        })
    }
}

/// Documents to be classified.
#[derive(Debug, Clone, Copy)]
pub struct DocumentsPacket<'a> {
    /// A table that was loaded.
    pub model: u64,
    /// Terms of its vocabulary.
    pub terms: usize,
    /// The documents.
    pub documents: &'a [Document],
}

impl SerializePacket for DocumentsPacket<'_> {
    fn serialize(&self, block: &mut [u8]) -> Result<Layout, Unfit> {
        let dimension = Unfit::dimension(TERMS, self.terms)?;
        let lengths = self.documents.iter().map(|it| 8 + it.terms.len() * 4);
        let needed = lengths.sum();
        let block = block.get_mut(..needed).ok_or(Unfit::Block(needed))?;
        let numbers = self.documents.iter().flat_map(|document| {
            [document.key, narrow(document.terms.len())]
                .into_iter()
                .chain(document.terms.iter().copied())
        });
        for (place, number) in block.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        Ok(Layout {
            length: needed,
            header: Header {
                function: Function::BayesMap.number(),
                pairs: narrow(self.documents.len()),
                dimension,
                bytes_per_dimension: 4,
                key_type: types::U32,
                value_type: types::U32,
                model: self.model,
                ..Header::default()
            },
        })
    }
}

/// The class of each key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classes(pub Vec<(u32, u32)>);

impl DeserializePacket for Classes {
    fn deserialize(result: &[u8]) -> Result<Self, String> {
        if !result.len().is_multiple_of(8) {
            return Err(format!("{} bytes are no pairs of 8", result.len()));
        }
        let keys = words(result).step_by(2);
        let classes = words(result).skip(1).step_by(2);
        Ok(Self(keys.zip(classes).collect()))
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts beyond 2^53 are no counts of documents"
)]
const fn float(count: u64) -> f64 {
    count as f64
}

fn narrow(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_made_table_classifies() {
        let train = [
            Document {
                key: 0,
                terms: vec![0, 0, 1],
            },
            Document {
                key: 1,
                terms: vec![2, 2, 1],
            },
        ];
        let table = BayesTable::train(&train, 2, 3);
        assert_eq!((table.classes, table.terms(), table.logs.len()), (2, 3, 8));
        // log((2 + 1) / (3 + 3)): term 0 was there twice among the three of class 0.
        assert_eq!(table.logs[2], q24(0.5f64.ln()));
        assert_eq!(table.classify(&[0]), Some(0));
        assert_eq!(table.classify(&[2, 2]), Some(1));
        assert_eq!(table.classify(&[1]), Some(0), "a tie");
        assert_eq!(table.classify(&[]), Some(0), "a tie");
        assert_eq!(table.classify(&[3]), None);
    }

    #[test]
    fn a_vocabulary_that_no_header_can_say_is_refused() {
        let mut block = vec![0; 1 << 19];
        for (terms, fits) in [(65_535, true), (65_536, false)] {
            let table = BayesTable {
                classes: 1,
                logs: vec![0; terms + 1],
            };
            let load = LoadPacket {
                model: 1,
                table: &table,
            };
            let packet = DocumentsPacket {
                model: 1,
                terms,
                documents: &[],
            };
            for layout in [load.serialize(&mut block), packet.serialize(&mut block)] {
                match layout {
                    Ok(layout) => assert!(fits && usize::from(layout.header.dimension) == terms),
                    Err(unfit) => {
                        assert!(!fits);
                        assert_eq!(
                            unfit.to_string(),
                            "65536 terms of a vocabulary are more than 65535, the most that the header of a packet can say: use fewer"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn topics_that_exist_are_found() {
        let table = BayesTable::train(&generate(1, 400, 4, 64, 20), 4, 64);
        let documents = generate(2, 200, 4, 64, 20);
        let right = documents
            .iter()
            .filter(|it| table.classify(&it.terms) == Some(it.key))
            .count();
        assert!(right > 180, "{right} of 200");
    }
}
