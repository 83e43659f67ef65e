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
    /// A built-in kind that is the same in all releases.
    ///
    /// # Panics
    /// If the table does not contain the kind.
    pub fn built_in(group: &str, version: &str, kind: &str) -> Self {
        Self::of(&Release::newest(), group, version, kind)
    }

    /// A built-in kind as a release has it.
    ///
    /// # Panics
    /// If the table does not contain the kind.
    pub fn of(release: &Release, group: &str, version: &str, kind: &str) -> Self {
        let gvk = GroupVersionKind::new(group, version, kind);
        Self { schema: KindSchema::built_in(release, &gvk), gvk }
    }
}
