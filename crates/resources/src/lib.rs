//! What is special about one kind: a file per kind, one list of kinds.
