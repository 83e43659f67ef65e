//! Runtime errors of expressions.

use std::borrow::Cow;
use std::fmt;

/// A runtime error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    message: Cow<'static, str>,
    /// Whether evaluation must stop, so that `||` and `&&` do not ignore it.
    is_final: bool,
}

impl Fault {
    pub(crate) fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self { message: message.into(), is_final: false }
    }

    pub(crate) fn no_overload() -> Self {
        Self::new("no such overload")
    }

    /// The expression exceeds its cost limit.
    pub(crate) fn too_costly() -> Self {
        Self { message: "operation cancelled: actual cost limit exceeded".into(), is_final: true }
    }

    pub(crate) fn is_final(&self) -> bool {
        self.is_final
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
