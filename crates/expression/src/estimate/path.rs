use crate::schema::{Schema, Shape};

/// Where in the values from outside an expression looks. In Kubernetes: the path of an `AstNode`, and what
/// `sizeEstimator.EstimateSize` finds under it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Path<'s> {
    /// Nowhere: the value is made by the expression itself.
    Unsaid,
    At(&'s Schema),
    /// At the keys of a map, which can be so long.
    Keys(u64),
    /// Somewhere that nothing is declared of.
    Lost,
}

impl<'s> Path<'s> {
    /// The path of a variable. Whatever its name, it begins at the schema.
    pub(super) fn root(schema: Option<&'s Schema>) -> Self {
        schema.map_or(Self::Lost, Self::At)
    }

    /// One step further down; a step from nowhere is a path of its own, which begins at the schema.
    pub(super) fn then(self, root: Option<&'s Schema>, step: impl FnOnce(&'s Schema) -> Self) -> Self {
        match self {
            Self::Unsaid => Self::root(root),
            Self::At(schema) => step(schema),
            Self::Keys(_) | Self::Lost => Self::Lost,
        }
    }

    /// How large a value can be there.
    pub(super) fn largest(self) -> Option<u64> {
        match self {
            Self::At(schema) => Some(schema.largest()),
            Self::Keys(longest) => Some(longest),
            Self::Unsaid | Self::Lost => None,
        }
    }
}

/// A field; in a map whose keys are limited anything is as large as all else there.
pub(super) fn field<'s>(name: &str) -> impl FnOnce(&'s Schema) -> Path<'s> {
    move |schema| match (schema.field(name), schema.shape()) {
        (Some(field), _) => Path::At(&field.schema),
        (None, Shape::Map(items)) if schema.longest_key().is_some() && matches!(items.shape(), Shape::Any) => {
            Path::At(items)
        }
        (None, _) => Path::Lost,
    }
}

pub(super) fn items(schema: &Schema) -> Path<'_> {
    schema.items().map_or(Path::Lost, |items| Path::At(items))
}

pub(super) fn keys(schema: &Schema) -> Path<'_> {
    match schema.shape() {
        Shape::Map(_) => Path::Keys(schema.longest_key().unwrap_or(0)),
        _ => Path::Lost,
    }
}
