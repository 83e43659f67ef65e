//! The end of the parent process.

use std::time::Duration;

/// Set to `true`, the programs of a test environment outlive the process that started them.
const OUTLIVE: &str = "CORACLE_OUTLIVE_PARENT";

/// Resolves when the process that started this one has ended: a test that was killed leaves nothing behind.
pub(crate) async fn orphaned() {
    if std::env::var(OUTLIVE).is_ok_and(|value| value == "true") {
        return std::future::pending().await;
    }
    let parent = rustix::process::getppid();
    while rustix::process::getppid() == parent {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
