/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This build has no such store, or the store cannot do what the options need.
    #[error("{0}")]
    Options(String),
    /// The store refused to open; its message contains a hint.
    #[error(transparent)]
    Store(#[from] coracle_store::Error),
}
