use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, GroupVersionResource, Object, Status};
use coracle_registry::{
    Column, Computed, DeleteOptions, Generation, Registry, Request, Reservation, Strategy, Subresource, table,
};
use coracle_schema::{ResourceRow, Table};
use serde_json::Value;

use crate::columns::columns;
use crate::defaults;
use crate::rules::Rules;
use coracle_meta::fields::Fields;

/// The strategy of a built-in kind in one version: its row of the table, its pure rules, its subresources, and the few
/// hooks that do I/O.
pub(crate) struct BuiltIn {
    row: &'static ResourceRow,
    rules: Rules,
    subresources: Vec<Subresource>,
    hooks: Arc<dyn Hooks>,
    versions: Arc<dyn Versions>,
    computed: Option<Arc<dyn Computed>>,
}

/// What a few kinds do beyond pure rules.
#[async_trait]
pub(crate) trait Hooks: Send + Sync + 'static {
    /// See [`Strategy::begin_create`].
    async fn begin_create(
        &self,
        _registry: &Registry,
        _request: &Request,
        _object: &mut Object,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        Ok(None)
    }

    /// See [`Strategy::begin_update`].
    async fn begin_update(
        &self,
        _registry: &Registry,
        _request: &Request,
        _new: &mut Object,
        _old: &Object,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        Ok(None)
    }

    /// See [`Strategy::after`].
    async fn after(
        &self,
        _registry: &Registry,
        _request: &Request,
        _new: Option<&Object>,
        _old: Option<&Object>,
    ) -> Result<(), Status> {
        Ok(())
    }

    /// See [`Strategy::grace_period`].
    fn grace_period(&self, _object: &Object, _requested: Option<i64>) -> Option<i64> {
        None
    }

    /// See [`Strategy::begin_delete`].
    fn begin_delete(&self, _object: &mut Object, _request: &Request) {}

    /// See [`Strategy::is_held`].
    fn is_held(&self, _object: &Object) -> bool {
        false
    }
}

/// How a version that is not the stored one comes from the stored one and goes to it.
pub(crate) trait Versions: Send + Sync + 'static {
    /// See [`Strategy::to_hub`].
    fn to_hub(&self, _object: &mut Object) -> Result<(), Status> {
        Ok(())
    }

    /// See [`Strategy::from_hub`].
    #[expect(clippy::wrong_self_convention, reason = "the object is converted, not the strategy")]
    fn from_hub(&self, _object: &mut Object) -> Result<(), Status> {
        Ok(())
    }

    /// See [`Strategy::review`].
    fn review(&self, _object: &Object, wrong: Vec<FieldError>) -> Vec<FieldError> {
        wrong
    }
}

/// A kind with nothing beyond its rules.
struct Plain;

impl Hooks for Plain {}

impl Versions for Plain {}

impl BuiltIn {
    /// A kind with these rules and nothing else.
    ///
    /// # Panics
    /// If the table does not know the resource; a test goes through all of them.
    pub(crate) fn new(rules: Rules) -> Self {
        let resource = GroupVersionResource::new(rules.group, rules.version, rules.plural);
        let row = Table::v1_35().resource(&resource).expect("the table has a row for every built-in kind");
        Self { row, rules, subresources: Vec::new(), hooks: Arc::new(Plain), versions: Arc::new(Plain), computed: None }
    }

    /// With a subresource.
    pub(crate) fn with(mut self, subresource: Subresource) -> Self {
        self.subresources.push(subresource);
        self
    }

    /// With hooks.
    pub(crate) fn with_hooks(self, hooks: impl Hooks) -> Self {
        Self { hooks: Arc::new(hooks), ..self }
    }

    /// In a version that is not the stored one.
    pub(crate) fn with_versions(self, versions: impl Versions) -> Self {
        Self { versions: Arc::new(versions), ..self }
    }

    /// Computed instead of stored.
    pub(crate) fn computed_by(self, computed: impl Computed) -> Self {
        Self { computed: Some(Arc::new(computed)), ..self }
    }

    fn has_status(&self) -> bool {
        self.row.subresource("status").is_some()
    }

