//! The API as any client meets it: the whole server with every built-in kind, in process.

mod answers;
mod audit;
mod conversion;
mod extensions;
mod front;
mod hostile;
mod own_controllers;
mod races;
mod webhooks;
mod writes;
