use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_expression::Allowance;
use coracle_meta::{FieldError, GroupVersion, GroupVersionKind, Object};
use coracle_release::Release;
use coracle_schema::structural::Structural;
use coracle_schema::{ResourceRow, SubresourceRow, Trait};

use super::columns::columns;
use super::definition::{Definition, Version};
use super::rules::ValidationRules;
use crate::restore::restore_all_but_status;
use crate::{ConversionWebhook, Generation, KindSpec, Offers, Request, Strategy, Subresource};

/// The verbs of custom resources, in Kubernetes' order.
const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// A custom kind in one version. In Kubernetes: `customResourceStrategy`.
#[derive(Debug)]
pub(super) struct CustomKind {
    spec: KindSpec,
    version: Version,
    rules: ValidationRules,
    conversion: Option<Arc<ConversionWebhook>>,
    /// The version in which objects are stored, if it is another one.
    hub: Option<Arc<CustomKind>>,
    fits_when_read: bool,
    is_terminating: bool,
    /// The structural schema of each version, by `apiVersion`.
    schemas: Arc<BTreeMap<String, Arc<Structural>>>,
}

impl CustomKind {
    /// All served versions of a definition.
    pub(super) fn all(release: &Release, definition: &Definition) -> Vec<Arc<dyn Strategy>> {
        let schema = |version: &Version| (definition.kind(&version.name).api_version(), Arc::clone(&version.schema));
        let schemas: Arc<BTreeMap<_, _>> = Arc::new(definition.versions.iter().map(schema).collect());
        let new = |version: &Version, hub| Arc::new(Self::new(release, definition, version, &schemas, hub));
        let stored = definition.storage_version().map(|version| new(version, None));
        let strategy = |version: &Version| -> Arc<dyn Strategy> {
            match &stored {
                Some(stored) if stored.version.name == version.name => Arc::clone(stored) as _,
                stored => new(version, stored.clone()),
            }
        };
        definition.versions.iter().filter(|version| version.served).map(strategy).collect()
    }

    fn new(
        release: &Release,
        definition: &Definition,
        version: &Version,
        schemas: &Arc<BTreeMap<String, Arc<Structural>>>,
        hub: Option<Arc<Self>>,
    ) -> Self {
        let kind = definition.kind(&version.name);
        let scale = version.scale.clone().map(|scale| Subresource::Projection(Arc::new(scale)));
        let row = row(definition, version, &kind);
        let spec = KindSpec {
            store_directory: format!("{}/{}", kind.group, row.plural),
            deprecation: version.deprecation.as_deref().map(|warning| deprecation(&kind, warning)),
            published_schema: Some(version.published.clone()),
            generation: if version.has_status { Generation::AllBut(&["status"]) } else { Generation::AllBut(&[]) },
            columns: columns(&version.columns),
            subresources: scale.into_iter().collect(),
            ..KindSpec::new(release, row, version.schema.kind_schema(&kind), Offers::CUSTOM)
        };
        Self {
            spec,
            rules: ValidationRules::compile(&version.schema),
            conversion: definition.conversion.clone(),
            hub,
            fits_when_read: definition.generation > 1 || definition.versions.len() > 1,
            is_terminating: definition.is_terminating,
            schemas: Arc::clone(schemas),
            version: version.clone(),
        }
    }

    fn wrong_counts(&self, object: &Object) -> Vec<FieldError> {
        self.version.scale.as_ref().map(|scale| scale.wrong_counts(object)).unwrap_or_default()
    }

    /// Duplicate items of lists, except existing ones.
    fn newly_doubled_items(&self, new: &Object, old: &Object) -> Vec<FieldError> {
        let schema = &self.version.schema;
        let doubled = schema.doubled_items(new.tree());
        if doubled.is_empty() || schema.doubled_items(old.tree()).is_empty() { doubled } else { Vec::new() }
    }
}

fn row(definition: &Definition, version: &Version, kind: &GroupVersionKind) -> ResourceRow {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let subresource = |name: &str, kind: GroupVersionKind, foreign| SubresourceRow {
        name: name.to_owned(),
        kind,
        verbs: words(&["get", "patch", "update"]),
        foreign,
    };
    let status = version.has_status.then(|| subresource("status", kind.clone(), false));
    let scale =
        version.scale.as_ref().map(|_| subresource("scale", GroupVersionKind::new("autoscaling", "v1", "Scale"), true));
    let stored = definition.storage_version().map_or(version.name.as_str(), |stored| stored.name.as_str());
    ResourceRow {
        kind: kind.clone(),
        list_kind: definition.names.list_kind.clone(),
        plural: definition.names.plural.clone(),
        singular: definition.names.singular.clone(),
        short_names: definition.names.short_names.clone(),
        categories: definition.names.categories.clone(),
        scope: definition.scope,
        verbs: words(&VERBS),
        subresources: status.into_iter().chain(scale).collect(),
        stored_as: definition.resource(stored),
        storage_version: GroupVersion::new(definition.group.as_str(), stored),
        traits: BTreeSet::from([Trait::Generation]),
    }
}

