use std::collections::BTreeMap;
use std::sync::OnceLock;

use coracle_meta::GroupVersionKind;
use coracle_release::TypeText;

use super::text::{TypeLines, TypeNames, read_kinds};
use super::{Shape, Type, TypeId};

/// A type of a table. A type of a release is parsed when it is used first: a program uses few of them.
#[derive(Clone, Debug)]
pub(super) struct LazyType {
    text: Option<TypeText>,
    parsed: OnceLock<Type>,
    /// Whether a value of the type may contain a foreign object; computed on first use.
    pub(super) holds_foreign: OnceLock<bool>,
}

impl LazyType {
    pub(super) fn of_text(text: TypeText) -> Self {
        Self { text: Some(text), parsed: OnceLock::new(), holds_foreign: OnceLock::new() }
    }

    pub(super) fn of_type(ty: Type) -> Self {
        Self { text: None, parsed: OnceLock::from(ty), holds_foreign: OnceLock::new() }
    }

    /// The type, in a table with these shapes.
    pub(super) fn get(&self, shapes: &BTreeMap<String, Shape>) -> &Type {
        self.parsed.get_or_init(|| {
            let text = self.text.expect("a type without a text is made parsed");
            let parsed = TypeLines::of(text.package, text.text).read(&TypeNames(shapes));
            parsed.unwrap_or_else(|(_, why)| panic!("a test reads the types of all releases: {}: {why}", text.text))
        })
    }
}

/// The types of a release, without a look at their fields.
#[derive(Default)]
pub(super) struct LazyTypes {
    pub(super) types: Vec<LazyType>,
    pub(super) shapes: BTreeMap<String, Shape>,
    pub(super) by_kind: BTreeMap<GroupVersionKind, TypeId>,
}

impl LazyTypes {
    /// # Errors
    /// The first header that is wrong.
    pub(super) fn of(texts: Vec<TypeText>) -> Result<Self, String> {
        let mut all = Self::default();
        for (id, text) in (0..).map(TypeId).zip(texts) {
            let TypeLines { package, header, .. } = TypeLines::of(text.package, text.text);
            let mut words = header.split(' ');
            all.shapes.insert(format!("{package}.{}", words.next().unwrap_or(header)), Shape::Named(id));
            if let Some(kinds) = words.find_map(|word| word.strip_prefix("kinds=")) {
                all.by_kind.extend(read_kinds(kinds)?.into_iter().map(|kind| (kind, id)));
            }
            all.types.push(LazyType::of_text(text));
        }
        Ok(all)
    }
}
