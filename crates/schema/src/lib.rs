//! Shapes of objects, and how two versions of one merge.
