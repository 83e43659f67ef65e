//! Reconciler, workers, own-writes barrier, ownership, events, leader election.
