//! The parser.
//!
//! ```text
//! text --lexer--> tokens --parser, macros--> Tree { Expr, where each stands }
//! ```
//! Start at [`parse`]. In Kubernetes: `cel-go/parser`. Texts, nesting and trees are limited in size before they are
//! processed.

mod builder;
mod lexer;
mod literal;
mod macros;
mod parser;
mod token;
mod tree;

pub(crate) use builder::Bindings;
pub(crate) use lexer::tokens;
pub(crate) use parser::{RESERVED, parse};
pub(crate) use token::{Sort, Token};
pub(crate) use tree::{Entry, Expr, Fold, Kind, Literal, Tree};
