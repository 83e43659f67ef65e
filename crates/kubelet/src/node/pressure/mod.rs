//! Which resources a node is short of, and for how long.
//!
//! ```text
//! reading, capacity --signals (pure)--> Signal: what is left, and how much there should be
//!                                          \--Pressure: how long each lasts--> conditions of the Node
//! ```

mod pressed;
mod shortage;
mod signals;

pub(crate) use pressed::{Pressed, PressureCondition};
pub(crate) use shortage::Shortage;
pub(crate) use signals::{Scarce, Signal, signals};
