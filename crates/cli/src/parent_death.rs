//! Detects the end of the parent process.

use std::time::Duration;

/// If `true`, the programs of a test environment outlive their parent process.
const OUTLIVE: &str = "CORACLE_OUTLIVE_PARENT";

/// Completes when the parent process has ended, so that a killed test leaves no processes behind.
pub(crate) async fn orphaned() {
    if std::env::var(OUTLIVE).is_ok_and(|value| value == "true") {
        return std::future::pending().await;
    }
    let parent = rustix::process::getppid();
    while rustix::process::getppid() == parent {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
