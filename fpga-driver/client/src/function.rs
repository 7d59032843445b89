//! What an accelerator computes, and what a packet must look like for it.
//!
//! | function        | data                                                  | result                                     |
//! |-----------------|-------------------------------------------------------|--------------------------------------------|
//! | `echo`          | anything                                              | the same bytes                             |
//! | `sink`          | anything                                              | its length (u64) and CRC-32C (u64)         |
//! | `kmeans-map`    | k × d Q1.22; pairs of key and d Q1.22                 | pairs of key and cluster (u32)             |
//! |  with COMBINE   | the same                                              | k × (count u64, d sums i64)                |
//! | `kmeans-reduce` | pairs of cluster (key) and count, d sums (i64)        | k × (count u64, d sums i64)                |
//! | `bayes-map`, LOAD | (d terms + 1) × k classes Q8.24, the first row the priors | nothing                            |
//! | `bayes-map`     | pairs of key, n (u32) and n term ids (u32)            | pairs of key and class (u32)               |
//!
//! K-means is spherical: vectors and centroids are normalised, so that the nearest centroid is the one
//! with the largest dot product; ties go to the lowest.  All sums are of 64 bits and wrap.

use crate::packet::{COMBINE, Field, Header, LOAD, types};
use std::fmt;
use std::str::FromStr;

/// Tables that one lease may keep loaded.
pub const TABLES_PER_LEASE: usize = 8;

/// A function of an accelerator; the number is the header's.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[repr(u16)]
pub enum Function {
    /// Gives the data back: for trying the way to the card.
    Echo = 1,
    /// Nearest centroid of each vector, and with COMBINE their sums.
    KmeansMap = 2,
    /// Sums of sums, by cluster.
    KmeansReduce = 3,
    /// The likeliest class of each document.
    BayesMap = 4,
    /// Swallows the data: for measuring the way to the card.
    Sink = 5,
}

impl Function {
    /// All functions, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Echo,
        Self::KmeansMap,
        Self::KmeansReduce,
        Self::BayesMap,
        Self::Sink,
    ];

    /// The number in header and registers.
    pub fn number(self) -> u16 {
        self as u16
    }

    /// The function of this number.
    pub fn of(number: u16) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|function| function.number() == number)
    }

    /// The function's bit in the register of functions.
    pub fn bit(self) -> u32 {
        1 << self.number()
    }

    /// The name in profiles and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::KmeansMap => "kmeans-map",
            Self::KmeansReduce => "kmeans-reduce",
            Self::BayesMap => "bayes-map",
            Self::Sink => "sink",
        }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no function's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no function of an accelerator: there are {names}", names = names())]
pub struct UnknownFunction(pub String);

fn names() -> String {
    Function::ALL.map(Function::name).join(", ")
}

impl FromStr for Function {
    type Err = UnknownFunction;

    fn from_str(name: &str) -> Result<Self, UnknownFunction> {
        Self::ALL
            .into_iter()
            .find(|function| function.name() == name)
            .ok_or_else(|| UnknownFunction(name.to_owned()))
    }
}

/// What a packet asks for, its lengths and offsets checked against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketShape {
    /// What is computed.
    pub function: Function,
    /// Bytes of data.
    pub data: usize,
    /// Centroids or classes.
    pub k: usize,
    /// Where in the data they begin, bytes.
    pub centroids_at: usize,
    /// Elements of a vector; terms of a vocabulary.
    pub dimension: usize,
    /// Number of pairs.
    pub pairs: usize,
    /// Where in the data they begin, bytes.
    pub pairs_at: usize,
    /// Bytes of a key.
    pub key: usize,
    /// Whether the data is a table to be kept.
    pub load: bool,
    /// Whether the card adds up what belongs to one centroid.
    pub combine: bool,
    /// The table that is loaded or named; 0 for none.
    pub model: u64,
    /// Bytes of the result.
    pub result: usize,
}

