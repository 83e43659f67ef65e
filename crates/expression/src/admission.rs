//! The environment of admission expressions: policies and match conditions. In Kubernetes:
//! `apiserver/pkg/admission/plugin/cel`.

use std::sync::{Arc, LazyLock};

use crate::environment::Environment;
use crate::schema::{Object, Order, Schema, SchemaField, Shape};
use crate::types::Type;

/// The variables of a policy or a match condition: with or without parameters and an authorizer, and with the types
/// of the policy's own variables, if any.
pub fn admission_environment(
    has_parameters: bool,
    has_authorizer: bool,
    computed: Option<&[(String, Type)]>,
) -> Environment {
    let mut environment = Environment::new()
        .with("object", Type::Dyn)
        .with("oldObject", Type::Dyn)
        .with("namespaceObject", namespace_schema().as_type())
        .with("request", request_schema().as_type());
    if has_parameters {
        environment = environment.with("params", Type::Dyn);
    }
    if has_authorizer {
        environment = environment
            .with("authorizer", Type::Named("kubernetes.authorization.Authorizer"))
            .with("authorizer.requestResource", Type::Named("kubernetes.authorization.ResourceCheck"));
    }
    match computed {
        Some(computed) => with_computed(environment, computed),
        None => environment,
    }
}

/// The same with the variables of a policy. Each is an independent variable here. In Kubernetes they are fields of
/// one object, which is visible only in the error for an unknown field.
pub fn with_computed(environment: Environment, computed: &[(String, Type)]) -> Environment {
    let variables = Arc::new(object("kubernetes.variables", Vec::new()));
    let environment = environment.with("variables", variables.as_type());
    computed.iter().fold(environment, |environment, (name, of)| with_one_more_computed(environment, name, of))
}

/// An environment that has the variables of a policy, with one more of them.
pub fn with_one_more_computed(mut environment: Environment, name: &str, of: &Type) -> Environment {
    if let Some(Type::Object(schema)) = environment.variable_mut("variables") {
        Arc::make_mut(schema).declare(name, Shape::Any);
    }
    environment.with(format!("variables.{name}"), computed_type(of))
}

/// The type of a policy's variable: values of library types become dynamic. In Kubernetes:
/// `convertCelTypeToDeclType`.
fn computed_type(of: &Type) -> Type {
    match of {
        Type::Bool
        | Type::Bytes
        | Type::Double
        | Type::Duration
        | Type::Int
        | Type::Null
        | Type::String
        | Type::Timestamp
        | Type::Uint => of.clone(),
        Type::List(items) => Type::list(computed_type(items)),
        Type::Map(keys, values) => Type::map(computed_type(keys), computed_type(values)),
        _ => Type::Dyn,
    }
}

/// The schema of `request`. In Kubernetes: `BuildRequestType`.
pub fn request_schema() -> &'static Arc<Schema> {
    static REQUEST: LazyLock<Arc<Schema>> = LazyLock::new(|| {
        let named = |name, last| object(name, texts(&["group", "version", last]));
        let groups = list(Schema::new(Shape::String));
        let extra = Shape::Map(Arc::new(Schema::new(list(Schema::new(Shape::String)))));
        let mut user = texts(&["username", "uid"]);
        user.extend([("groups", groups), ("extra", extra)]);
        let user = object("kubernetes.UserInfo", user);
        let kind = || named("kubernetes.GroupVersionKind", "kind");
        let resource = || named("kubernetes.GroupVersionResource", "resource");
        let mut fields = texts(&["subResource", "requestSubResource", "name", "namespace", "operation"]);
        fields.extend([("dryRun", Shape::Bool), ("options", Shape::Any)]);
        let nested = vec![
            ("kind", kind()),
            ("resource", resource()),
            ("requestKind", kind()),
            ("requestResource", resource()),
            ("userInfo", user),
        ];
        Arc::new(nesting("kubernetes.AdmissionRequest", fields, nested))
    });
    &REQUEST
}

