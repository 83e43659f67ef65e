//! A controlled cluster as its clients see it, without sockets.

mod controlled;
mod forks;
mod resets;
mod rights;
mod time;
