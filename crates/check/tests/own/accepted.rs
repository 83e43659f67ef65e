use coracle_check::Accepted;

/// What the components of the cluster do under faults, and may do.
pub(crate) const ACCEPTED: [Accepted; 0] = [];
