use crate::schema::{Schema, Shape};

/// The position of an expression's value in the variables. In Kubernetes: the path of an `AstNode`, and the result of
/// `sizeEstimator.EstimateSize` for it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Path<'s> {
    /// None: the expression itself creates the value.
    Unsaid,
    At(&'s Schema),
    /// The keys of a map, with their maximum length.
    Keys(u64),
    /// A position without a declared schema.
    Lost,
}

impl<'s> Path<'s> {
    /// The path of a variable. Whatever its name, it starts at the schema.
    pub(super) fn root(schema: Option<&'s Schema>) -> Self {
        schema.map_or(Self::Lost, Self::At)
    }

    /// One step further; a step from no position starts at the schema.
    pub(super) fn then(self, root: Option<&'s Schema>, step: impl FnOnce(&'s Schema) -> Self) -> Self {
        match self {
            Self::Unsaid => Self::root(root),
            Self::At(schema) => step(schema),
            Self::Keys(_) | Self::Lost => Self::Lost,
        }
    }

    /// The maximum size of a value there.
    pub(super) fn largest(self) -> Option<u64> {
        match self {
            Self::At(schema) => Some(schema.largest()),
            Self::Keys(longest) => Some(longest),
            Self::Unsaid | Self::Lost => None,
        }
    }
}

/// A field; in a map with limited keys all values have the map's common limits.
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
