//! The table of all kinds: types with their fields, and resources with their verbs.
//!
//! ```text
//! Release::type_texts() + Release::resources() --> Table --TypeRef--> field --> element --> ...
//! structural schema of a custom resource --kind_schema-------^
//! ```
//! Start at [`Table::of`] and [`TypeRef`].

mod lazy_type;
mod resource_row;
mod shape;
mod text;
mod type_ref;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, OnceLock};

use coracle_meta::{GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource};
use coracle_release::{Release, TypeText};
use lazy_type::{LazyType, LazyTypes};

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
    types: Vec<LazyType>,
    /// The shapes that refer to types, by name.
    shapes: BTreeMap<String, Shape>,
    by_kind: BTreeMap<GroupVersionKind, TypeId>,
    resources: Vec<ResourceRow>,
}

/// The tables of the releases, each parsed when it is needed first.
static TABLES: LazyLock<Vec<OnceLock<Arc<Table>>>> =
    LazyLock::new(|| Release::all().map(|_| OnceLock::new()).collect());

impl Table {
    /// The built-in kinds of a release; parsed at the first call for it.
    pub fn of(release: &Release) -> &'static Arc<Table> {
        TABLES[release.place()].get_or_init(|| {
            let table = Table::of_texts(release.type_texts(), &release.resources());
            Arc::new(table.unwrap_or_else(|why| panic!("a test reads the tables of all releases: {why}")))
        })
    }

    /// A table that parses each type when it is used first.
    fn of_texts(types: Vec<TypeText>, resources: &str) -> Result<Self, String> {
        let LazyTypes { types, shapes, by_kind } = LazyTypes::of(types)?;
        let mut table = Self { types, shapes, by_kind, resources: Vec::new() };
        table.read_resources(resources).map_err(|error| error.to_string())?;
        Ok(table)
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
                self.types[id.0 as usize] = LazyType::of_type(ty);
                id
            }
            None => {
                let id = TypeId(u32::try_from(self.types.len()).expect("a table holds fewer than 2^32 types"));
                self.shapes.insert(ty.name.clone(), Shape::Named(id));
                self.types.push(LazyType::of_type(ty));
                id
            }
        };
        self.by_kind.extend(kinds.into_iter().map(|kind| (kind, id)));
        id
    }

    /// All types, in the order in which they were added.
    pub fn types(&self) -> impl Iterator<Item = &Type> {
        self.types.iter().map(|ty| ty.get(&self.shapes))
    }

    /// The type with an id of this table.
    ///
    /// # Panics
    /// If the id belongs to another table.
    pub fn type_of(&self, id: TypeId) -> &Type {
        self.types[id.0 as usize].get(&self.shapes)
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
        let Some(id) = named_type(shape) else { return false };
        *self.types[id.index()].holds_foreign.get_or_init(|| self.reaches_foreign(id))
    }

    /// The same for a type. Reads only the types below it.
    fn reaches_foreign(&self, id: TypeId) -> bool {
        let (mut seen, mut waiting) = (BTreeSet::from([id]), vec![id]);
        while let Some(id) = waiting.pop() {
            match (self.types[id.index()].holds_foreign.get(), &self.type_of(id).body) {
                (Some(true), _) | (None, TypeBody::Special(Special::RawExtension)) => return true,
                (Some(false), _) | (None, TypeBody::Special(_)) => {}
                (None, TypeBody::Struct(body)) => {
                    let below = body.fields.iter().filter_map(|field| named_type(&field.shape));
                    waiting.extend(below.filter(|id| seen.insert(*id)));
                }
            }
        }
        false
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

/// The named type of a shape, or of its elements.
fn named_type(mut shape: &Shape) -> Option<TypeId> {
    loop {
        match shape {
            Shape::Named(id) => return Some(*id),
            Shape::List(list) => shape = &list.element,
            Shape::Map(map) => shape = &map.value,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_parses_its_types_late_equals_one_that_parses_all_at_once() {
        for release in Release::all() {
            let late = Table::of(&release);
            let at_once = Table::from_text(&release.types(), &release.resources()).unwrap();
            assert!(late.types.len() > 500, "{release}");
            for (late, at_once) in late.types().zip(at_once.types()) {
                assert_eq!(format!("{late:?}"), format!("{at_once:?}"));
            }
            assert_eq!(late.types.len(), at_once.types.len());
            assert_eq!((&late.shapes, &late.by_kind), (&at_once.shapes, &at_once.by_kind));
            assert_eq!(format!("{:?}", late.resources), format!("{:?}", at_once.resources));
        }
    }

    #[test]
    fn a_type_holds_foreign_objects_if_one_below_it_does_in_whichever_order_types_are_asked() {
        let release = Release::default();
        let (forward, backward) = (Table::clone(Table::of(&release)), Table::clone(Table::of(&release)));
        let of = |table: &Table, id: u32| table.holds_foreign(&Shape::Named(TypeId(id)));
        let count = u32::try_from(forward.types.len()).unwrap();
        let first: Vec<bool> = (0..count).map(|id| of(&forward, id)).collect();
        let mut last: Vec<bool> = (0..count).rev().map(|id| of(&backward, id)).collect();
        last.reverse();
        assert_eq!(first, last);
        let holds = |name: &str| of(&forward, forward.id(name).unwrap().0);
        assert!(holds("io.k8s.api.apps.v1.ControllerRevision") && holds("io.k8s.api.apps.v1.ControllerRevisionList"));
        assert!(!holds("io.k8s.api.core.v1.PodList"));
    }
}
