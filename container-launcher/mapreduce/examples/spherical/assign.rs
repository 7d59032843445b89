//! Maps: the nearest centroid of each vector, and the sums of those that have the same.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::marker::PhantomData;
use std::sync::Arc;

use fpga_driver::kmeans::{self, Keyed, MapPacket, Sums, normalise, parse_line};
use gerbil_mapreduce::fpga::Function;
use gerbil_mapreduce::fpga::client::{DeserializePacket, Layout, SerializePacket, Unfit};
use gerbil_mapreduce::prelude::*;
use gerbil_mapreduce::{AcceleratedMapper, InputFormat};

use super::DIMENSION;

/// Bytes of a packed vector.
const PACKED: usize = DIMENSION * 4;
/// Of a file of packed vectors, bytes that are written at once.
const PIECE: usize = 256 << 10;

/// How a record says a vector.
pub trait VectorRecord: 'static {
    /// What reads records.
    type Input: for<'a> InputFormat<Key<'a> = u64, Value<'a> = &'a [u8]>;
    /// Whether packed vectors are left where the job asks for them.
    const LEAVES_PACKED: bool;

    /// Appends the record's vector, of length 1; `floats` is room for its elements.
    fn read(record: &[u8], floats: &mut [f32], into: &mut Vec<i32>) -> Result<()>;
}

/// 128 numbers on a line.
pub struct Line;

impl VectorRecord for Line {
    type Input = TextLines;
    const LEAVES_PACKED: bool = true;

    fn read(line: &[u8], floats: &mut [f32], into: &mut Vec<i32>) -> Result<()> {
        parse_line(line, floats)
            .and_then(|()| normalise(floats, into))
            .map_err(|reason| Error::new(reason.to_string()))
    }
}

/// Elements as packets have them: 128 little-endian words of four bytes.
pub struct Packed;

impl VectorRecord for Packed {
    type Input = FixedLength;
    const LEAVES_PACKED: bool = false;

    fn read(record: &[u8], _: &mut [f32], into: &mut Vec<i32>) -> Result<()> {
        let (words, _) = record.as_chunks();
        into.extend(words.iter().map(|word| i32::from_le_bytes(*word)));
        Ok(())
    }
}

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
pub struct Assign<R> {
    centroids: Arc<Vec<i32>>,
    floats: Vec<f32>,
    /// Vectors of a packet.
    most: usize,
    next: VectorPacket,
    sums: Option<Sums>,
    /// Where all vectors are left, packed.
    packed: Option<BufWriter<File>>,
    of: PhantomData<R>,
}

impl<R> Default for Assign<R> {
    fn default() -> Self {
        Self {
            centroids: Arc::default(),
            floats: Vec::new(),
            most: 0,
            next: VectorPacket::default(),
            sums: None,
            packed: None,
            of: PhantomData,
        }
    }
}

impl<R> Assign<R> {
    fn empty(&self) -> VectorPacket {
        VectorPacket {
            centroids: Arc::clone(&self.centroids),
            keys: Vec::with_capacity(self.most),
            vectors: Vec::with_capacity(self.most * DIMENSION),
        }
    }
}

impl<R: VectorRecord> AcceleratedMapper for Assign<R> {
    type Input = R::Input;
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
        if R::LEAVES_PACKED && context.option("packed")? {
            let file = context.side_file(super::PACKED)?;
            self.packed = Some(BufWriter::with_capacity(PIECE, file));
        }
        Ok(())
    }

    fn map(&mut self, _: u64, record: &[u8], _: &mut Context) -> Result<Option<VectorPacket>> {
        let before = self.next.vectors.len();
        R::read(record, &mut self.floats, &mut self.next.vectors)?;
        if let (Some(file), Some(vector)) = (&mut self.packed, self.next.vectors.get(before..)) {
            let mut packed = [0; PACKED];
            let (words, _) = packed.as_chunks_mut();
            for (word, element) in words.iter_mut().zip(vector) {
                *word = element.to_le_bytes();
            }
            file.write_all(&packed)?;
        }
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
        if let Some(mut file) = self.packed.take() {
            file.flush()?;
        }
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
