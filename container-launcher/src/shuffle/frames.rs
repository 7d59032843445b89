//! Messages between launchers, each after its length.

use std::io::{self, ErrorKind, Read, Write};

use prost::Message;

/// A request of ten thousand maps has less.
const MESSAGE_MAX: usize = 1 << 20;

/// Writes a message.
pub(super) fn send(to: &mut impl Write, message: &impl Message) -> io::Result<()> {
    let length = message.encoded_len();
    let header = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    let mut bytes = Vec::with_capacity(length.saturating_add(header.len()));
    bytes.extend_from_slice(&header);
    message.encode(&mut bytes).map_err(io::Error::other)?;
    to.write_all(&bytes)
}

/// Reads a message.
pub(super) fn receive<M: Message + Default>(from: &mut impl Read) -> io::Result<M> {
    let mut header = [0; 4];
    from.read_exact(&mut header)?;
    let length = usize::try_from(u32::from_le_bytes(header)).unwrap_or(usize::MAX);
    if length > MESSAGE_MAX {
        return Err(io::Error::new(
            ErrorKind::InvalidData,
            format!("a message of {length} bytes was announced, more than {MESSAGE_MAX}"),
        ));
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    M::decode(bytes.as_slice()).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use job::wire::FetchedPart;

    use super::*;

    #[test]
    fn a_message_comes_as_it_was_sent_and_a_long_one_not_at_all() {
        let part = FetchedPart {
            map: 7,
            length: 1 << 40,
            ..FetchedPart::default()
        };
        let mut bytes = Vec::new();
        send(&mut bytes, &part).unwrap();
        send(&mut bytes, &part).unwrap();
        let mut from = bytes.as_slice();
        assert_eq!(receive::<FetchedPart>(&mut from).unwrap(), part);
        assert_eq!(receive::<FetchedPart>(&mut from).unwrap(), part);
        let end = receive::<FetchedPart>(&mut from).unwrap_err();
        assert_eq!(end.kind(), ErrorKind::UnexpectedEof);
        let long = receive::<FetchedPart>(&mut &[255; 8][..]).unwrap_err();
        assert_eq!(long.kind(), ErrorKind::InvalidData);
    }
}
