use std::cell::RefCell;

use coracle_lab::Lab;

/// The lab, and the buffers between it and JavaScript.
#[derive(Default)]
pub(crate) struct Module {
    lab: Lab,
    message: Vec<u8>,
    answer: Vec<u8>,
}

thread_local! {
    static MODULE: RefCell<Module> = RefCell::default();
}

impl Module {
    /// Does something with the module of the thread.
    pub(crate) fn with<T>(work: impl FnOnce(&mut Self) -> T) -> T {
        MODULE.with_borrow_mut(work)
    }

    /// The place of a message of this length.
    pub(crate) fn message_of(&mut self, length: usize) -> *mut u8 {
        self.message.clear();
        self.message.resize(length, 0);
        self.message.as_mut_ptr()
    }

    /// Answers the message, and returns the length of the answer.
    pub(crate) fn call(&mut self) -> usize {
        // The memory of an answer may be megabytes, and the next one is usually small.
        self.answer = Vec::new();
        let message = String::from_utf8_lossy(&self.message);
        self.answer = self.lab.call(&message);
        self.answer.len()
    }

    /// The place of the answer.
    pub(crate) fn answer(&self) -> *const u8 {
        self.answer.as_ptr()
    }
}
