#![expect(unsafe_code, reason = "the names of exports are attributes that count as unsafe")]

use crate::module::Module;

/// Makes room for a message of this length, and returns its place.
#[unsafe(no_mangle)]
extern "C" fn message_of(length: usize) -> *mut u8 {
    Module::with(|module| module.message_of(length))
}

/// Answers the message, and returns the length of the answer.
#[unsafe(no_mangle)]
extern "C" fn call() -> usize {
    Module::with(Module::call)
}

/// The place of the answer, until the next call.
#[unsafe(no_mangle)]
extern "C" fn answer() -> *const u8 {
    Module::with(|module| module.answer())
}
