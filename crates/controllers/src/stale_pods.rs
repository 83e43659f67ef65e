//! How the controllers of pods treat a cache that does not show their own last writes yet, in each release.

use std::time::Duration;

use coracle_api::core_v1::Pod;
use coracle_controller_runtime::StaleCaches;
use coracle_meta::Resource;
use coracle_release::Release;

/// How long created and deleted pods are expected to appear in the cache. In Kubernetes: `ExpectationsTimeout`.
const PATIENCE: Duration = Duration::from_secs(300);

/// The controller expects its pods in the cache, for a limited time.
pub(crate) fn expect_pods() -> StaleCaches {
    StaleCaches::Expect { resource: Pod::resource(), patience: PATIENCE }
}

/// The controller waits for its own writes where the release has this gate on, and expects pods otherwise.
pub(crate) fn wait_or_expect_pods(release: &Release, gate: &str) -> StaleCaches {
    if release.enabled(gate) { StaleCaches::Wait } else { expect_pods() }
}

/// The controller waits for its own writes where the release has this gate on, and does nothing otherwise.
pub(crate) fn wait_or_ignore(release: &Release, gate: &str) -> StaleCaches {
    if release.enabled(gate) { StaleCaches::Wait } else { StaleCaches::Ignore }
}
