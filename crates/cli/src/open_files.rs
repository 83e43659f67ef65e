//! How many files and connections the process may have open.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the limit as far as the system lets us, as every program in Go does at its start. Where it does not, the limit
/// stays what it was.
pub(crate) fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
