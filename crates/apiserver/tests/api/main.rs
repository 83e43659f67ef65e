//! The API over HTTP, in one process: the real router over the real registry over a store in memory.

mod bodies;
mod discovery;
mod held;
mod hostile;
mod lists;
mod panics;
mod server;
mod unread;
mod verbs;
mod watches;
mod web_sockets;
