//! Messages between the processes of a node and between launchers, each after its length.

use std::io::{self, ErrorKind, Read, Write};

use prost::Message;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Writes a message.
pub(crate) fn send(to: &mut impl Write, message: &impl Message) -> io::Result<()> {
    to.write_all(&written(message)?)
}

/// A message as it is written.
pub(crate) fn written(message: &impl Message) -> io::Result<Vec<u8>> {
    let length = message.encoded_len();
    let header = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    let mut bytes = Vec::with_capacity(length.saturating_add(header.len()));
    bytes.extend_from_slice(&header);
    message.encode(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

/// Reads a message of so many bytes at most.
pub(crate) fn receive<M: Message + Default>(from: &mut impl Read, most: usize) -> io::Result<M> {
    let mut header = [0; 4];
    from.read_exact(&mut header)?;
    let mut bytes = vec![0; length(header, most)?];
    from.read_exact(&mut bytes)?;
    read(&bytes)
}

/// The same, from what is watched.
pub(crate) async fn receive_from<M: Message + Default>(
    from: &mut (impl AsyncRead + Unpin),
    most: usize,
) -> io::Result<M> {
    let mut header = [0; 4];
    from.read_exact(&mut header).await?;
    let mut bytes = vec![0; length(header, most)?];
    from.read_exact(&mut bytes).await?;
    read(&bytes)
}

fn length(header: [u8; 4], most: usize) -> io::Result<usize> {
    let length = usize::try_from(u32::from_le_bytes(header)).unwrap_or(usize::MAX);
    match length > most {
        true => Err(io::Error::new(
            ErrorKind::InvalidData,
            format!("a message of {length} bytes was announced, more than {most}"),
        )),
        false => Ok(length),
    }
}

fn read<M: Message + Default>(bytes: &[u8]) -> io::Result<M> {
    M::decode(bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
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
        assert_eq!(receive::<FetchedPart>(&mut from, 99).unwrap(), part);
        assert_eq!(receive::<FetchedPart>(&mut from, 99).unwrap(), part);
        let end = receive::<FetchedPart>(&mut from, 99).unwrap_err();
        assert_eq!(end.kind(), ErrorKind::UnexpectedEof);
        let long = receive::<FetchedPart>(&mut &[255; 8][..], 99).unwrap_err();
        assert_eq!(long.kind(), ErrorKind::InvalidData);
    }
}
