use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;

/// An object at one revision in another encoding than JSON. A cache owns it, and the object finds it while it is kept.
#[derive(Debug)]
pub struct Message {
    bytes: Bytes,
    was_used: AtomicBool,
}

impl Message {
    /// A message that no reader has used.
    pub fn new(bytes: Bytes) -> Arc<Self> {
        Arc::new(Self { bytes, was_used: AtomicBool::new(false) })
    }

    /// The encoded object.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Whether an object returned it since the last call.
    pub fn take_use(&self) -> bool {
        self.was_used.swap(false, Ordering::Relaxed)
    }
}

/// Where an object finds its message. It takes no memory on the heap until the object has one.
#[derive(Debug, Default)]
pub(crate) struct MessageSlot {
    message: Mutex<Weak<Message>>,
}

impl MessageSlot {
    /// The message, if it is kept; notes that it is used.
    pub(crate) fn get(&self) -> Option<Arc<Message>> {
        let message = self.message.lock().upgrade()?;
        message.was_used.store(true, Ordering::Relaxed);
        Some(message)
    }

    pub(crate) fn set(&self, message: &Arc<Message>) {
        *self.message.lock() = Arc::downgrade(message);
    }

    /// Frees the memory of a message that is not kept any more.
    pub(crate) fn release_unused(&self) {
        let mut message = self.message.lock();
        if message.strong_count() == 0 {
            *message = Weak::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_found_while_it_is_kept_and_knows_whether_it_is_used() {
        let slot = MessageSlot::default();
        assert!(slot.get().is_none());
        let message = Message::new(Bytes::from_static(b"m"));
        slot.set(&message);
        assert!(!message.take_use());
        assert_eq!(slot.get().unwrap().bytes(), "m");
        assert!(message.take_use() && !message.take_use());
        drop(message);
        assert!(slot.get().is_none());
    }
}
