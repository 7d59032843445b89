//! How much work a packet asks for, and how much it may ask for.
//!
//! A card computes one packet at a time, and meanwhile the packets of all leases wait.  A block bounds
//! the bytes of a packet; this bounds what grows faster than its bytes:
//!
//! | function        | steps                                               |
//! |-----------------|-----------------------------------------------------|
//! | `kmeans-map`    | centroids × vectors × dimension                     |
//! | `bayes-map`     | (documents + their terms) × classes of the table    |
//! | all others      | none: data and result are a block each, at most     |
//!
//! Client and driver judge alike: the client before it sends, the driver because clients can send
//! anything.

use crate::function::{Function, PacketShape};
use std::fmt;

/// Steps that one packet may ask for.  A card of 200 MHz that takes one step a cycle is done in 1.3 s,
/// before the driver takes it for dead (2 s, `patience_ms`).
pub const MOST_STEPS: u64 = 1 << 28;

/// The product that says how long a packet takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Each vector with each centroid, element by element.
    Vectors {
        /// Centroids.
        centroids: usize,
        /// Vectors.
        vectors: usize,
        /// Elements of a vector.
        dimension: usize,
    },
    /// Each document and each of its terms, for each class.
    Documents {
        /// Documents.
        documents: usize,
        /// Terms of all documents.
        terms: usize,
        /// Classes of the table.
        classes: usize,
    },
    /// No more than to read the data once and to write the result once.
    Bytes,
}

/// A packet that asks for more than [`MOST_STEPS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} are {steps} steps, and one packet may ask for at most {MOST_STEPS}: send fewer pairs in each packet",
    steps = .0.steps()
)]
pub struct TooMuchWork(pub Work);

impl Work {
    /// What a packet asks for; `classes` are those of the table that it names.
    pub fn of(shape: &PacketShape, classes: usize) -> Self {
        match shape.function {
            Function::KmeansMap => Self::Vectors {
                centroids: shape.k,
                vectors: shape.pairs,
                dimension: shape.dimension,
            },
            Function::BayesMap if !shape.load => {
                let heads = shape.pairs.saturating_mul(shape.key.saturating_add(4));
                let lists = shape
                    .data
                    .saturating_sub(shape.pairs_at)
                    .saturating_sub(heads);
                Self::Documents {
                    documents: shape.pairs,
                    terms: lists / 4,
                    classes,
                }
            }
            _ => Self::Bytes,
        }
    }

    /// The product; what is beyond 64 bits is the largest number.
    pub fn steps(self) -> u64 {
        let product = match self {
            Self::Vectors {
                centroids,
                vectors,
                dimension,
            } => centroids.saturating_mul(vectors).saturating_mul(dimension),
            Self::Documents {
                documents,
                terms,
                classes,
            } => documents.saturating_add(terms).saturating_mul(classes),
            Self::Bytes => 0,
        };
        u64::try_from(product).unwrap_or(u64::MAX)
    }

    /// Whether a card that has so many steps before it takes this too: what comes from another lease
    /// next waits for no more than one packet's steps.
    pub fn fits_beside(self, on_card: u64) -> bool {
        on_card == 0 || on_card.saturating_add(self.steps()) <= MOST_STEPS
    }

    /// Whether one packet may ask for it.
    ///
    /// # Errors
    ///
    /// It may not.
    pub fn allowed(self) -> Result<(), TooMuchWork> {
        if self.steps() <= MOST_STEPS {
            Ok(())
        } else {
            Err(TooMuchWork(self))
        }
    }
}

