//! Kinds that the release of a run does not have.

use std::path::Path;

use coracle_meta::GroupVersionKind;
use coracle_release::Release;
use coracle_schema::Table;
use coracle_yaml::Spanned;
use serde_json::Value;

use crate::Scenario;
use crate::file::Operation;

/// The message about the first object of a scenario whose kind the release does not have and another one has, with its
/// file, its line and the release that has it. Kinds that no release has can be those of definitions.
pub(crate) fn missing_kind(scenario: &Scenario, path: &Path, release: &Release) -> Option<String> {
    let steps = scenario.spec.steps.iter().flat_map(|step| &step.operations);
    steps.filter_map(|operation| written(&operation.value)).find_map(|object| {
        let kind = kind_of(&object.value)?;
        let has = |release: &Release| Table::of(release).kind(&kind).is_some();
        let other = Release::all().find(has).filter(|_| !has(release))?;
        let (path, line, name) = (path.display(), object.location.line(), &kind.kind);
        let version = kind.api_version();
        Some(format!(
            "{path}:{line}: Kubernetes {release} has no {name} of {version}; {other} has it (--kubernetes {other})"
        ))
    })
}

fn written(operation: &Operation) -> Option<&Spanned<Value>> {
    match operation {
        Operation::Create(create) => create.resource.as_ref(),
        Operation::Apply(apply) => apply.resource.as_ref(),
        _ => None,
    }
}

fn kind_of(object: &Value) -> Option<GroupVersionKind> {
    let version = coracle_meta::GroupVersion::parse(object.get("apiVersion")?.as_str()?)?;
    Some(GroupVersionKind::new(version.group, version.version, object.get("kind")?.as_str()?))
}