/// The errors of a status. Kubernetes validates it separately, so paths begin at the status.
/// In Kubernetes: `customResourceValidator.ValidateStatusUpdate`.
fn wrong_status(schema: &Structural, new: &Object, old: &Object) -> Vec<FieldError> {
    let (Some(below), Some(status)) = (schema.properties.get("status"), new.tree().get("status")) else {
        return Vec::new();
    };
    let mut errors = match old.tree().get("status") {
        Some(old) => below.validate_change(status, old, ""),
        None => below.validate(status, ""),
    };
    for error in &mut errors {
        error.field = match error.field.as_str() {
            "" | "<nil>" => "status".to_owned(),
            field => format!("status.{field}"),
        };
    }
    errors
}

/// The warning for clients of a deprecated version.
fn deprecation(kind: &GroupVersionKind, warning: &str) -> String {
    match warning {
        "" => format!("{}/{} {} is deprecated", kind.group, kind.version, kind.kind),
        warning => warning.to_owned(),
    }
}

impl Strategy for CustomKind {
    fn spec(&self) -> &KindSpec {
        &self.spec
    }

    fn fit_stored(&self, object: &mut Object) {
        let stored_in = self.schemas.get(object.api_version());
        let schema =
            stored_in.unwrap_or_else(|| self.hub.as_ref().map_or(&self.version.schema, |hub| &hub.version.schema));
        object.edit(|tree| {
            schema.prune(tree);
            schema.drop_nulls(tree);
            schema.default_fields(tree);
        });
    }

    fn conversion_webhook(&self) -> Option<&Arc<ConversionWebhook>> {
        self.conversion.as_ref()
    }

    fn has_own_rules(&self) -> bool {
        true
    }

    fn hub(&self) -> Option<Arc<dyn Strategy>> {
        self.hub.clone().map(|hub| hub as _)
    }

    fn fits_when_read(&self) -> bool {
        self.fits_when_read
    }

    fn refuses_new_objects(&self) -> Option<&'static str> {
        self.is_terminating.then_some("create not allowed while custom resource definition is terminating")
    }

    fn prune(&self, object: &mut Object) {
        object.edit(|tree| drop(self.version.schema.prune(tree)));
    }

    fn drop_nulls(&self, object: &mut Object) {
        object.edit(|tree| self.version.schema.drop_nulls(tree));
    }

    fn set_defaults(&self, object: &mut Object) {
        object.edit(|tree| self.version.schema.default_fields(tree));
    }

    fn validate(&self, object: &Object) -> Vec<FieldError> {
        let mut errors = self.version.schema.validate(object.as_value(), "");
        errors.extend(self.wrong_counts(object));
        errors.extend(self.version.schema.embedded_errors(object.tree()));
        errors.extend(self.version.schema.doubled_items(object.tree()));
        errors
    }

    fn validate_update(&self, new: &Object, old: &Object) -> Vec<FieldError> {
        let schema = &self.version.schema;
        let mut errors = schema.validate_change(new.as_value(), old.as_value(), "");
        errors.extend(self.wrong_counts(new));
        errors.extend(schema.embedded_errors(new.tree()));
        errors.extend(self.newly_doubled_items(new, old));
        errors
    }

    fn prepare_status_update(&self, new: &mut Object, old: &Object, _request: &Request) {
        restore_all_but_status(new, old);
    }

    fn validate_status_update(&self, new: &Object, old: &Object) -> Vec<FieldError> {
        let mut errors = wrong_status(&self.version.schema, new, old);
        let is_of_status = |error: &FieldError| error.field.trim_start_matches('.').starts_with("status.");
        errors.extend(self.wrong_counts(new).into_iter().filter(is_of_status));
        errors.extend(self.newly_doubled_items(new, old));
        errors
    }

    fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    fn check_rules(&self, new: &Object, old: Option<&Object>, allowance: &Allowance) -> Vec<FieldError> {
        let old = old.map(Object::to_value);
        self.rules.check(&self.version.schema, new.as_value(), old.as_ref(), allowance)
    }

    fn reset_status_fields(&self) -> Vec<Vec<String>> {
        let below_root =
            self.version.schema.properties.keys().filter(|name| !["status", "metadata"].contains(&name.as_str()));
        let mut fields: Vec<_> = below_root.map(|name| vec![name.clone()]).collect();
        fields.push(vec!["metadata".to_owned()]);
        fields
    }

    fn selectable_fields(&self) -> Option<Vec<&str>> {
        Some(self.version.selectable.iter().map(String::as_str).collect())
    }
}
