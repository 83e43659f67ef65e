//! Ctrl-C and SIGTERM.

use tokio::signal::unix::{SignalKind, signal};

/// Resolves at the first Ctrl-C or SIGTERM; says which exit code belongs to it.
#[expect(clippy::disallowed_macros, reason = "biased")]
pub(crate) async fn interrupted() -> u8 {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        // Without handlers the signals end the process at once, which is what they are for.
        return std::future::pending().await;
    };
    tokio::select! {
        biased;
        _ = interrupt.recv() => crate::exit::INTERRUPTED,
        _ = terminate.recv() => crate::exit::PASS,
    }
}
