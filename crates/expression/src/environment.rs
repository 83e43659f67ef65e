//! The variables of an expression.

use std::collections::BTreeMap;

use crate::syntax::Bindings;
use crate::types::Type;

/// The variables in scope, with their types.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: BTreeMap<String, Type>,
    is_open: bool,
    bindings: Bindings,
    has_patch_types: bool,
}

impl Environment {
    /// Without variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Every name is a variable of dynamic type.
    pub fn open() -> Self {
        Self { is_open: true, ..Self::default() }
    }

    /// Adds `cel.bind(name, value, expression)`, which most environments of Kubernetes do not have.
    #[must_use]
    pub fn with_bindings(mut self) -> Self {
        self.bindings = Bindings::Allowed;
        self
    }

    /// Adds the types of patches: `Object{…}` for apply configurations, and `JSONPatch{…}` with `jsonpatch.escapeKey`.
    /// In Kubernetes: `OptionalVariableDeclarations.HasPatchTypes`.
    #[must_use]
    pub fn with_patch_types(mut self) -> Self {
        self.has_patch_types = true;
        self
    }

    /// Adds a variable.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, of: Type) -> Self {
        self.variables.insert(name.into(), of);
        self
    }

    /// The type of a declared variable.
    pub(crate) fn variable_mut(&mut self, name: &str) -> Option<&mut Type> {
        self.variables.get_mut(name)
    }

    pub(crate) fn bindings(&self) -> Bindings {
        self.bindings
    }

    pub(crate) fn has_patch_types(&self) -> bool {
        self.has_patch_types
    }

    pub(crate) fn variable(&self, name: &str) -> Option<Type> {
        let declared = self.variables.get(name).cloned();
        declared.or_else(|| (self.is_open && !name.contains('.') && Type::named(name).is_none()).then_some(Type::Dyn))
    }
}
