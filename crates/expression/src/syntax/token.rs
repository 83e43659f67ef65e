/// A token and its position in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'t> {
    pub(crate) sort: Sort,
    pub(crate) text: &'t str,
    pub(crate) at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// An operator, bracket or one of `in`, `true`, `false`, `null`.
    Sign,
    Identifier,
    EscapedIdentifier,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    End,
}

impl Token<'_> {
    pub(crate) fn is(&self, sign: &str) -> bool {
        self.sort == Sort::Sign && self.text == sign
    }

    /// The token as quoted in errors.
    pub(super) fn quoted(&self) -> String {
        if self.sort == Sort::End {
            return "'<EOF>'".to_owned();
        }
        format!("'{}'", self.text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t"))
    }
}
