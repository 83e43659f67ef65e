//! Ctrl-C and SIGTERM.

use std::pin::pin;

use futures_util::future::{Either, select};
use tokio::signal::unix::{SignalKind, signal};

/// Resolves at the first Ctrl-C or SIGTERM; says which exit code belongs to it.
pub(crate) async fn interrupted() -> u8 {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        // Without handlers the signals end the process at once, which is what they are for.
        return std::future::pending().await;
    };
    match select(pin!(interrupt.recv()), pin!(terminate.recv())).await {
        Either::Left(_) => crate::exit::INTERRUPTED,
        Either::Right(_) => crate::exit::PASS,
    }
}

/// Resolves at the first Ctrl-C or SIGTERM, or when the process that started this one has ended.
pub(crate) async fn interrupted_or_orphaned() -> u8 {
    match select(pin!(interrupted()), pin!(crate::orphan::orphaned())).await {
        Either::Left((code, _)) => code,
        Either::Right(_) => crate::exit::PASS,
    }
}
