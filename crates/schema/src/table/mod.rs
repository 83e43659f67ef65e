//! The table of all kinds: types with their fields, and resources with their verbs.
//!
//! ```text
//! Release::types() + Release::resources() --text--> Table --TypeRef--> field --> element --> ...
//! structural schema of a custom resource --kind_schema-------^
//! ```
//! Start at [`Table::of`] and [`TypeRef`].

mod resource_row;
mod shape;
mod text;
mod type_ref;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, OnceLock};

use coracle_meta::{GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource};
use coracle_release::Release;

pub use resource_row::{ResourceRow, SubresourceRow, Trait};
pub use shape::{
    Field, ListKind, ListShape, Map, MapKind, PatchStrategy, Presence, Shape, Special, Struct, Type, TypeBody, TypeId,
};
pub use text::TextError;
pub use type_ref::{FieldRef, TypeNode, TypeRef};

/// Types by name, and resources.
///
/// The table of the built-in kinds is embedded; each custom kind has its own small table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    types: Vec<Type>,
    /// The shapes that refer to types, by name.
    shapes: BTreeMap<String, Shape>,
    by_kind: BTreeMap<GroupVersionKind, TypeId>,
    resources: Vec<ResourceRow>,
    /// The types that may contain foreign objects; computed on first use.
    foreign: OnceLock<BTreeSet<TypeId>>,
}

/// The tables of the releases, each parsed when it is needed first.
static TABLES: LazyLock<Vec<OnceLock<Arc<Table>>>> =
    LazyLock::new(|| Release::all().map(|_| OnceLock::new()).collect());

impl Table {
    /// The built-in kinds of a release; parsed at the first call for it.
    pub fn of(release: &Release) -> &'static Arc<Table> {
        TABLES[release.place()].get_or_init(|| {
            let table = Table::from_text(&release.types(), &release.resources());
            Arc::new(table.expect("a test reads the tables of all releases"))
        })
    }

    /// The place in the list of releases of the one whose table this is; `None` for a table with other kinds.
    pub fn place_of_release(&self) -> Option<usize> {
        let is_this = |table: &OnceLock<Arc<Table>>| table.get().is_some_and(|table| std::ptr::eq(&**table, self));
        TABLES.iter().position(is_this)
    }

    /// The kinds of the newest release, for decisions that are the same in all releases.
    pub fn newest() -> &'static Arc<Table> {
        Table::of(&Release::newest())
    }

    /// Adds a type and returns its id. A type with an existing name replaces that type.
    pub fn add(&mut self, ty: Type) -> TypeId {
        let kinds = ty.kinds.clone();
        let id = match self.id(&ty.name) {
            Some(id) => {
                self.types[id.0 as usize] = ty;
                id
            }
            None => {
                let id = TypeId(u32::try_from(self.types.len()).expect("a table holds fewer than 2^32 types"));
                self.shapes.insert(ty.name.clone(), Shape::Named(id));
                self.types.push(ty);
                id
            }
        };
        self.by_kind.extend(kinds.into_iter().map(|kind| (kind, id)));
        id
    }

    /// All types, in the order in which they were added.
    pub fn types(&self) -> impl Iterator<Item = &Type> {
        self.types.iter()
    }

    /// The type with an id of this table.
    ///
    /// # Panics
    /// If the id belongs to another table.
    pub fn type_of(&self, id: TypeId) -> &Type {
        &self.types[id.0 as usize]
    }

    /// The id of the type with a name, such as `io.k8s.api.core.v1.Pod`.
    pub fn id(&self, name: &str) -> Option<TypeId> {
        match self.shapes.get(name)? {
            Shape::Named(id) => Some(*id),
            _ => None,
        }
    }

    /// The type with a name, such as `io.k8s.api.core.v1.Pod`.
    pub fn by_name(&self, name: &str) -> Option<&Type> {
        Some(self.type_of(self.id(name)?))
    }

    /// A reference to the type with this name.
    pub fn type_ref(&self, name: &str) -> Option<TypeRef<'_>> {
        Some(TypeRef::new(self, self.shapes.get(name)?))
    }

    /// The id of a built-in kind's type. Kinds of `meta.k8s.io`, such as `DeleteOptions`, are those of `v1`.
    pub(crate) fn id_of_kind(&self, kind: &GroupVersionKind) -> Option<TypeId> {
        let of_core = || GroupVersionKind::new("", kind.version.clone(), kind.kind.clone());
        let in_core = || self.by_kind.get(&of_core()).filter(|_| kind.group == "meta.k8s.io");
        self.by_kind.get(kind).or_else(in_core).copied()
    }

    /// A reference to the type of a built-in kind's objects. Kinds of `meta.k8s.io`, such as `DeleteOptions`, are those of
    /// `v1`.
    pub(crate) fn root_of_kind(&self, kind: &GroupVersionKind) -> Option<TypeRef<'_>> {
        self.type_ref(&self.type_of(self.id_of_kind(kind)?).name)
    }

    /// The type of a kind's objects.
    pub fn type_of_kind(&self, kind: &GroupVersionKind) -> Option<&Type> {
        Some(self.type_of(*self.by_kind.get(kind)?))
    }

    /// All resources, in the order of discovery.
    pub fn resources(&self) -> &[ResourceRow] {
        &self.resources
    }

    /// A resource in one version.
    pub fn resource(&self, resource: &GroupVersionResource) -> Option<&ResourceRow> {
        self.resources.iter().find(|row| {
            row.plural == resource.resource && row.kind.group == resource.group && row.kind.version == resource.version
        })
    }

    /// Whether a value of this shape may contain a `runtime.RawExtension`.
    fn holds_foreign(&self, shape: &Shape) -> bool {
        let refers = |shape: &Shape, known: &BTreeSet<TypeId>| {
            let mut shape = shape;
            loop {
                match shape {
                    Shape::Named(id) => return known.contains(id),
                    Shape::List(list) => shape = &list.element,
                    Shape::Map(map) => shape = &map.value,
                    _ => return false,
                }
            }
        };
        let known = self.foreign.get_or_init(|| {
            let mut known = BTreeSet::new();
            loop {
                let before = known.len();
                for (at, ty) in (0..).zip(&self.types) {
                    let holds = match &ty.body {
                        TypeBody::Special(special) => *special == Special::RawExtension,
                        TypeBody::Struct(fields) => fields.fields.iter().any(|field| refers(&field.shape, &known)),
                    };
                    if holds {
                        known.insert(TypeId(at));
                    }
                }
                if known.len() == before {
                    return known;
                }
            }
        });
        refers(shape, known)
    }

    /// The served versions of a resource, the preferred one first.
    pub fn versions_of(&self, resource: &GroupResource) -> Vec<&ResourceRow> {
        let of_resource = |row: &&ResourceRow| row.plural == resource.resource && row.kind.group == resource.group;
        self.resources.iter().filter(of_resource).collect()
    }

    /// The group versions in the order of discovery: in each group the preferred one first.
    pub fn group_versions(&self) -> Vec<GroupVersion> {
        let mut out: Vec<GroupVersion> = Vec::new();
        for row in &self.resources {
            let version = row.kind.group_version();
            if !out.contains(&version) {
                out.push(version);
            }
        }
        out
    }
}
