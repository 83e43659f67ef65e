use coracle_meta::GroupVersionKind;
use coracle_release::Release;
use coracle_schema::KindSchema;

/// A kind without its own resource: the body of a subresource.
#[derive(Clone, Debug)]
pub struct BodyKind {
    /// Group, version and kind.
    pub gvk: GroupVersionKind,
    /// The schema.
    pub schema: KindSchema,
}

impl BodyKind {
    /// A built-in kind in the table of the newest release. The bodies of subresources are the same in all releases, but
    /// for optional fields.
    ///
    /// # Panics
    /// If the table does not contain the kind.
    pub fn built_in(group: &str, version: &str, kind: &str) -> Self {
        let gvk = GroupVersionKind::new(group, version, kind);
        Self { schema: KindSchema::built_in(&Release::newest(), &gvk), gvk }
    }
}
