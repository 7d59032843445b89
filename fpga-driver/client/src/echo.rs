//! Packets that are given back as they are, or swallowed: for trying and measuring the way to the card.

use crate::client::{Layout, SerializePacket, Unfit};
use crate::function::Function;
use crate::packet::Header;

/// Bytes to be given back.
#[derive(Debug, Clone, Copy)]
pub struct Echo<'a>(pub &'a [u8]);

/// Bytes to be swallowed; the answer is their length and CRC-32C, each in 8 bytes.
#[derive(Debug, Clone, Copy)]
pub struct Sink<'a>(pub &'a [u8]);

impl SerializePacket for Echo<'_> {
    fn serialize(&self, block: &mut [u8]) -> Result<Layout, Unfit> {
        put(self.0, block, Function::Echo)
    }
}

impl SerializePacket for Sink<'_> {
    fn serialize(&self, block: &mut [u8]) -> Result<Layout, Unfit> {
        put(self.0, block, Function::Sink)
    }
}

fn put(bytes: &[u8], block: &mut [u8], function: Function) -> Result<Layout, Unfit> {
    let room = block
        .get_mut(..bytes.len())
        .ok_or(Unfit::Block(bytes.len()))?;
    room.copy_from_slice(bytes);
    Ok(plain(function, bytes.len()))
}

/// The layout of `length` bytes that are already in their block.
pub fn plain(function: Function, length: usize) -> Layout {
    Layout {
        length,
        header: Header {
            function: function.number(),
            ..Header::default()
        },
    }
}
