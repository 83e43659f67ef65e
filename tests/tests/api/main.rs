//! The API as any client meets it: the whole server with every built-in kind, in process.

mod front;
mod own_controllers;
mod writes;
