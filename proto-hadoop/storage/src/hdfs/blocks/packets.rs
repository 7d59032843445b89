//! A part of a block, as a DataNode sends it: packets of some 64 KiB, each with checksums, never copied.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use prost::Message as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use self::wire::{
    BaseHeaderProto, BlockOpResponseProto, ClientOperationHeaderProto, ExtendedBlockProto,
    OpReadBlockProto, PacketHeaderProto,
};
use super::{Limits, Unusable};
use crate::LocatedBlock;

/// Package `hadoop.hdfs`: the DataNodes' protocol.
pub(super) mod wire {
    include!(concat!(env!("OUT_DIR"), "/hadoop.hdfs.rs"));
}

/// Of the protocol, and of what is asked.
const VERSION: u16 = 28;
const READ_BLOCK: u8 = 81;
/// `Status.SUCCESS`, and `ChecksumTypeProto.CHECKSUM_CRC32C`.
const SUCCESS: u32 = 0;
const CRC32C: u32 = 2;
/// `ClientReadStatusProto` with `CHECKSUM_OK`, after its length.
const ALL_IS_WELL: [u8; 3] = [2, 1 << 3, 6];
/// How DataNodes' logs call who reads.
const NAME: &str = "gerbil";

/// Bytes that are made room for at once.
const ROOM: usize = 256 << 10;
/// Longer packets, and chunks of one checksum, make no sense, bytes.
const PACKET_MAX: usize = 16 << 20;
/// The packet's length and that of its header, and one checksum, bytes.
const LENGTHS: usize = 6;
const CHECKSUM: usize = 4;

/// To a DataNode that waits to be asked.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    /// What has come, and was not looked at yet.
    buffer: BytesMut,
    limits: Limits,
}

/// Of a block, as far as they were asked for.
#[derive(Debug)]
pub(super) struct Packets {
    connection: Connection,
    /// The first byte of the block that was not handed on, and the one where that is over.
    at: u64,
    end: u64,
    /// Bytes that one checksum is of.
    chunk: usize,
}

impl Connection {
    pub(super) async fn open(address: &str, limits: Limits) -> Result<Self, Unusable> {
        let stream = timeout(limits.connected, TcpStream::connect(address)).await??;
        stream.set_nodelay(true)?;
        let buffer = BytesMut::new();
        Ok(Self {
            stream,
            buffer,
            limits,
        })
    }

    /// Asks for the part of a block from the byte `from` of it up to `end`.
    pub(super) async fn ask(
        mut self,
        block: &LocatedBlock,
        from: u64,
        end: u64,
    ) -> Result<Packets, Unusable> {
        self.stream.write_all(&request(block, from, end)).await?;
        let length = self.varint().await?;
        self.fill(length).await?;
        let answer = BlockOpResponseProto::decode(self.buffer.split_to(length).freeze())?;
        let sums = answer.read_op_checksum_info.ok_or(Unusable)?;
        let chunk = usize::try_from(sums.checksum.bytes_per_checksum)?;
        let known = answer.status == SUCCESS && sums.checksum.r#type == CRC32C;
        match known && (1..=PACKET_MAX).contains(&chunk) {
            true => Ok(Packets {
                connection: self,
                at: from,
                end,
                chunk,
            }),
            false => Err(Unusable),
        }
    }

    /// The length of a message.
    async fn varint(&mut self) -> Result<usize, Unusable> {
        let mut value = 0;
        for shift in [0, 7, 14] {
            self.fill(1).await?;
            let byte = self.buffer.get_u8();
            value |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Unusable)
    }

    /// Waits until so many bytes have come.
    async fn fill(&mut self, wanted: usize) -> Result<(), Unusable> {
        while let Some(missing) = wanted.checked_sub(self.buffer.len()).filter(|n| *n > 0) {
            if self.buffer.capacity() - self.buffer.len() < missing {
                self.buffer.reserve(missing.max(ROOM));
            }
            let read = self.stream.read_buf(&mut self.buffer);
            if timeout(self.limits.sent, read).await?? == 0 {
                return Err(Unusable);
            }
        }
        Ok(())
    }

    /// A packet: where it begins in the block, its data, and whether it is the last one.
    async fn packet(&mut self, chunk: usize) -> Result<(u64, Bytes, bool), Unusable> {
        self.fill(LENGTHS).await?;
        let payload = usize::try_from(self.buffer.get_u32())?;
        let header = usize::from(self.buffer.get_u16());
        let payload = payload.checked_sub(CHECKSUM).ok_or(Unusable)?;
        if payload > PACKET_MAX {
            return Err(Unusable);
        }
        self.fill(header + payload).await?;
        let header = PacketHeaderProto::decode(self.buffer.split_to(header).freeze())?;
        let length = usize::try_from(header.data_len)?;
        let sums = length.div_ceil(chunk) * CHECKSUM;
        if sums + length != payload {
            return Err(Unusable);
        }
        let sums = self.buffer.split_to(sums);
        let data = self.buffer.split_to(length).freeze();
        match are_whole(&data, &sums, chunk) {
            true => Ok((
                u64::try_from(header.offset_in_block)?,
                data,
                header.last_packet_in_block,
            )),
            false => Err(Unusable),
        }
    }
}

impl Packets {
    /// The next piece; an empty one is the end of what was asked for.
    pub(super) async fn next(&mut self) -> Result<Bytes, Unusable> {
        if self.at >= self.end {
            return Ok(Bytes::new());
        }
        let (begin, data, _) = self.connection.packet(self.chunk).await?;
        // The first one begins with a whole chunk, and the last one ends with one.
        let surplus = usize::try_from(self.at.checked_sub(begin).ok_or(Unusable)?)?;
        let wanted = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let end = data.len().min(surplus.saturating_add(wanted));
        if surplus >= end {
            return Err(Unusable);
        }
        let piece = data.slice(surplus..end);
        self.at += piece.len() as u64;
        Ok(piece)
    }

    /// Says that all came as it should; the connection, if it can be used again.
    pub(super) async fn finish(mut self) -> Result<Connection, Unusable> {
        let (_, data, is_last) = self.connection.packet(self.chunk).await?;
        if !data.is_empty() || !is_last {
            return Err(Unusable);
        }
        self.connection.stream.write_all(&ALL_IS_WELL).await?;
        Ok(self.connection)
    }
}

fn request(block: &LocatedBlock, from: u64, end: u64) -> BytesMut {
    let message = OpReadBlockProto {
        header: ClientOperationHeaderProto {
            base_header: BaseHeaderProto {
                block: ExtendedBlockProto {
                    pool_id: block.pool.clone(),
                    block_id: block.id,
                    generation_stamp: block.generation,
                },
            },
            client_name: NAME.to_owned(),
        },
        offset: from,
        len: end.saturating_sub(from),
    };
    let mut request = BytesMut::new();
    request.put_u16(VERSION);
    request.put_u8(READ_BLOCK);
    request.put_slice(&message.encode_length_delimited_to_vec());
    request
}

/// Whether data has these checksums.
fn are_whole(data: &[u8], sums: &[u8], chunk: usize) -> bool {
    let sums = sums.chunks_exact(CHECKSUM);
    let mut all = data.chunks(chunk).zip(sums);
    all.all(|(chunk, sum)| crc32c::crc32c(chunk).to_be_bytes() == *sum)
}
