//! The seeded virtual world: faults, timeline, invariants.
