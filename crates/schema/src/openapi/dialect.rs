/// Which version of OpenAPI a schema is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    V2,
    V3,
}

impl Dialect {
    /// How a schema of this dialect refers to a type.
    pub(super) fn name(self, ty: &str) -> String {
        match self {
            Self::V2 => format!("#/definitions/{ty}"),
            Self::V3 => format!("#/components/schemas/{ty}"),
        }
    }
}
