//! A DataNode by script, for tests of those who ask one for blocks.

use std::sync::{Arc, Mutex};

use bytes::BufMut as _;
use prost::Message as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::packets::wire::{
    BlockOpResponseProto, ChecksumProto, OpReadBlockProto, PacketHeaderProto,
    ReadOpChecksumInfoProto,
};
use crate::BlockNode;

/// Bytes of one checksum, and of one packet.
pub(super) const CHUNK: usize = 16;
const PACKET: usize = 3 * CHUNK;
/// What comes at once, bytes: neither headers nor packets come whole.
const WRITTEN: usize = 7;

/// What it does beside giving what it is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum DataNodeFault {
    None,
    /// It says this instead of `SUCCESS`.
    Status(u32),
    /// Its checksums are of this kind.
    Kind(u32),
    /// A byte of the packet with this number is another one.
    Spoilt(usize),
    /// It says no more before the packet with this number, and does not hang up.
    Stops(usize),
    /// It hangs up before the packet with this number.
    HangsUp(usize),
    /// It hangs up after what was asked for has come.
    IsAskedOnce,
    /// A packet is longer than packets are.
    Long,
}

/// One that has begun to listen.
#[derive(Debug)]
pub(super) struct DataNode {
    pub(super) node: BlockNode,
    /// Connections that it took.
    taken: Arc<Mutex<usize>>,
    /// What it was asked for: which block, from where and how much.
    asked: Arc<Mutex<Vec<(u64, u64, u64)>>>,
    /// It ends with this.
    work: JoinSet<()>,
}

impl DataNode {
    /// One whose blocks have these bytes.
    pub(super) async fn start(data: &[u8], fault: DataNodeFault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut started = Self {
            node: BlockNode {
                host: "localhost".to_owned(),
                address: "127.0.0.1".to_owned(),
                port: listener.local_addr().unwrap().port(),
                rack: String::new(),
            },
            taken: Arc::default(),
            asked: Arc::default(),
            work: JoinSet::new(),
        };
        let (data, taken, asked) = (
            data.to_vec(),
            Arc::clone(&started.taken),
            Arc::clone(&started.asked),
        );
        started.work.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                *taken.lock().unwrap() += 1;
                let (data, asked) = (data.clone(), Arc::clone(&asked));
                connections.spawn(async move { serve(stream, &data, fault, &asked).await });
            }
        });
        started
    }

    pub(super) fn asked(&self) -> Vec<(u64, u64, u64)> {
        self.asked.lock().unwrap().clone()
    }

    pub(super) fn taken(&self) -> usize {
        *self.taken.lock().unwrap()
    }
}

async fn serve(
    mut stream: TcpStream,
    data: &[u8],
    fault: DataNodeFault,
    asked: &Mutex<Vec<(u64, u64, u64)>>,
) {
    stream.set_nodelay(true).unwrap();
    // Until who asks hangs up.
    while let Ok(28) = stream.read_u16().await {
        assert_eq!(stream.read_u8().await.unwrap(), 81);
        let length = stream.read_u8().await.unwrap();
        assert!(length < 128, "the test reads short requests only");
        let mut message = vec![0; length.into()];
        stream.read_exact(&mut message).await.unwrap();
        let request = OpReadBlockProto::decode(&message[..]).unwrap();
        let block = &request.header.base_header.block;
        assert_eq!(
            (block.pool_id.as_str(), block.generation_stamp),
            ("BP-1", 1001)
        );
        let (from, length) = (request.offset, request.len);
        asked.lock().unwrap().push((block.block_id, from, length));
        let answer = answer(data, from, length, fault);
        for piece in answer.bytes.chunks(WRITTEN) {
            if stream.write_all(piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
        if answer.stops {
            std::future::pending::<()>().await;
        }
        if answer.hangs_up {
            return;
        }
        let mut status = [0; 3];
        if stream.read_exact(&mut status).await.is_err() {
            return;
        }
        assert_eq!(status, [2, 8, 6], "CHECKSUM_OK");
        if fault == DataNodeFault::IsAskedOnce {
            return;
        }
    }
}

#[derive(Default)]
struct Answer {
    bytes: Vec<u8>,
    stops: bool,
    hangs_up: bool,
}

fn answer(data: &[u8], from: u64, length: u64, fault: DataNodeFault) -> Answer {
    let mut answer = Answer::default();
    let begin = usize::try_from(from).unwrap() / CHUNK * CHUNK;
    let end = usize::try_from(from + length).unwrap();
    let end = (end.div_ceil(CHUNK) * CHUNK).min(data.len());
    let said = BlockOpResponseProto {
        status: match fault {
            DataNodeFault::Status(status) => status,
            _ => 0,
        },
        read_op_checksum_info: Some(ReadOpChecksumInfoProto {
            checksum: ChecksumProto {
                r#type: match fault {
                    DataNodeFault::Kind(kind) => kind,
                    _ => 2,
                },
                bytes_per_checksum: u32::try_from(CHUNK).unwrap(),
            },
            chunk_offset: begin as u64,
        }),
    };
    answer.bytes = said.encode_length_delimited_to_vec();
    let (mut at, mut number) = (begin, 0);
    loop {
        match fault {
            DataNodeFault::Stops(before) if before == number => {
                answer.stops = true;
                return answer;
            }
            DataNodeFault::HangsUp(before) if before == number => {
                answer.hangs_up = true;
                return answer;
            }
            _ => {}
        }
        let part = &data[at..end.min(at + PACKET)];
        packet(&mut answer.bytes, at, number, part, part.is_empty());
        match fault {
            DataNodeFault::Spoilt(of) if of == number => *answer.bytes.last_mut().unwrap() ^= 1,
            DataNodeFault::Long => {
                let at = answer.bytes.len() - part.len() - 4 * part.len().div_ceil(CHUNK) - 31;
                answer.bytes[at] = 0x7f;
            }
            _ => {}
        }
        if part.is_empty() {
            return answer;
        }
        at += part.len();
        number += 1;
    }
}

/// A packet of 31 bytes beside checksums and data.
fn packet(to: &mut Vec<u8>, at: usize, number: usize, data: &[u8], is_last: bool) {
    let sums: Vec<u8> = data
        .chunks(CHUNK)
        .flat_map(|chunk| crc32c::crc32c(chunk).to_be_bytes())
        .collect();
    let header = PacketHeaderProto {
        offset_in_block: i64::try_from(at).unwrap(),
        seqno: i64::try_from(number).unwrap(),
        last_packet_in_block: is_last,
        data_len: i32::try_from(data.len()).unwrap(),
    }
    .encode_to_vec();
    assert_eq!(header.len(), 25);
    to.put_u32(u32::try_from(4 + sums.len() + data.len()).unwrap());
    to.put_u16(u16::try_from(header.len()).unwrap());
    to.extend([&header[..], &sums, data].concat());
}
