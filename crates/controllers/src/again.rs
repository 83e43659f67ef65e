use std::time::Duration;

use coracle_controller_runtime::Action;
use jiff::SignedDuration;

/// Requeues the key after this time at the latest. Without a time, the key is processed again only when its object
/// changes.
pub(crate) fn again(left: Option<SignedDuration>) -> Action {
    match left {
        Some(left) => Action::RequeueAfter(Duration::try_from(left).unwrap_or_default()),
        None => Action::Done,
    }
}