/// The schema of `namespaceObject`. In Kubernetes: `BuildNamespaceType`.
pub fn namespace_schema() -> &'static Arc<Schema> {
    static NAMESPACE: LazyLock<Arc<Schema>> = LazyLock::new(|| {
        let map = || Shape::Map(Arc::new(Schema::new(Shape::String)));
        let mut metadata = texts(&["name", "generateName", "namespace", "UID", "resourceVersion"]);
        metadata.extend([
            ("labels", map()),
            ("annotations", map()),
            ("creationTimestamp", Shape::Timestamp),
            ("deletionTimestamp", Shape::Timestamp),
            ("deletionGracePeriodSeconds", Shape::Int),
            ("generation", Shape::Int),
            ("finalizers", list(Schema::new(Shape::String))),
        ]);
        let mut condition = texts(&["status", "type", "message", "reason"]);
        condition.push(("lastTransitionTime", Shape::Timestamp));
        let conditions = list(object("kubernetes.NamespaceCondition", condition));
        let mut status = texts(&["phase"]);
        status.push(("conditions", conditions));
        let nested = vec![
            ("metadata", object("kubernetes.NamespaceMetadata", metadata)),
            ("spec", object("kubernetes.NamespaceSpec", vec![("finalizers", list(Schema::new(Shape::String)))])),
            ("status", object("kubernetes.NamespaceStatus", status)),
        ];
        Arc::new(nesting("kubernetes.Namespace", Vec::new(), nested))
    });
    &NAMESPACE
}

type Fields<'n> = Vec<(&'n str, Shape)>;

fn texts<'n>(names: &[&'n str]) -> Fields<'n> {
    names.iter().map(|name| (*name, Shape::String)).collect()
}

fn list(items: Schema) -> Shape {
    Shape::List(Arc::new(items), Order::Fixed)
}

fn object(name: &str, fields: Fields<'_>) -> Schema {
    nesting(name, fields, Vec::new())
}

fn nesting(name: &str, fields: Fields<'_>, nested: Vec<(&str, Schema)>) -> Schema {
    let plain = fields.into_iter().map(|(name, shape)| (name, Schema::new(shape)));
    let fields = plain.chain(nested).map(|(name, schema)| {
        let field = SchemaField { key: name.to_owned(), schema: Arc::new(schema), is_required: false };
        (name.to_owned(), field)
    });
    Schema::new(Shape::Object(Object { name: name.to_owned(), fields: fields.collect() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::Expression;

    #[test]
    fn policies_see_the_request_the_namespace_and_their_own_variables() {
        let computed = [("limit".to_owned(), Type::Int), ("open".to_owned(), Type::Dyn)];
        let environment = admission_environment(false, true, Some(&computed));
        let one_by_one =
            computed.iter().fold(admission_environment(false, true, Some(&[])), |environment, (name, of)| {
                with_one_more_computed(environment, name, of)
            });
        let refused = |text: &str| {
            let [said, said_of_others] = [&environment, &one_by_one]
                .map(|environment| Expression::compile_in(text, environment).err().map(|error| error.to_string()));
            assert_eq!(said, said_of_others, "{text}");
            said
        };
        for text in [
            "request.userInfo.groups.exists(g, g == 'a') && namespaceObject.metadata.labels['x'] == 'y'",
            "object.spec.replicas <= variables.limit",
            "has(variables.limit) && variables.open.x == 'a'",
            "authorizer.group('').resource('pods').check('get').allowed()",
            "authorizer.requestResource.check('get').allowed()",
            "request.namespace == namespaceObject.metadata.name",
        ] {
            assert_eq!(refused(text), None, "{text}");
        }
        for (text, expected) in [
            ("request.usrInfo == null", "undefined field 'usrInfo'"),
            ("variables.other", "undefined field 'other'"),
            ("variables.limit + 'x'", "found no matching overload for '_+_' applied to '(int, string)'"),
            ("params.x", "undeclared reference to 'params'"),
        ] {
            assert!(refused(text).is_some_and(|error| error.contains(expected)), "{text}");
        }
    }
}
