//! Go's `text/template`, with those functions of `sprig` that do not access the environment.
//!
//! ```text
//! text --lexer--> tokens --parse(names of the host's functions)--> tree --execute(data, Host)--> text
//!                                          functions: the table of available functions
//! ```
//! Start at [`Template`]. [`Host`] provides additional functions. In Go: `text/template`,
//! `github.com/Masterminds/sprig`.
//!
//! A function that is neither in the table nor provided by the host is rejected when the template is parsed.
//! Everything is limited: nesting, steps, and the size of the output. Not here: time, certificates, the environment
//! (functions of sprig that access it); delimiters other than `{{`.

mod compare;
mod error;
mod execute;
mod format;
mod functions;
mod host;
mod lexer;
mod number;
mod parse;
mod show;
mod template;
#[cfg(test)]
mod tests;
mod tree;
mod value;

pub use error::Error;
pub use host::{Alone, Host};
pub use template::Template;
