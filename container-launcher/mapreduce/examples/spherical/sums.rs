//! Reduces: the sums of all maps, and what centroids they make.

use fpga_driver::kmeans::{self, Sums};
use gerbil_mapreduce::AcceleratedReducer;
use gerbil_mapreduce::fpga::Function;
use gerbil_mapreduce::fpga::client::{Layout, SerializePacket, Unfit};
use gerbil_mapreduce::fpga::packet::{Header, types};
use gerbil_mapreduce::prelude::*;

use super::DIMENSION;
use super::assign::PacketSums;

/// Bytes of a cluster's number, its count and its sums.
const ROW: usize = 4 + (DIMENSION + 1) * 8;

/// Sums of some maps, each with its cluster.
#[derive(Default)]
pub struct RowPacket {
    k: u32,
    rows: Vec<(u32, Vec<i64>)>,
}

impl SerializePacket for RowPacket {
    fn serialize(&self, block: &mut [u8]) -> Result<Layout, Unfit> {
        let needed = self.rows.len() * ROW;
        let block = block.get_mut(..needed).ok_or(Unfit::Block(needed))?;
        for (place, (cluster, row)) in block.chunks_exact_mut(ROW).zip(&self.rows) {
            let (key, values) = place.split_at_mut(4);
            key.copy_from_slice(&cluster.to_le_bytes());
            for (place, value) in values.chunks_exact_mut(8).zip(row) {
                place.copy_from_slice(&value.to_le_bytes());
            }
        }
        Ok(Layout {
            length: needed,
            header: Header {
                function: Function::KmeansReduce.number(),
                centroids: self.k,
                pairs: u32::try_from(self.rows.len()).unwrap_or(u32::MAX),
                dimension: Unfit::dimension("elements of a vector", DIMENSION)?,
                bytes_per_dimension: 8,
                key_type: types::U32,
                value_type: types::I64,
                ..Header::default()
            },
        })
    }
}

/// The centroids of the next round.
#[derive(Default)]
pub struct Centroids {
    before: Vec<i32>,
    k: usize,
    /// Rows of a packet.
    most: usize,
    next: RowPacket,
    sums: Option<Sums>,
}

impl Centroids {
    fn empty(&self) -> Result<RowPacket> {
        Ok(RowPacket {
            k: u32::try_from(self.k)?,
            rows: Vec::new(),
        })
    }
}

impl AcceleratedReducer<u32, List<i64>> for Centroids {
    type Key = u32;
    type Value = List<i32>;
    type Packet = RowPacket;
    type Answer = PacketSums;

    const FUNCTION: Function = Function::KmeansReduce;

    fn setup(&mut self, context: &mut Context, block: usize) -> Result<()> {
        self.before = context.params()?;
        self.k = self.before.len() / DIMENSION;
        self.most = block / ROW;
        self.next = self.empty()?;
        Ok(())
    }

    fn reduce(
        &mut self,
        cluster: u32,
        row: Vec<i64>,
        _: &mut Context,
    ) -> Result<Option<RowPacket>> {
        self.next.rows.push((cluster, row));
        if self.next.rows.len() < self.most {
            return Ok(None);
        }
        let empty = self.empty()?;
        Ok(Some(std::mem::replace(&mut self.next, empty)))
    }

    fn rest(&mut self) -> Result<Option<RowPacket>> {
        let rest = std::mem::take(&mut self.next);
        Ok(Some(rest).filter(|rest| !rest.rows.is_empty()))
    }

    fn on_cpu(&mut self, packet: &RowPacket) -> Result<PacketSums> {
        let width = DIMENSION + 1;
        let mut sums = vec![0_i64; self.k * width];
        for (cluster, row) in &packet.rows {
            let start = usize::try_from(*cluster)? * width;
            let place = sums.get_mut(start..start + width);
            let place =
                place.ok_or_else(|| Error::new(format!("there is no cluster {cluster}")))?;
            for (sum, value) in place.iter_mut().zip(row) {
                *sum = sum.wrapping_add(*value);
            }
        }
        let bytes: Vec<u8> = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
        Ok(PacketSums(Sums::read(&bytes, DIMENSION)))
    }

    fn answer(
        &mut self,
        _: &RowPacket,
        PacketSums(sums): PacketSums,
        _: &mut Output<'_, u32, List<i32>>,
    ) -> Result<()> {
        match &mut self.sums {
            Some(all) => all.merge(&sums),
            None => self.sums = Some(sums),
        }
        Ok(())
    }

    fn cleanup(&mut self, out: &mut Output<'_, u32, List<i32>>) -> Result<()> {
        let Some(sums) = self.sums.take() else {
            return Ok(());
        };
        let after = kmeans::next_centroids(&sums, &self.before);
        let rows = after.chunks_exact(DIMENSION).zip(sums.rows());
        for (cluster, (centroid, (count, _))) in (0_u32..).zip(rows) {
            if count > 0 {
                out.emit(&cluster, centroid)?;
            }
        }
        Ok(())
    }
}
