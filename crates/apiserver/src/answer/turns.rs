/// The number of items after which the task yields.
const ITEMS: usize = 64;
/// The number of bytes after which the task yields: what is decoded and written in about a millisecond.
pub(super) const BYTES: usize = 256 * 1024;

/// Yields to other tasks regularly while a response with many items is built at once.
#[derive(Debug, Default)]
pub(super) struct Turns {
    items: usize,
    bytes: usize,
}

impl Turns {
    /// Counts an item of this number of bytes, and yields if it is time.
    pub(super) async fn count(&mut self, bytes: usize) {
        self.items += 1;
        self.bytes += bytes;
        if self.items >= ITEMS || self.bytes >= BYTES {
            *self = Self::default();
            tokio::task::yield_now().await;
        }
    }
}
