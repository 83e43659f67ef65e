use anyhow::{Context, Result};

/// The stack size of a thread: several times what the deepest accepted objects need.
const STACK_BYTES: usize = 16 << 20;

/// The runtime of a server: one thread per core.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    crate::open_files::raise_limit();
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .build()
        .context("cannot start the runtime")
}
