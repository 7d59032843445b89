//! The functions of an accelerator in Rust: what every other board must compute, bit for bit.
//!
//! | step                       | cycles                                           |
//! |----------------------------|--------------------------------------------------|
//! | centroids to the core      | k × d                                            |
//! | one vector                 | max(d, k): k products at a time                  |
//! | the last two leave the pipe | 2 × max(d, k)                                   |
//! | sums out                   | k × (d + 1)                                      |
//! | one partial sum (reduce)   | d + 1                                            |
//! | one document (Bayes)       | 1, 1 a term, and k for its class                 |

use super::card::{CardTable, Engine, EngineAnswer};
use super::error;
use crate::function::{Function, PacketShape};

/// The model of a card with all functions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Model;

impl Engine for Model {
    fn functions(&self) -> u32 {
        Function::ALL.iter().fold(0, |all, it| all | it.bit())
    }

    fn run(
        &mut self,
        shape: &PacketShape,
        data: &[u8],
        table: Option<&CardTable>,
    ) -> Result<EngineAnswer, u32> {
        match shape.function {
            Function::KmeansMap => kmeans_map(shape, data),
            Function::KmeansReduce => kmeans_reduce(shape, data),
            Function::BayesMap => bayes_map(shape, data, table.ok_or(error::NO_MODEL)?),
            Function::Echo => Ok(EngineAnswer {
                result: data.to_vec(),
                cycles: 0,
            }),
            Function::Sink => Ok(sink(data)),
        }
    }
}

/// What `sink` answers: length and CRC of what it swallowed.
pub fn sink(data: &[u8]) -> EngineAnswer {
    let mut result = (data.len() as u64).to_le_bytes().to_vec();
    result.extend(u64::from(crc32c::crc32c(data)).to_le_bytes());
    EngineAnswer { result, cycles: 0 }
}

/// Little-endian words of 32 bits; what is left over is dropped.
pub fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

/// The same, signed.
pub fn signed(bytes: &[u8]) -> impl Iterator<Item = i32> {
    words(bytes).map(u32::cast_signed)
}

/// Little-endian words of 64 bits, signed.
pub fn longs(bytes: &[u8]) -> impl Iterator<Item = i64> {
    bytes
        .chunks_exact(8)
        .map(|word| i64::from_le_bytes(std::array::from_fn(|i| word[i])))
}

/// A part of the data whose lengths [`crate::function::shape`] has checked.
fn part(data: &[u8], at: usize, length: usize) -> Result<&[u8], u32> {
    data.get(at..)
        .and_then(|rest| rest.get(..length))
        .ok_or(error::DATA)
}

fn kmeans_map(shape: &PacketShape, data: &[u8]) -> Result<EngineAnswer, u32> {
    let (k, d) = (shape.k, shape.dimension);
    let centroids: Vec<i32> = signed(part(data, shape.centroids_at, k * d * 4)?).collect();
    let stride = shape.key + d * 4;
    let pairs = part(data, shape.pairs_at, shape.pairs * stride)?;
    let mut vector = vec![0i32; d];
    let mut sums = vec![0i64; if shape.combine { k * (d + 1) } else { 0 }];
    let mut result = Vec::with_capacity(shape.result);
    for pair in pairs.chunks_exact(stride) {
        for (element, value) in vector.iter_mut().zip(signed(&pair[shape.key..])) {
            *element = value;
        }
        let mut nearest = (0, i64::MIN);
        for (index, centroid) in centroids.chunks_exact(d).enumerate() {
            let dot = centroid.iter().zip(&vector).fold(0i64, |sum, (&c, &v)| {
                sum.wrapping_add(i64::from(c) * i64::from(v))
            });
            if index == 0 || dot > nearest.1 {
                nearest = (index, dot);
            }
        }
        let cluster = nearest.0;
        if shape.combine {
            let row = &mut sums[cluster * (d + 1)..][..=d];
            row[0] += 1;
            for (sum, &value) in row[1..].iter_mut().zip(&vector) {
                *sum = sum.wrapping_add(value.into());
            }
        } else {
            result.extend_from_slice(&pair[..shape.key]);
            let cluster = u32::try_from(cluster).map_err(|_beyond| error::TOO_LARGE)?;
            result.extend(cluster.to_le_bytes());
        }
    }
    for sum in &sums {
        result.extend(sum.to_le_bytes());
    }
    let beat = d.max(k);
    let cycles = k * d + (shape.pairs + 2) * beat + sums.len();
    Ok(EngineAnswer {
        result,
        cycles: cycles as u64,
    })
}