    /// In most kinds a finalizer has a domain or is one of Kubernetes. In Kubernetes: `ValidateKubeFinalizerName`.
    fn wrong_finalizers(&self, object: &Object) -> Vec<FieldError> {
        let rules = &self.rules;
        if rules.group == "admissionregistration.k8s.io" || ANY_FINALIZERS.contains(&(rules.group, rules.plural)) {
            return Vec::new();
        }
        let finalizers = object.finalizers().into_iter().enumerate();
        finalizers.flat_map(|(at, name)| unknown_finalizer(&format!("metadata.finalizers[{at}]"), &name)).collect()
    }
}

/// Kinds whose finalizers only have to be well-formed.
const ANY_FINALIZERS: &[(&str, &str)] = &[
    ("", "events"),
    ("apiregistration.k8s.io", "apiservices"),
    ("coordination.k8s.io", "leases"),
    ("events.k8s.io", "events"),
    ("node.k8s.io", "runtimeclasses"),
    ("policy", "poddisruptionbudgets"),
];

/// A finalizer without a domain has to be one of Kubernetes.
pub(crate) fn unknown_finalizer(path: &str, finalizer: &str) -> Option<FieldError> {
    let is_known = finalizer.contains('/') || ["kubernetes", "orphan", "foregroundDeletion"].contains(&finalizer);
    let what = "name is neither a standard finalizer name nor is it fully qualified";
    (!is_known).then(|| FieldError::invalid(path, finalizer, what))
}

fn paths(dotted: &[&str]) -> Vec<Vec<String>> {
    dotted.iter().map(|path| path.split('.').map(str::to_owned).collect()).collect()
}

/// Makes the value at a dotted path of `new` the one of `old`.
pub(crate) fn restore(new: &mut Object, old: &Object, path: &str) {
    let steps: Vec<&str> = path.split('.').collect();
    match old.field(&steps) {
        Some(value) => new.set(&steps, value.clone()),
        None => drop(new.remove(&steps)),
    }
}

/// Makes the metadata of `new` that of `old`, the managed fields and the resource version aside.
pub(crate) fn restore_metadata(new: &mut Object, old: &Object) {
    let managed = new.remove(&["metadata", "managedFields"]);
    let version = new.resource_version().to_owned();
    restore(new, old, "metadata");
    match managed {
        Some(managed) => new.set(&["metadata", "managedFields"], managed),
        None => drop(new.remove(&["metadata", "managedFields"])),
    }
    if !version.is_empty() {
        new.set_resource_version(version);
    }
}

#[async_trait]
impl Strategy for BuiltIn {
    fn row(&self) -> &ResourceRow {
        self.row
    }

    fn to_hub(&self, object: &mut Object) -> Result<(), Status> {
        self.versions.to_hub(object)
    }

    fn from_hub(&self, object: &mut Object) -> Result<(), Status> {
        self.versions.from_hub(object)
    }

    fn keeps_new_status(&self) -> bool {
        self.rules.keeps_new_status
    }

    fn store_directory(&self) -> Option<String> {
        self.rules.store_directory.map(str::to_owned)
    }

    fn deprecation(&self) -> Option<String> {
        self.rules.deprecation.map(str::to_owned)
    }

    fn set_defaults(&self, object: &mut Object) {
        (self.rules.set_defaults)(object);
        if let Some(schema) = self.schema() {
            defaults::fill_parts(&schema, object);
        }
    }

    fn prepare_create(&self, object: &mut Object, request: &Request) {
        (self.rules.prepare_create)(object, request);
    }

    fn prepare_update(&self, new: &mut Object, old: &Object, request: &Request) {
        (self.rules.prepare_update)(new, old, request);
    }

    fn review(&self, object: &Object, wrong: Vec<FieldError>) -> Vec<FieldError> {
        self.versions.review(object, wrong)
    }

    fn validate(&self, object: &Object) -> Vec<FieldError> {
        let mut wrong = self.wrong_finalizers(object);
        wrong.extend((self.rules.validate)(object));
        wrong.extend((self.rules.validate_create)(object));
        wrong
    }

