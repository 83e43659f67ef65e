//! Writes to a socket in few large pieces.
//!
//! HTTP/2 flushes after every data frame, so an event for 256 watches on one connection would cause 256 writes to the
//! socket. Writes are buffered until the connection is idle, and then sent in one piece.

use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use futures_util::future::poll_fn;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The maximum size of the buffer.
const BUFFER_BYTES: usize = 64 << 10;
/// A larger piece is not worth a copy.
const LARGE_PIECE: usize = 8 << 10;

/// The socket for the connection.
pub(super) struct Corked<I>(Arc<Mutex<Cork<I>>>);

struct Cork<I> {
    io: I,
    buffer: BytesMut,
}

impl<I: AsyncRead + AsyncWrite + Unpin> Corked<I> {
    /// Runs the connection that `serve` creates on `io`; flushes the buffer whenever the connection is idle.
    pub(super) async fn run<C: Future>(io: I, serve: impl FnOnce(Self) -> C) -> C::Output {
        let cork = Arc::new(Mutex::new(Cork { io, buffer: BytesMut::new() }));
        let mut connection = pin!(serve(Self(cork.clone())));
        poll_fn(|context| {
            let outcome = connection.as_mut().poll(context);
            if outcome.is_pending() {
                // If the socket is full it wakes the connection; if it is broken the connection's next read or write
                // fails.
                let _ = cork.lock().poll_drain(context);
            }
            outcome
        })
        .await
    }
}

impl<I: AsyncWrite + Unpin> Cork<I> {
    fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.buffer.has_remaining() {
            match ready!(Pin::new(&mut self.io).poll_write(context, &self.buffer))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.buffer.advance(written),
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_write(&mut self, context: &mut Context<'_>, pieces: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        if length >= LARGE_PIECE {
            ready!(self.poll_drain(context))?;
            return Pin::new(&mut self.io).poll_write_vectored(context, pieces);
        }
        if self.buffer.len() + length > BUFFER_BYTES {
            ready!(self.poll_drain(context))?;
        }
        pieces.iter().for_each(|piece| self.buffer.extend_from_slice(piece));
        Poll::Ready(Ok(length))
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncRead for Corked<I> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, read: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.lock().io).poll_read(context, read)
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Corked<I> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.lock().poll_write(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.0.lock().poll_write(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Does nothing: this is the purpose of the type.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut cork = self.0.lock();
        ready!(cork.poll_drain(context))?;
        Pin::new(&mut cork.io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// Counts the writes that reach the socket.
    struct Counting<I>(I, Arc<Mutex<usize>>);

    impl<I: AsyncRead + Unpin> AsyncRead for Counting<I> {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            read: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_read(context, read)
        }
    }

    impl<I: AsyncWrite + Unpin> AsyncWrite for Counting<I> {
        fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            *self.1.lock() += 1;
            Pin::new(&mut self.0).poll_write(context, bytes)
        }

        fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_flush(context)
        }

        fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_shutdown(context)
        }
    }

    #[tokio::test]
    async fn small_pieces_leave_together_when_the_connection_rests_and_nothing_waits_longer() {
        let (near, mut far) = tokio::io::duplex(1 << 20);
        let writes = Arc::new(Mutex::new(0));
        let counted = writes.clone();
        let connection = Corked::run(Counting(near, counted), |mut corked| async move {
            for number in 0..100_u8 {
                corked.write_all(&[number; 10]).await.unwrap();
                corked.flush().await.unwrap();
            }
            let mut answer = [0; 2];
            corked.read_exact(&mut answer).await.unwrap();
            corked.write_all(&answer).await.unwrap();
            corked.shutdown().await.unwrap();
        });
        let client = async {
            let mut said = [0; 1000];
            far.read_exact(&mut said).await.unwrap();
            assert!(said.chunks(10).zip(0..).all(|(piece, number)| piece == [number; 10]));
            assert_eq!(*writes.lock(), 1);
            far.write_all(b"ok").await.unwrap();
            let mut rest = Vec::new();
            far.read_to_end(&mut rest).await.unwrap();
            assert_eq!(rest, b"ok");
        };
        tokio::join!(connection, client);
    }

    #[tokio::test]
    async fn more_than_the_socket_takes_arrives_in_order() {
        let (near, mut far) = tokio::io::duplex(1000);
        let sent: Vec<u8> = (0..500_000_u32).map(|number| number as u8).collect();
        let expected = sent.clone();
        let connection = Corked::run(near, |mut corked| async move {
            let mut rest = &sent[..];
            for length in [1, 5000, 20_000, 300].into_iter().cycle() {
                let (piece, after) = rest.split_at(length.min(rest.len()));
                corked.write_all(piece).await.unwrap();
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
            corked.shutdown().await.unwrap();
        });
        let mut received = Vec::new();
        let client = far.read_to_end(&mut received);
        tokio::join!(connection, async { client.await.unwrap() });
        assert!(received == expected);
    }
}
