//! Ctrl-C and SIGTERM.

use std::pin::pin;

use futures_util::future::{Either, select};
use tokio::signal::unix::{SignalKind, signal};

/// Completes at the first Ctrl-C or SIGTERM; returns its exit code.
pub(crate) async fn interrupted() -> u8 {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        // Without handlers the signals end the process at once, as intended.
        return std::future::pending().await;
    };
    match select(pin!(interrupt.recv()), pin!(terminate.recv())).await {
        Either::Left(_) => crate::exit::INTERRUPTED,
        Either::Right(_) => crate::exit::PASS,
    }
}

/// Serves until the first Ctrl-C or SIGTERM, and returns its exit code, or that of a failure if the server ends before.
pub(crate) async fn until_interrupted(served: impl Future<Output = ()>) -> u8 {
    match select(pin!(served), pin!(interrupted())).await {
        Either::Left(((), _)) => crate::exit::FAILED,
        Either::Right((code, _)) => code,
    }
}

/// Completes at the first Ctrl-C or SIGTERM, or when the parent process has ended.
pub(crate) async fn interrupted_or_orphaned() -> u8 {
    match select(pin!(interrupted()), pin!(crate::parent_death::orphaned())).await {
        Either::Left((code, _)) => code,
        Either::Right(_) => crate::exit::PASS,
    }
}