    fn validate_update(&self, new: &Object, old: &Object) -> Vec<FieldError> {
        let mut wrong = self.wrong_finalizers(new);
        wrong.extend((self.rules.validate)(new));
        wrong.extend((self.rules.validate_change)(new, old));
        wrong
    }

    fn warnings(&self, new: &Object, old: Option<&Object>) -> Vec<String> {
        (self.rules.warnings)(new, old)
    }

    fn validate_name(&self, name: &str) -> Vec<String> {
        (self.rules.name)(name)
    }

    fn canonicalize(&self, object: &mut Object) {
        (self.rules.canonicalize)(object);
    }

    fn generation(&self) -> Generation {
        self.rules.generation
    }

    fn reset_fields(&self) -> Vec<Vec<String>> {
        let mut fields = paths(self.rules.reset_fields);
        if self.has_status() {
            fields.push(vec!["status".to_owned()]);
        }
        fields
    }

    fn prepare_status_update(&self, new: &mut Object, old: &Object, request: &Request) {
        for path in self.rules.kept_by_status {
            match *path {
                "metadata" => restore_metadata(new, old),
                path => restore(new, old, path),
            }
        }
        (self.rules.prepare_status)(new, old, request);
    }

    fn validate_status_update(&self, new: &Object, old: &Object) -> Vec<FieldError> {
        (self.rules.validate_status)(new, old)
    }

    fn reset_status_fields(&self) -> Vec<Vec<String>> {
        paths(self.rules.kept_by_status)
    }

    fn subresources(&self) -> &[Subresource] {
        &self.subresources
    }

    fn grace_period(&self, object: &Object, requested: Option<i64>) -> Option<i64> {
        self.hooks.grace_period(object, requested)
    }

    fn begin_delete(&self, object: &mut Object, request: &Request) {
        self.hooks.begin_delete(object, request);
    }

    fn is_held(&self, object: &Object) -> bool {
        self.hooks.is_held(object)
    }

    fn delete_warnings(&self, options: &DeleteOptions) -> Vec<String> {
        (self.rules.delete_warnings)(options)
    }

    fn orphans_by_default(&self) -> bool {
        self.rules.orphans_by_default
    }

    fn selectable_fields(&self) -> Vec<&str> {
        self.rules.selectable.to_vec()
    }

    fn field(&self, object: &Object, name: &str) -> String {
        if let Some(text) = (self.rules.field)(object, name) {
            return text;
        }
        match object.at(name) {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        }
    }

    fn indexed_fields(&self) -> Vec<&str> {
        self.rules.indexed.to_vec()
    }

    fn hidden_annotations(&self) -> &[&str] {
        self.rules.hidden_annotations
    }

    fn columns(&self) -> Vec<Column> {
        if self.rules.columns.is_empty() { table::default_columns() } else { columns(self.rules.columns) }
    }

    fn cells(&self, object: &Object, now: Timestamp) -> Vec<Value> {
        if self.rules.columns.is_empty() {
            return table::default_cells(object, now);
        }
        // Cells are read from the form in which objects are stored.
        let mut stored = Cow::Borrowed(object);
        if self.row.stored_as != self.row.resource() {
            let _ = self.versions.to_hub(stored.to_mut());
        }
        (self.rules.cells)(&stored, now)
    }

    fn row_conditions(&self, object: &Object) -> Vec<Value> {
        (self.rules.row_conditions)(object)
    }

    fn computed(&self) -> Option<&dyn Computed> {
        self.computed.as_deref()
    }

    fn time_to_live(&self, _object: &Object) -> Option<i64> {
        self.rules.time_to_live
    }

    async fn begin_create(
        &self,
        registry: &Registry,
        request: &Request,
        object: &mut Object,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        self.hooks.begin_create(registry, request, object).await
    }

    async fn begin_update(
        &self,
        registry: &Registry,
        request: &Request,
        new: &mut Object,
        old: &Object,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        self.hooks.begin_update(registry, request, new, old).await
    }

    async fn after(
        &self,
        registry: &Registry,
        request: &Request,
        new: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<(), Status> {
        self.hooks.after(registry, request, new, old).await
    }
}