/// Judges what a header says.
///
/// # Errors
///
/// The field that is wrong.
pub fn shape(header: &Header) -> Result<PacketShape, Field> {
    let function = Function::of(header.function).ok_or(Field::Function)?;
    let size = |value: u64, field| usize::try_from(value).map_err(|_beyond_memory| field);
    let mut shape = PacketShape {
        function,
        data: size(header.data_length, Field::DataLength)?,
        k: size(header.centroids.into(), Field::Centroids)?,
        centroids_at: size(header.centroid_offset.into(), Field::CentroidOffset)?,
        dimension: header.dimension.into(),
        pairs: size(header.pairs.into(), Field::Pairs)?,
        pairs_at: size(header.pair_offset.into(), Field::PairOffset)?,
        key: match header.key_type {
            types::NONE => 0,
            types::U32 => 4,
            types::U64 => 8,
            _ => return Err(Field::KeyType),
        },
        load: header.flags & LOAD != 0,
        combine: header.flags & COMBINE != 0,
        model: header.model,
        result: 0,
    };
    let allowed = match function {
        Function::KmeansMap => COMBINE,
        Function::BayesMap => LOAD,
        Function::Echo | Function::Sink | Function::KmeansReduce => 0,
    };
    if header.flags & !allowed != 0 {
        return Err(Field::Flags);
    }
    if (header.model != 0) != (function == Function::BayesMap) {
        return Err(Field::Model);
    }
    let typed = |expected: [(u8, u8, Field); 4]| {
        expected
            .into_iter()
            .find(|(found, wanted, _)| found != wanted)
            .map_or(Ok(()), |(_, _, field)| Err(field))
    };
    let types_are = |centroid, value, bytes| {
        typed([
            (header.centroid_type, centroid, Field::CentroidType),
            (header.value_type, value, Field::ValueType),
            (header.bytes_per_dimension, bytes, Field::BytesPerDimension),
            (0, 0, Field::Zero),
        ])
    };
    match function {
        Function::Echo | Function::Sink => {
            types_are(types::NONE, types::NONE, 0)?;
            if shape.pairs != 0 {
                return Err(Field::Pairs);
            }
            shape.result = match function {
                Function::Echo => shape.data,
                _ => 16,
            };
        }
        Function::KmeansMap => {
            types_are(types::Q1_22, types::Q1_22, 4)?;
            shape.keyed()?;
            shape.table(shape.k, 4)?;
            shape.rows(shape.key + shape.dimension * 4)?;
            shape.result = if shape.combine {
                shape.sums()?
            } else {
                shape.pairs * (shape.key + 4)
            };
        }
        Function::KmeansReduce => {
            types_are(types::NONE, types::I64, 8)?;
            shape.keyed()?;
            if shape.k == 0 {
                return Err(Field::Centroids);
            }
            shape.rows(shape.key + (shape.dimension + 1) * 8)?;
            shape.result = shape.sums()?;
        }
        Function::BayesMap if shape.load => {
            types_are(types::Q8_24, types::NONE, 4)?;
            if shape.pairs != 0 {
                return Err(Field::Pairs);
            }
            let classes = shape.k;
            if classes == 0 {
                return Err(Field::Centroids);
            }
            shape.within(
                shape.centroids_at,
                (shape.dimension + 1).checked_mul(classes),
                4,
                Field::CentroidOffset,
            )?;
        }
        Function::BayesMap => {
            types_are(types::NONE, types::U32, 4)?;
            shape.keyed()?;
            // Lengths of documents stand in the data; each has at least its key and its count.
            shape.within(
                shape.pairs_at,
                Some(shape.pairs),
                shape.key + 4,
                Field::Pairs,
            )?;
            shape.result = shape.pairs * (shape.key + 4);
        }
    }
    if size(header.result_capacity, Field::ResultCapacity)? < shape.result {
        return Err(Field::ResultCapacity);
    }
    Ok(shape)
}

impl PacketShape {
    fn keyed(&self) -> Result<(), Field> {
        if self.key == 0 {
            return Err(Field::KeyType);
        }
        if self.dimension == 0 {
            return Err(Field::Dimension);
        }
        Ok(())
    }

