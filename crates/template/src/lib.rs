//! Go's `text/template`, with the functions of `sprig` that need nothing from outside.
//!
//! ```text
//! text --lexer--> tokens --parse(names of the host's functions)--> tree --execute(data, Host)--> text
//!                                          functions: the table of what a template may call
//! ```
//! Start at [`Template`]. [`Host`] has the functions of whoever renders.
//! In Go: `text/template`, `github.com/Masterminds/sprig`.
//!
//! A function that is not in the table, or of the host, is refused when the template is read. Everything is limited:
//! nesting, steps, and what comes out.
//! Not here: time, certificates, the environment (functions of sprig that look outside); delimiters other than `{{`.

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
