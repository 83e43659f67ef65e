use anyhow::{Context, Result};
use coracle_ambient::{Ambient, Panics};

use crate::output::note;

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

/// The environment of a server. A part that panics is reported and restarted, while the others continue.
pub(crate) fn server_ambient() -> Ambient {
    Ambient { panics: Panics::survived(|report| note!("coracle: {report}")), ..Ambient::system() }
}
