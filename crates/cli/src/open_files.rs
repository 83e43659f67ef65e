//! The limit of open files and connections of the process.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the limit as far as the system permits, as every Go program does at its start. If that fails, the limit is
/// unchanged.
pub(crate) fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
