//! The schema of one kind: of a built-in kind, or of a custom one.
//!
//! ```text
//! Table of a release --Table::kind----------------+
//!                                           +--> KindSchema
//! Structural ----Structural::kind_schema----+
//! ```
//! Start at [`KindSchema`].

mod of_structural;

use std::sync::Arc;

use coracle_meta::GroupVersionKind;
use coracle_release::Release;

use crate::structural::Structural;
use crate::table::{Shape, Table, TypeRef};

/// The schema of one kind: a table and the root shape. Cheap to clone.
#[derive(Clone, Debug)]
pub struct KindSchema {
    table: Arc<Table>,
    root: Shape,
    structural: Option<Arc<Structural>>,
}

impl Table {
    /// The schema of a built-in kind. Kinds of `meta.k8s.io`, such as `DeleteOptions`, are those of `v1`.
    pub fn kind(self: &Arc<Self>, kind: &GroupVersionKind) -> Option<KindSchema> {
        Some(KindSchema::new(Arc::clone(self), Shape::Named(self.id_of_kind(kind)?)))
    }
}

impl KindSchema {
    /// A table and the shape of the objects.
    pub fn new(table: Arc<Table>, root: Shape) -> Self {
        Self { table, root, structural: None }
    }

    /// The schema of a built-in kind of a release.
    ///
    /// # Panics
    /// If the table does not contain the kind.
    pub fn built_in(release: &Release, kind: &GroupVersionKind) -> Self {
        Table::of(release).kind(kind).unwrap_or_else(|| panic!("the table has no {kind}"))
    }

    /// The schema of another kind in the same table.
    pub fn beside(&self, kind: &GroupVersionKind) -> Option<Self> {
        self.table.kind(kind)
    }

    /// The same schema with the structural schema of a custom resource, by which bodies are pruned instead of typed.
    #[must_use]
    pub fn with_structural(self, structural: Arc<Structural>) -> Self {
        Self { structural: Some(structural), ..self }
    }

    /// The structural schema of a custom resource; `None` for a built-in kind.
    pub fn structural(&self) -> Option<&Arc<Structural>> {
        self.structural.as_ref()
    }

    /// The type of the whole object.
    pub fn root(&self) -> TypeRef<'_> {
        TypeRef::new(&self.table, &self.root)
    }

    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }
}
