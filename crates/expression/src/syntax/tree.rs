use std::sync::Arc;

/// A parsed text.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) root: Expr,
    /// The position of each expression in the text, by its id.
    pub(crate) places: Vec<usize>,
}

impl Tree {
    pub(crate) fn place(&self, id: usize) -> usize {
        self.places.get(id).copied().unwrap_or(0)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) id: usize,
    /// The depth of this subtree.
    pub(crate) height: usize,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// The placeholder for invalid text.
    Unknown,
    Literal(Literal),
    Ident(Arc<str>),
    Select {
        operand: Box<Expr>,
        field: Arc<str>,
        is_test: bool,
    },
    Call {
        function: Arc<str>,
        target: Option<Box<Expr>>,
        arguments: Vec<Expr>,
    },
    /// The items, and whether each is an optional element.
    List(Vec<(Expr, bool)>),
    Map(Vec<Entry>),
    Struct {
        name: Arc<str>,
        fields: Vec<(usize, Arc<str>, Expr, bool)>,
    },
    Fold(Box<Fold>),
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Expr,
    pub(crate) value: Expr,
    pub(crate) is_optional: bool,
}

/// A comprehension, which macros expand to. In Kubernetes: `ComprehensionExpr`.
#[derive(Clone, Debug)]
pub(crate) struct Fold {
    pub(crate) range: Expr,
    pub(crate) variable: Arc<str>,
    pub(crate) second: Option<Arc<str>>,
    pub(crate) accumulator: Arc<str>,
    pub(crate) start: Expr,
    pub(crate) condition: Expr,
    pub(crate) step: Expr,
    pub(crate) result: Expr,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
}

impl Kind {
    /// The direct operands.
    pub(crate) fn below(&self) -> Vec<&Expr> {
        match self {
            Self::Unknown | Self::Literal(_) | Self::Ident(_) => Vec::new(),
            Self::Select { operand, .. } => vec![operand],
            Self::Call { target, arguments, .. } => target.iter().map(|target| &**target).chain(arguments).collect(),
            Self::List(items) => items.iter().map(|(item, _)| item).collect(),
            Self::Map(entries) => entries.iter().flat_map(|entry| [&entry.key, &entry.value]).collect(),
            Self::Struct { fields, .. } => fields.iter().map(|(_, _, value, _)| value).collect(),
            Self::Fold(fold) => vec![&fold.range, &fold.start, &fold.condition, &fold.step, &fold.result],
        }
    }
}