impl TooMuchWork {
    /// The steps in millions, rounded up: what one word of the control page can say.
    pub fn millions(self) -> u32 {
        u32::try_from(self.0.steps().div_ceil(1_000_000)).unwrap_or(u32::MAX)
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vectors {
                centroids,
                vectors,
                dimension,
            } => write!(
                f,
                "{centroids} centroids x {vectors} vectors x dimension {dimension}"
            ),
            Self::Documents {
                documents,
                terms,
                classes,
            } => write!(
                f,
                "({documents} documents + {terms} terms) x {classes} classes"
            ),
            Self::Bytes => f.write_str("the bytes of the packet"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::shape;
    use crate::packet::{Header, LOAD, types};

    fn vectors(k: u32, n: u32, d: u16) -> Header {
        Header {
            function: Function::KmeansMap.number(),
            data_length: u64::from(k) * u64::from(d) * 4 + u64::from(n) * (4 + u64::from(d) * 4),
            result_capacity: u64::MAX,
            centroids: k,
            pairs: n,
            pair_offset: k * u32::from(d) * 4,
            dimension: d,
            bytes_per_dimension: 4,
            centroid_type: types::Q1_22,
            key_type: types::U32,
            value_type: types::Q1_22,
            ..Header::default()
        }
    }

    fn documents(n: u32, terms: u64, flags: u16) -> Header {
        Header {
            function: Function::BayesMap.number(),
            data_length: u64::from(n) * 8 + terms * 4,
            result_capacity: u64::MAX,
            pairs: n,
            dimension: 7,
            bytes_per_dimension: 4,
            key_type: types::U32,
            value_type: types::U32,
            model: 1,
            flags,
            ..Header::default()
        }
    }

    #[test]
    fn packets_may_ask_for_so_much_and_no_more() {
        let table = Header {
            centroids: 1 << 17,
            pairs: 0,
            dimension: 1,
            data_length: 1 << 20,
            centroid_type: types::Q8_24,
            key_type: 0,
            value_type: 0,
            ..documents(0, 0, LOAD)
        };
        let cases: [(Header, usize, u64, bool); 9] = [
            (vectors(16, 2016, 128), 0, 4_128_768, true),
            (vectors(1 << 14, 1 << 14, 1), 0, 1 << 28, true),
            (
                vectors(1 << 14, (1 << 14) + 1, 1),
                0,
                (1 << 28) + (1 << 14),
                false,
            ),
            // One block of 1 MiB.
            (vectors(131_072, 65_536, 1), 0, 8_589_934_592, false),
            (documents(1000, 60_000, 0), 16, 976_000, true),
            // Documents without a word cost their classes all the same.
            (documents(131_072, 0, 0), 2048, 1 << 28, true),
            (documents(131_072, 0, 0), 2049, (1 << 28) + 131_072, false),
            (documents(1, 131_072, 0), 131_072, 17_180_000_256, false),
            (table, 0, 0, true),
        ];
        for (header, classes, steps, allowed) in cases {
            let work = Work::of(&shape(&header).unwrap(), classes);
            assert_eq!(work.steps(), steps, "{work}");
            assert_eq!(work.allowed().is_ok(), allowed, "{work}");
        }
    }

    #[test]
    fn a_card_holds_no_more_than_one_packets_steps() {
        let of = |vectors| Work::Vectors {
            centroids: 1 << 14,
            vectors,
            dimension: 1,
        };
        let most = 1 << 14;
        for (vectors, on_card, fits) in [
            (most, 0, true),
            (most, 1, false),
            (most / 2, MOST_STEPS / 2, true),
            (most / 2 + 1, MOST_STEPS / 2, false),
        ] {
            assert_eq!(
                of(vectors).fits_beside(on_card),
                fits,
                "{vectors} {on_card}"
            );
        }
        assert!(Work::Bytes.fits_beside(MOST_STEPS));
    }

    #[test]
    fn a_refusal_names_the_product_and_the_limit() {
        let much = Work::of(&shape(&vectors(131_072, 65_536, 1)).unwrap(), 0)
            .allowed()
            .unwrap_err();
        assert_eq!(
            much.to_string(),
            "131072 centroids x 65536 vectors x dimension 1 are 8589934592 steps, and one packet may ask for at most 268435456: send fewer pairs in each packet"
        );
        assert_eq!(much.millions(), 8590);
    }
}
