/// A token and its position in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) sort: Sort,
    pub(super) text: &'t str,
    pub(super) at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
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
    pub(super) fn is(&self, sign: &str) -> bool {
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
