//! Maps: the nearest centroid of each vector, and the sums of those that have the same.

use std::sync::Arc;

use fpga_driver::kmeans::{self, Keyed, MapPacket, Sums, normalise, parse_line};
use gerbil_mapreduce::AcceleratedMapper;
use gerbil_mapreduce::fpga::Function;
use gerbil_mapreduce::fpga::client::{DeserializePacket, Layout, SerializePacket, Unfit};
use gerbil_mapreduce::prelude::*;

use super::DIMENSION;

/// What goes to a board.
#[derive(Default)]
pub struct VectorPacket {
    centroids: Arc<Vec<i32>>,
    keys: Vec<u32>,
    vectors: Vec<i32>,
}

impl SerializePacket for VectorPacket {
    fn serialize(&self, block: &mut [u8]) -> Result<Layout, Unfit> {
        let packet = MapPacket {
            centroids: &self.centroids,
            pairs: Keyed {
                keys: &self.keys,
                vectors: &self.vectors,
            },
            dimension: DIMENSION,
            combine: true,
        };
        packet.serialize(block)
    }
}

/// What comes back.
pub struct PacketSums(pub Sums);

impl DeserializePacket for PacketSums {
    fn deserialize(result: &[u8]) -> Result<Self, String> {
        let row = (DIMENSION + 1) * 8;
        if !result.len().is_multiple_of(row) {
            return Err(format!("{} bytes are no sums of {row}", result.len()));
        }
        Ok(Self(Sums::read(result, DIMENSION)))
    }
}

/// Assigns the vectors of a split.
#[derive(Default)]
pub struct Assign {
    centroids: Arc<Vec<i32>>,
    floats: Vec<f32>,
    /// Vectors of a packet.
    most: usize,
    next: VectorPacket,
    sums: Option<Sums>,
}

impl Assign {
    fn empty(&self) -> VectorPacket {
        VectorPacket {
            centroids: Arc::clone(&self.centroids),
            keys: Vec::with_capacity(self.most),
            vectors: Vec::with_capacity(self.most * DIMENSION),
        }
    }
}

impl AcceleratedMapper for Assign {
    type Input = TextLines;
    type Key = u32;
    /// The number of vectors, and the sum of each element.
    type Value = List<i64>;
    type Packet = VectorPacket;
    type Answer = PacketSums;

    const FUNCTION: Function = Function::KmeansMap;

    fn setup(&mut self, context: &mut Context, block: usize) -> Result<()> {
        self.centroids = Arc::new(context.params()?);
        self.floats = vec![0.0; DIMENSION];
        self.most = MapPacket::most(block, self.centroids.len() / DIMENSION, DIMENSION);
        if self.most == 0 {
            let words =
                format!("no vector fits a block of {block} bytes beside the centroids: lower --k");
            return Err(Error::new(words));
        }
        self.next = self.empty();
        Ok(())
    }

    fn map(&mut self, _: u64, line: &[u8], _: &mut Context) -> Result<Option<VectorPacket>> {
        parse_line(line, &mut self.floats)
            .and_then(|()| normalise(&self.floats, &mut self.next.vectors))
            .map_err(|reason| Error::new(reason.to_string()))?;
        // Sums need no keys.
        self.next.keys.push(0);
        if self.next.keys.len() < self.most {
            return Ok(None);
        }
        let empty = self.empty();
        Ok(Some(std::mem::replace(&mut self.next, empty)))
    }

    fn rest(&mut self) -> Result<Option<VectorPacket>> {
        let rest = std::mem::take(&mut self.next);
        Ok(Some(rest).filter(|rest| !rest.keys.is_empty()))
    }

    fn on_cpu(&mut self, packet: &VectorPacket) -> Result<PacketSums> {
        let sums = kmeans::assign(&packet.vectors, &packet.centroids, DIMENSION);
        Ok(PacketSums(sums))
    }

    fn answer(
        &mut self,
        _: &VectorPacket,
        PacketSums(sums): PacketSums,
        _: &mut Output<'_, u32, List<i64>>,
    ) -> Result<()> {
        match &mut self.sums {
            Some(all) => all.merge(&sums),
            None => self.sums = Some(sums),
        }
        Ok(())
    }

    fn cleanup(&mut self, out: &mut Output<'_, u32, List<i64>>) -> Result<()> {
        let Some(sums) = self.sums.take() else {
            return Ok(());
        };
        for (cluster, (count, row)) in (0_u32..).zip(sums.rows()) {
            if count > 0 {
                let mut value = vec![count.cast_signed()];
                value.extend_from_slice(row);
                out.emit(&cluster, &value)?;
            }
        }
        Ok(())
    }
}
