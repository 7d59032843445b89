//! Packets of K-means, and what their results say.

use crate::board::model::{longs, words};
use crate::client::{DeserializePacket, Layout, SerializePacket, Unfit};
use crate::function::Function;
use crate::packet::{COMBINE, Header, types};
use crate::work::MOST_STEPS;

/// What the header's dimension counts.
const ELEMENTS: &str = "elements of a vector";

/// Vectors with their keys: n of one, n × dimension of the other, Q1.22.
#[derive(Debug, Clone, Copy)]
pub struct Keyed<'a> {
    /// One for each vector.
    pub keys: &'a [u32],
    /// n × dimension.
    pub vectors: &'a [i32],
}

/// Centroids and vectors for `kmeans-map`.
#[derive(Debug, Clone, Copy)]
pub struct MapPacket<'a> {
    /// k × dimension, Q1.22.
    pub centroids: &'a [i32],
    /// The vectors.
    pub pairs: Keyed<'a>,
    /// Elements of a vector.
    pub dimension: usize,
    /// Whether the card adds up what belongs to one centroid.
    pub combine: bool,
}

impl MapPacket<'_> {
    /// Vectors that fit into a block beside k centroids, and that one packet may ask for.
    pub fn most(block: usize, k: usize, dimension: usize) -> usize {
        let fit = block.saturating_sub(k * dimension * 4) / (4 + dimension * 4);
        let steps = usize::try_from(MOST_STEPS).unwrap_or(usize::MAX);
        fit.min(steps / (k * dimension).max(1))
    }
}

impl SerializePacket for MapPacket<'_> {
    fn serialize(&self, block: &mut [u8]) -> Result<Layout, Unfit> {
        let d = self.dimension.max(1);
        let dimension = Unfit::dimension(ELEMENTS, d)?;
        let stride = 4 + d * 4;
        let start = self.centroids.len() * 4;
        let needed = start + self.pairs.keys.len() * stride;
        let block = block.get_mut(..needed).ok_or(Unfit::Block(needed))?;
        let (centroids, pairs) = block.split_at_mut(start);
        put(self.centroids, centroids);
        let rows = self
            .pairs
            .keys
            .iter()
            .zip(self.pairs.vectors.chunks_exact(d));
        for (pair, (key, vector)) in pairs.chunks_exact_mut(stride).zip(rows) {
            let (head, tail) = pair.split_at_mut(4);
            head.copy_from_slice(&key.to_le_bytes());
            put(vector, tail);
        }
        Ok(Layout {
            length: needed,
            header: Header {
                function: Function::KmeansMap.number(),
                centroids: narrow(self.centroids.len() / d),
                pairs: narrow(self.pairs.keys.len()),
                pair_offset: narrow(start),
                dimension,
                bytes_per_dimension: 4,
                centroid_type: types::Q1_22,
                key_type: types::U32,
                value_type: types::Q1_22,
                flags: if self.combine { COMBINE } else { 0 },
                ..Header::default()
            },
        })
    }
}

/// Partial sums for `kmeans-reduce`.
#[derive(Debug, Clone, Copy)]
pub struct ReducePacket<'a> {
    /// What several packets of `kmeans-map` gave.
    pub partial: &'a [Sums],
}

impl SerializePacket for ReducePacket<'_> {
    fn serialize(&self, block: &mut [u8]) -> Result<Layout, Unfit> {
        let (k, d) = self
            .partial
            .first()
            .map_or((0, 0), |sums| (sums.k(), sums.dimension()));
        let dimension = Unfit::dimension(ELEMENTS, d)?;
        let stride = 4 + (d + 1) * 8;
        let pairs = self.partial.len() * k;
        let needed = pairs * stride;
        let block = block.get_mut(..needed).ok_or(Unfit::Block(needed))?;
        let rows = self
            .partial
            .iter()
            .flat_map(|sums| sums.values.chunks_exact(d + 1).enumerate());
        for (pair, (cluster, row)) in block.chunks_exact_mut(stride).zip(rows) {
            let (key, values) = pair.split_at_mut(4);
            key.copy_from_slice(&narrow(cluster).to_le_bytes());
            for (place, value) in values.chunks_exact_mut(8).zip(row) {
                place.copy_from_slice(&value.to_le_bytes());
            }
        }
        Ok(Layout {
            length: needed,
            header: Header {
                function: Function::KmeansReduce.number(),
                centroids: narrow(k),
                pairs: narrow(pairs),
                dimension,
                bytes_per_dimension: 8,
                key_type: types::U32,
                value_type: types::I64,
                ..Header::default()
            },
        })
    }
}

/// Counts and sums of k clusters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sums {
    dimension: usize,
    /// k × (count, dimension sums).
    values: Vec<i64>,
}

impl Sums {
    /// Of k clusters that have nothing.
    pub fn zero(k: usize, dimension: usize) -> Self {
        Self {
            dimension,
            values: vec![0; k * (dimension + 1)],
        }
    }

    /// From the bytes of a result.
    pub fn read(result: &[u8], dimension: usize) -> Self {
        Self {
            dimension,
            values: longs(result).collect(),
        }
    }