    /// Whether `count` things of `each` bytes, from `start` on, lie in the data.
    fn within(
        &self,
        start: usize,
        count: Option<usize>,
        each: usize,
        field: Field,
    ) -> Result<(), Field> {
        count
            .and_then(|count| count.checked_mul(each))
            .and_then(|bytes| bytes.checked_add(start))
            .filter(|&end| end <= self.data)
            .map(|_| ())
            .ok_or(field)
    }

    fn table(&self, rows: usize, each: usize) -> Result<(), Field> {
        if rows == 0 {
            return Err(Field::Centroids);
        }
        self.within(
            self.centroids_at,
            rows.checked_mul(self.dimension),
            each,
            Field::CentroidOffset,
        )
    }

    fn rows(&self, each: usize) -> Result<(), Field> {
        self.within(self.pairs_at, Some(self.pairs), each, Field::Pairs)
    }

    /// Bytes of k counts and sums.
    fn sums(&self) -> Result<usize, Field> {
        self.k
            .checked_mul((self.dimension + 1) * 8)
            .ok_or(Field::Centroids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> Header {
        Header {
            function: 2,
            data_length: 16 * 512 + 3 * 516,
            result_capacity: 1 << 20,
            centroids: 16,
            pairs: 3,
            pair_offset: 16 * 512,
            dimension: 128,
            bytes_per_dimension: 4,
            centroid_type: types::Q1_22,
            key_type: types::U32,
            value_type: types::Q1_22,
            ..Header::default()
        }
    }

    #[test]
    fn results_have_the_length_that_the_table_says() {
        assert_eq!(shape(&map()).unwrap().result, 24);
        let combined = Header {
            flags: COMBINE,
            ..map()
        };
        assert_eq!(shape(&combined).unwrap().result, 16 * 129 * 8);
        let reduce = Header {
            function: 3,
            data_length: 2 * (4 + 129 * 8),
            pairs: 2,
            pair_offset: 0,
            centroid_type: 0,
            value_type: types::I64,
            bytes_per_dimension: 8,
            ..map()
        };
        assert_eq!(shape(&reduce).unwrap().result, 16 * 129 * 8);
    }

    #[test]
    fn each_wrong_field_is_named() {
        let cases: [(Header, Field); 12] = [
            (
                Header {
                    function: 9,
                    ..map()
                },
                Field::Function,
            ),
            (
                Header {
                    centroids: 0,
                    ..map()
                },
                Field::Centroids,
            ),
            (
                Header {
                    centroids: u32::MAX,
                    ..map()
                },
                Field::CentroidOffset,
            ),
            (
                Header {
                    centroid_offset: u32::MAX,
                    ..map()
                },
                Field::CentroidOffset,
            ),
            (Header { pairs: 4, ..map() }, Field::Pairs),
            (
                Header {
                    pair_offset: 16 * 512 + 1,
                    ..map()
                },
                Field::Pairs,
            ),
            (
                Header {
                    dimension: 0,
                    ..map()
                },
                Field::Dimension,
            ),
            (
                Header {
                    value_type: types::F32,
                    ..map()
                },
                Field::ValueType,
            ),
            (
                Header {
                    key_type: 7,
                    ..map()
                },
                Field::KeyType,
            ),
            (Header { flags: 4, ..map() }, Field::Flags),
            (Header { model: 1, ..map() }, Field::Model),
            (
                Header {
                    result_capacity: 23,
                    ..map()
                },
                Field::ResultCapacity,
            ),
        ];
        for (header, field) in cases {
            assert_eq!(shape(&header), Err(field));
        }
    }

    #[test]
    fn names_and_numbers_go_both_ways() {
        for function in Function::ALL {
            assert_eq!(function.name().parse(), Ok(function));
            assert_eq!(Function::of(function.number()), Some(function));
        }
        let unknown = "kmeans".parse::<Function>().unwrap_err().to_string();
        assert!(unknown.contains("kmeans-map"), "{unknown}");
    }
}
