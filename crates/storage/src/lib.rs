//! Objects in a revisioned store, and the watch cache.
