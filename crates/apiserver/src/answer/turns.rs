/// After how many items others get their turn.
const ITEMS: usize = 64;
/// After how many bytes of items others get their turn: what is read and written in about a millisecond.
pub(super) const BYTES: usize = 256 * 1024;

/// Gives others their turn now and then, where an answer of many items is made as a whole.
#[derive(Debug, Default)]
pub(super) struct Turns {
    items: usize,
    bytes: usize,
}

impl Turns {
    /// Counts an item of so many bytes.
    pub(super) async fn count(&mut self, bytes: usize) {
        self.items += 1;
        self.bytes += bytes;
        if self.items >= ITEMS || self.bytes >= BYTES {
            *self = Self::default();
            tokio::task::yield_now().await;
        }
    }
}
