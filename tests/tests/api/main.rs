//! The API as any client meets it: the whole server with every built-in kind, in process.

mod answers;
mod audit;
mod conversion;
mod extensions;
mod front;
mod hostile;
mod hostile_webhooks;
mod own_controllers;
mod policies;
mod races;
mod secrecy;
mod webhooks;
mod writes;
