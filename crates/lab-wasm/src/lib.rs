//! The lab as a WebAssembly module (`wasm32-wasip1`, a reactor) for a worker of a page.
//!
//! ```text
//! JavaScript --message_of(length)--> writes the text of a message there --call()--> Lab
//!            <--answer()-- reads as many bytes there as `call` returned
//! ```
//! One module has one [`Lab`](coracle_lab::Lab), and WebAssembly has one thread.
//!
//! # Unsafe code
//! The workspace forbids unsafe code. The attribute that gives a function its name in the module counts as such, because
//! two functions may not have one name. The module `exports` has all of it, and no unsafe block: the two buffers belong
//! to Rust, and JavaScript reads and writes them between calls.

mod exports;
mod module;
