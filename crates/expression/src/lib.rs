//! CEL behind one trait.