fn kmeans_reduce(shape: &PacketShape, data: &[u8]) -> Result<EngineAnswer, u32> {
    let width = shape.dimension + 1;
    let stride = shape.key + width * 8;
    let pairs = part(data, shape.pairs_at, shape.pairs * stride)?;
    let mut sums = vec![0i64; shape.k * width];
    for pair in pairs.chunks_exact(stride) {
        let cluster = key(&pair[..shape.key])
            .filter(|&cluster| cluster < shape.k)
            .ok_or(error::DATA)?;
        let row = &mut sums[cluster * width..][..width];
        for (sum, value) in row.iter_mut().zip(longs(&pair[shape.key..])) {
            *sum = sum.wrapping_add(value);
        }
    }
    let result = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
    Ok(EngineAnswer {
        result,
        cycles: ((shape.pairs + shape.k) * width) as u64,
    })
}

/// A key of 4 or 8 bytes as an index.
pub fn key(bytes: &[u8]) -> Option<usize> {
    let value = match bytes.len() {
        4 => u64::from(words(bytes).next()?),
        8 => longs(bytes).next()?.cast_unsigned(),
        _ => return None,
    };
    usize::try_from(value).ok()
}

fn bayes_map(shape: &PacketShape, data: &[u8], table: &CardTable) -> Result<EngineAnswer, u32> {
    let classes = table.shape.k;
    let terms = table.shape.dimension;
    if terms != shape.dimension {
        return Err(error::NO_MODEL);
    }
    let table: Vec<i32> = signed(part(
        &table.data,
        table.shape.centroids_at,
        (terms + 1) * classes * 4,
    )?)
    .collect();
    let (priors, rows) = table.split_at(classes);
    let mut result = Vec::with_capacity(shape.result);
    let mut cycles = 0;
    for document in documents(shape, data) {
        let (key, list) = document?;
        let mut scores: Vec<i64> = priors.iter().map(|&prior| prior.into()).collect();
        for term in words(list) {
            let term = usize::try_from(term)
                .ok()
                .filter(|&term| term < terms)
                .ok_or(error::DATA)?;
            for (score, &log) in scores.iter_mut().zip(&rows[term * classes..]) {
                *score = score.wrapping_add(log.into());
            }
        }
        let mut best = 0;
        for (class, score) in scores.iter().enumerate() {
            if *score > scores[best] {
                best = class;
            }
        }
        result.extend_from_slice(key);
        let class = u32::try_from(best).map_err(|_beyond| error::TOO_LARGE)?;
        result.extend(class.to_le_bytes());
        cycles += 1 + list.len() / 4 + classes;
    }
    Ok(EngineAnswer {
        result,
        cycles: cycles as u64,
    })
}

/// The documents of a packet: key, and list of term ids as bytes.
pub fn documents<'a>(
    shape: &'a PacketShape,
    data: &'a [u8],
) -> impl Iterator<Item = Result<(&'a [u8], &'a [u8]), u32>> {
    let mut rest = data.get(shape.pairs_at..).unwrap_or(&[]);
    (0..shape.pairs).map(move |_| {
        let (key, after) = rest.split_at_checked(shape.key).ok_or(error::DATA)?;
        let (count, after) = after.split_at_checked(4).ok_or(error::DATA)?;
        let bytes = words(count)
            .next()
            .and_then(|count| usize::try_from(count).ok()?.checked_mul(4))
            .ok_or(error::DATA)?;
        let (list, after) = after.split_at_checked(bytes).ok_or(error::DATA)?;
        rest = after;
        Ok((key, list))
    })
}
