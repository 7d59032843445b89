//! A connection whose bytes are taken from the kernel in large pieces.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_util::io::poll_read_buf;
use tonic::transport::server::{Connected, TcpConnectInfo};

/// What is taken at first, bytes: a handshake, or a peer that says little.
const FIRST: usize = 4 * 1024;

/// A connection for TLS to lie upon, which by itself reads four to sixteen kilobytes at a time.
///
/// Pieces grow as far as the peer fills them: one that says little costs little memory.
#[derive(Debug)]
pub struct LargeReads {
    stream: TcpStream,
    held: BytesMut,
    /// What is taken at once, now and at most, bytes.
    piece: usize,
    most: usize,
}

impl LargeReads {
    /// Takes up to `most` bytes at once from `stream`.
    #[must_use]
    pub fn new(stream: TcpStream, most: usize) -> Self {
        Self {
            stream,
            held: BytesMut::new(),
            piece: FIRST.min(most),
            most,
        }
    }
}

impl Connected for LargeReads {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for LargeReads {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let this = self.get_mut();
        if this.held.is_empty() {
            this.held.reserve(this.piece);
            let stream = Pin::new(&mut this.stream);
            let taken = ready!(poll_read_buf(stream, context, &mut this.held))?;
            if taken >= this.piece {
                this.piece = this.piece.saturating_mul(2).min(this.most);
            }
        }
        let part = this.held.len().min(into.remaining());
        into.put_slice(this.held.get(..part).unwrap_or_default());
        this.held.advance(part);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for LargeReads {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, data)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, data)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn every_byte_comes_once_and_pieces_grow_to_their_bound() {
        const MOST: usize = 32 * 1024;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut to = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let (from, _) = listener.accept().await.unwrap();
        let mut reads = LargeReads::new(from, MOST);
        let sent: Vec<u8> = (0..400_000_u32).map(|n| n.to_le_bytes()[0] ^ 7).collect();
        let mut got = Vec::new();
        let (written, read) = tokio::join!(
            async {
                to.write_all(&sent).await?;
                to.shutdown().await
            },
            reads.read_to_end(&mut got),
        );
        written.unwrap();
        assert_eq!(read.unwrap(), sent.len());
        assert!(got == sent, "other bytes than were sent");
        assert!(
            FIRST < reads.piece && reads.piece <= MOST,
            "{}",
            reads.piece
        );
    }
}
