//! Reflector, DeltaFifo, Indexer, SharedInformer, Lister.
