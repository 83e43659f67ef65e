use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// The length of HTTP/2's preface: after this number of bytes the protocol is known, and its own timeouts apply.
const ENOUGH: usize = 24;

/// A connection that breaks if its client does not send the first bytes in time.
pub(crate) struct FirstBytes<S> {
    stream: S,
    read: usize,
    patience: Option<Pin<Box<Sleep>>>,
}

impl<S> FirstBytes<S> {
    pub(crate) fn within(patience: Duration, stream: S) -> Self {
        Self { stream, read: 0, patience: Some(Box::pin(tokio::time::sleep(patience))) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FirstBytes<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if polled.is_ready() {
            self.read += buffer.filled().len() - before;
            if self.read >= ENOUGH {
                self.patience = None;
            }
            return polled;
        }
        match self.patience.as_mut().map(|patience| patience.as_mut().poll(context)) {
            Some(Poll::Ready(())) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            _ => Poll::Pending,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FirstBytes<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        // A connection on which the server writes a response has sent a request.
        self.patience = None;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.patience = None;
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_speak_or_speaks_too_slowly_is_cut() {
        for said in ["", "P", "PRI * HTTP/2.0\r\n"] {
            let (mut client, server) = tokio::io::duplex(64);
            let mut server = FirstBytes::within(Duration::from_secs(32), server);
            client.write_all(said.as_bytes()).await.unwrap();
            let mut heard = Vec::new();
            let started = tokio::time::Instant::now();
            let error = server.read_to_end(&mut heard).await.unwrap_err();
            assert_eq!((error.kind(), started.elapsed().as_secs()), (io::ErrorKind::TimedOut, 32));
            assert_eq!(heard, said.as_bytes());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_has_spoken_may_be_silent() {
        let (mut client, server) = tokio::io::duplex(64);
        let mut server = FirstBytes::within(Duration::from_secs(32), server);
        client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        let mut heard = [0; ENOUGH];
        server.read_exact(&mut heard).await.unwrap();
        let silent = tokio::time::timeout(Duration::from_secs(3600), server.read_u8()).await;
        assert!(silent.is_err(), "an hour later it is still waited for");
    }
}
