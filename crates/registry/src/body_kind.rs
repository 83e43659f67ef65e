use coracle_meta::GroupVersionKind;
use coracle_schema::KindSchema;

/// A kind without a resource of its own: what is sent to a subresource, or shown by it.
#[derive(Clone, Debug)]
pub struct BodyKind {
    /// Group, version and kind.
    pub gvk: GroupVersionKind,
    /// What it looks like.
    pub schema: KindSchema,
}

impl BodyKind {
    /// A kind of Kubernetes' own, which the table of 1.35 knows.
    ///
    /// # Panics
    /// If the table does not know it.
    pub fn built_in(group: &str, version: &str, kind: &str) -> Self {
        let gvk = GroupVersionKind::new(group, version, kind);
        Self { schema: KindSchema::built_in(&gvk), gvk }
    }
}