    /// How many clusters the card summed up.
    pub fn k(&self) -> usize {
        self.values.len() / (self.dimension + 1)
    }

    /// Elements of a vector.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Count and sums of each cluster.
    pub fn rows(&self) -> impl Iterator<Item = (u64, &[i64])> {
        self.values
            .chunks_exact(self.dimension + 1)
            .map(|row| (row[0].cast_unsigned(), &row[1..]))
    }

    /// Adds a vector to a cluster.
    pub fn add(&mut self, cluster: usize, vector: &[i32]) {
        let width = self.dimension + 1;
        let row = &mut self.values[cluster * width..][..width];
        row[0] = row[0].wrapping_add(1);
        for (sum, &value) in row[1..].iter_mut().zip(vector) {
            *sum = sum.wrapping_add(value.into());
        }
    }

    /// Adds what others have summed.
    pub fn merge(&mut self, other: &Self) {
        for (sum, value) in self.values.iter_mut().zip(&other.values) {
            *sum = sum.wrapping_add(*value);
        }
    }
}

/// The cluster of each key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignments(pub Vec<(u32, u32)>);

impl DeserializePacket for Assignments {
    fn deserialize(result: &[u8]) -> Result<Self, String> {
        if !result.len().is_multiple_of(8) {
            return Err(format!("{} bytes are no pairs of 8", result.len()));
        }
        let keys = words(result).step_by(2);
        let clusters = words(result).skip(1).step_by(2);
        Ok(Self(keys.zip(clusters).collect()))
    }
}

/// Puts little-endian words into their place.
fn put(values: &[i32], into: &mut [u8]) {
    for (place, value) in into.chunks_exact_mut(4).zip(values) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

/// A length that a block's size bounds.
fn narrow(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::cpu;
    use super::*;
    use crate::board::card::Engine;
    use crate::board::model::Model;
    use crate::function::shape;

    fn run(packet: &impl SerializePacket) -> Vec<u8> {
        let mut block = vec![0xaa; 1 << 16];
        let layout = packet.serialize(&mut block).unwrap();
        let header = Header {
            data_length: layout.length as u64,
            result_capacity: 1 << 16,
            ..layout.header
        };
        let shape = shape(&header).unwrap();
        let answer = Model.run(&shape, &block[..layout.length], None).unwrap();
        assert_eq!(answer.result.len(), shape.result);
        answer.result
    }

    #[test]
    fn the_model_agrees_with_the_processor() {
        let (d, k) = (16, 5);
        let vectors = cpu::generate(3, 200, d, 7);
        let centroids = cpu::generate(4, k, d, 7);
        let keys: Vec<u32> = (1000..1200).collect();
        let mut packet = MapPacket {
            centroids: &centroids,
            pairs: Keyed {
                keys: &keys,
                vectors: &vectors,
            },
            dimension: d,
            combine: false,
        };
        let Assignments(found) = Assignments::deserialize(&run(&packet)).unwrap();
        for ((key, cluster), (at, vector)) in found.iter().zip(vectors.chunks(d).enumerate()) {
            assert_eq!(*key, keys[at]);
            assert_eq!(
                usize::try_from(*cluster).unwrap(),
                cpu::nearest(vector, &centroids)
            );
        }
        packet.combine = true;
        let sums = Sums::read(&run(&packet), d);
        assert_eq!(sums, cpu::assign(&vectors, &centroids, d));

        let reduced = ReducePacket {
            partial: &[sums.clone(), sums.clone(), Sums::zero(k, d)],
        };
        let mut twice = sums.clone();
        twice.merge(&sums);
        assert_eq!(Sums::read(&run(&reduced), d), twice);
    }

    #[test]
    fn what_does_not_fit_says_what_it_needs() {
        let vectors = cpu::generate(3, 2, 128, 1);
        let packet = MapPacket {
            centroids: &vectors[..128],
            pairs: Keyed {
                keys: &[1, 2],
                vectors: &vectors,
            },
            dimension: 128,
            combine: true,
        };
        assert_eq!(
            packet.serialize(&mut [0; 1000]),
            Err(Unfit::Block(512 + 2 * 516))
        );
        assert_eq!(MapPacket::most(1 << 20, 16, 128), 2016);
        // 65,536 would fit into the block.
        assert_eq!(MapPacket::most(1 << 20, 1 << 17, 1), 2048);
    }

    #[test]
    fn vectors_that_no_header_can_say_are_refused() {
        let long = vec![0; 65_536];
        let packet = MapPacket {
            centroids: &long,
            pairs: Keyed {
                keys: &[1],
                vectors: &long,
            },
            dimension: long.len(),
            combine: false,
        };
        let reduce = ReducePacket {
            partial: &[Sums::zero(1, long.len())],
        };
        let mut block = vec![0; 1 << 20];
        for refused in [packet.serialize(&mut block), reduce.serialize(&mut block)] {
            assert!(
                matches!(refused, Err(Unfit::Header { number: 65_536, .. })),
                "{refused:?}"
            );
        }
    }
}
