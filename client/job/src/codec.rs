//! How messages of the [`wire`](crate::wire) are encoded: as usual, but with small buffers.
//!
//! Every stream holds a buffer for what it sends and one for what it receives, from its first message
//! to its end. An ApplicationMaster has three streams with each of its launchers, nearly all of them
//! silent nearly always; with tonic's own buffers of 8 KiB these are 24 KiB a launcher.

use std::marker::PhantomData;

use prost::Message;
use tonic::codec::{BufferSettings, Codec};
use tonic_prost::{ProstCodec, ProstDecoder, ProstEncoder};

/// A buffer at its beginning, bytes: an order or a report fits. For a larger message it grows.
const BUFFER: usize = 512;
/// Messages that wait are put together up to so many bytes, as tonic does by itself.
const TOGETHER: usize = 32 * 1024;

/// The codec of all our calls: sends `T`, receives `U`.
#[derive(Debug, Clone)]
pub struct Frugal<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for Frugal<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> Codec for Frugal<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = ProstDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<T, U>::raw_encoder(BufferSettings::new(BUFFER, TOGETHER))
    }

    fn decoder(&mut self) -> Self::Decoder {
        ProstCodec::<T, U>::raw_decoder(BufferSettings::new(BUFFER, TOGETHER))
    }
}
