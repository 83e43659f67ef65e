//! Forwards connections from one socket to another.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};

/// The pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(50);

/// Connects each connection that `accept` returns with one that `connect` opens. All end when the future is dropped.
pub(crate) async fn relay<A, C, One, Other>(accept: impl Fn() -> A, connect: impl Fn() -> C) -> Infallible
where
    A: Future<Output = io::Result<One>>,
    C: Future<Output = io::Result<Other>>,
    One: AsyncRead + AsyncWrite + Unpin,
    Other: AsyncRead + AsyncWrite + Unpin,
{
    let forward = |mut one: One, other: C| async move {
        if let Ok(mut other) = other.await {
            // Either side may close it at any time.
            let _ = copy_bidirectional(&mut one, &mut other).await;
        }
    };
    let mut connections = FuturesUnordered::new();
    // A stream of connections never ends.
    connections.push(std::future::pending().left_future());
    loop {
        let accepted = match select(pin!(accept()), connections.next()).await {
            Either::Left((accepted, _)) => accepted,
            Either::Right(_) => continue,
        };
        match accepted {
            Ok(one) => connections.push(forward(one, connect()).right_future()),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn each_connection_reaches_the_other_socket_and_the_answer_comes_back() {
        let listen = async || TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (front, behind) = (listen().await, listen().await);
        let (at, server) = (front.local_addr().unwrap(), behind.local_addr().unwrap());
        let answer_one = async |mut connection: TcpStream| {
            let number = connection.read_u8().await.unwrap();
            connection.write_u8(number + 1).await.unwrap();
        };
        let answer = pin!(async {
            let (one, other) = (behind.accept().await.unwrap().0, behind.accept().await.unwrap().0);
            futures_util::future::join(answer_one(one), answer_one(other)).await;
            std::future::pending::<Infallible>().await
        });
        let ask = async {
            let (mut one, mut other) = (TcpStream::connect(at).await.unwrap(), TcpStream::connect(at).await.unwrap());
            other.write_u8(7).await.unwrap();
            assert_eq!(other.read_u8().await.unwrap(), 8);
            one.write_u8(1).await.unwrap();
            assert_eq!(one.read_u8().await.unwrap(), 2);
        };
        let relayed = pin!(relay(|| async { Ok(front.accept().await?.0) }, || TcpStream::connect(server)));
        assert!(matches!(select(pin!(ask), select(relayed, answer)).await, Either::Left(_)));
    }
}
