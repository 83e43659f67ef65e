use coracle_ambient::Ambient;

/// The default environment of a cluster: reproducible on a paused clock, the system's on any other.
pub(crate) fn default_ambient() -> Ambient {
    if is_paused() { Ambient::seeded(0) } else { Ambient::system() }
}

/// Whether tokio's clock is paused, while the clock of the machine advances.
pub(crate) fn is_paused() -> bool {
    let before = tokio::time::Instant::now();
    #[expect(clippy::disallowed_methods, reason = "tokio does not say whether its clock is paused; comparing does")]
    let machine = std::time::Instant::now();
    while machine.elapsed().is_zero() {
        std::hint::spin_loop();
    }
    tokio::time::Instant::now() == before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_paused_clock_is_noticed() {
        assert!(is_paused());
    }

    #[tokio::test]
    async fn a_running_clock_is_noticed() {
        assert!(!is_paused());
    }
}
