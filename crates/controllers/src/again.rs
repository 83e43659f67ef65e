use std::time::Duration;

use coracle_controller_runtime::Action;
use jiff::SignedDuration;

/// The key comes back after this time at the latest; when something happens to it, if nothing is due.
pub(crate) fn again(left: Option<SignedDuration>) -> Action {
    match left {
        Some(left) => Action::RequeueAfter(Duration::try_from(left).unwrap_or_default()),
        None => Action::Done,
    }
}
