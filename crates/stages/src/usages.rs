//! Usage of pods that objects state. In KWOK: `ResourceUsage`, `ClusterResourceUsage`, and `pkg/kwok/server` for their
//! semantics.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::core_v1::{Container, Node, Pod};
use coracle_expression::{Environment, Expression, Type, Variables};
use coracle_kubelet_api::{UsageOverride, UsageOverrides};
use coracle_meta::{Object, ObjectKey, Quantity};
use coracle_yaml::{At, UnreadFields, YamlError, YamlNode, YamlValue};
use parking_lot::RwLock;
use serde_json::Value as Json;
use tokio::sync::Notify;

use crate::stage::API_VERSION;

/// The kinds of usage objects.
pub(crate) const KINDS: [&str; 2] = ["ResourceUsage", "ClusterResourceUsage"];
/// The resources that are read; KWOK reads no others either.
const RESOURCES: [&str; 2] = ["cpu", "memory"];
/// The variables of expressions.
const VARIABLES: [&str; 3] = ["pod", "node", "container"];

/// The usage objects of the API.
#[derive(Debug, Default)]
pub(crate) struct Usages {
    objects: RwLock<BTreeMap<(&'static str, ObjectKey), Arc<PodUsage>>>,
    /// Notified when the usage of pods may have changed.
    pub(crate) changed: Notify,
}

/// One usage object.
#[derive(Debug)]
pub(crate) struct PodUsage {
    /// Which pods it applies to; none for the pod of its own name.
    selected: Option<Selected>,
    groups: Vec<Group>,
}

/// An empty list of names matches all names.
#[derive(Debug, Default)]
struct Selected {
    namespaces: Vec<String>,
    names: Vec<String>,
}

#[derive(Debug)]
struct Group {
    /// Its containers; an empty list matches all containers that no other group names.
    containers: Vec<String>,
    amounts: BTreeMap<String, Amount>,
}

#[derive(Debug)]
enum Amount {
    Value(Quantity),
    Expression(Expression),
}

impl Usages {
    /// Adds, replaces or removes an object.
    pub(crate) fn set(&self, kind: &'static str, key: &ObjectKey, usage: Option<PodUsage>) {
        let mut objects = self.objects.write();
        let place = (kind, key.clone());
        match usage {
            Some(usage) => drop(objects.insert(place, Arc::new(usage))),
            None => drop(objects.remove(&place)),
        }
        drop(objects);
        self.changed.notify_waiters();
    }

    /// What the objects state about the usage of a pod.
    pub(crate) fn of(&self, pod: &Pod, node: Option<&Node>) -> UsageOverrides {
        let mut overrides = UsageOverrides::default();
        let metadata = &pod.metadata;
        let [namespace, name] = [&metadata.namespace, &metadata.name].map(|text| text.clone().unwrap_or_default());
        let own = ObjectKey::new(namespace, name);
        let objects = self.objects.read();
        let speaking: Vec<&Arc<PodUsage>> = match objects.get(&(KINDS[0], own.clone())) {
            Some(usage) => vec![usage],
            None => objects.values().filter(|usage| usage.is_of(&own)).collect(),
        };
        if speaking.is_empty() {
            return overrides;
        }
        for container in &pod.spec.containers {
            let Some(group) = speaking.iter().find_map(|usage| usage.group_of(&container.name)) else { continue };
            let amount = |resource: &str, scale: fn(Quantity) -> i64, faults: &mut Vec<String>| {
                let found = group.amounts.get(resource)?.evaluate(pod, node, container);
                let amount = found
                    .and_then(|amount| u64::try_from(scale(amount)).map_err(|_| format!("{amount} is below zero")));
                amount.map_err(|why| faults.push(format!("{resource} of container {}: {why}", container.name))).ok()
            };
            let cpu = amount("cpu", Quantity::nano_value, &mut overrides.faults);
            let memory = amount("memory", Quantity::value, &mut overrides.faults);
            overrides.of_containers.insert(container.name.clone(), UsageOverride { cpu, memory });
        }
        overrides
    }
}

impl PodUsage {
    /// Parses an object of the API.
    pub(crate) fn of_object(kind: &str, object: &Object) -> Result<Self, YamlError> {
        Self::read(kind, &YamlNode::from(object.as_value()))
    }

    fn read(kind: &str, document: &YamlNode) -> Result<Self, YamlError> {
        let mut fields = At::root(document).fields()?;
        for (name, expected) in [("kind", kind), ("apiVersion", API_VERSION)] {
            let place = fields.need(name)?;
            if place.text()? != expected {
                return Err(place.error(format!("must be {expected}, not {}", place.text()?)));
            }
        }
        fields.need("metadata")?;
        fields.take("status");
        let spec = fields.need("spec")?;
        fields.end()?;
        let mut spec = spec.fields()?;
        let selected = if kind == KINDS[1] {
            Some(spec.take("selector").map_or(Ok(Selected::default()), |place| Selected::read(&place))?)
        } else {
            None
        };
        let groups = spec.items("usages")?.iter().map(Group::read).collect::<Result<_, _>>()?;
        spec.end()?;
        Ok(Self { selected, groups })
    }

    fn is_of(&self, pod: &ObjectKey) -> bool {
        let has = |names: &[String], name: &String| names.is_empty() || names.contains(name);
        self.selected.as_ref().is_some_and(|own| has(&own.namespaces, &pod.namespace) && has(&own.names, &pod.name))
    }

    /// In KWOK: `findUsageInUsages`.
    fn group_of(&self, container: &str) -> Option<&Group> {
        let named = self.groups.iter().find(|group| group.containers.iter().any(|name| name == container));
        named.or_else(|| self.groups.iter().find(|group| group.containers.is_empty()))
    }
}

impl Selected {
    fn read(place: &At<'_>) -> Result<Self, YamlError> {
        let mut fields = place.fields()?;
        let (namespaces, names) = (texts(&mut fields, "matchNamespaces")?, texts(&mut fields, "matchNames")?);
        fields.end()?;
        Ok(Self { namespaces, names })
    }
}

fn texts(fields: &mut UnreadFields<'_>, name: &str) -> Result<Vec<String>, YamlError> {
    fields.items(name)?.iter().map(|item| item.text().map(str::to_owned)).collect()
}

impl Group {
    fn read(place: &At<'_>) -> Result<Self, YamlError> {
        let mut fields = place.fields()?;
        let containers = texts(&mut fields, "containers")?;
        let mut amounts = BTreeMap::new();
        if let Some(usage) = fields.take("usage") {
            let mut usage = usage.fields()?;
            for resource in RESOURCES {
                if let Some(amount) = usage.take(resource) {
                    amounts.insert(resource.to_owned(), Amount::read(&amount)?);
                }
            }
            usage.end()?;
        }
        fields.end()?;
        Ok(Self { containers, amounts })
    }
}

impl Amount {
    fn read(place: &At<'_>) -> Result<Self, YamlError> {
        let mut fields = place.fields()?;
        let (value, expression) = (fields.take("value"), fields.take("expression"));
        fields.end()?;
        match (value, expression) {
            (Some(value), _) => {
                let text = match &value.node.value {
                    YamlValue::Scalar(Json::Number(number)) => number.to_string(),
                    _ => value.text()?.to_owned(),
                };
                Quantity::parse(&text).map(Self::Value).map_err(|why| value.error(format!("{text:?}: {why}")))
            }
            (None, Some(expression)) => {
                let environment = VARIABLES.iter().fold(Environment::new(), |env, name| env.with(*name, Type::Dyn));
                let compiled = Expression::compile_in(&without_quantities(expression.text()?), &environment);
                compiled.map(Self::Expression).map_err(|error| expression.error(error.to_string()))
            }
            (None, None) => Err(place.error("needs one of value and expression")),
        }
    }

    fn evaluate(&self, pod: &Pod, node: Option<&Node>, container: &Container) -> Result<Quantity, String> {
        let expression = match self {
            Self::Value(value) => return Ok(*value),
            Self::Expression(expression) => expression,
        };
        let json = |value: Result<Json, serde_json::Error>| value.map_err(|error| error.to_string());
        let node = node.map_or(Ok(Json::Null), |node| json(serde_json::to_value(node)))?;
        let (pod, container) = (json(serde_json::to_value(pod))?, json(serde_json::to_value(container))?);
        let mut variables = Variables::default();
        VARIABLES.iter().zip([&pod, &node, &container]).for_each(|(name, value)| variables.set(*name, value));
        let text = match expression.evaluate(&variables).map_err(|error| error.to_string())? {
            Json::String(text) => text,
            Json::Number(number) => number.to_string(),
            other => return Err(format!("gave {other}, which is no amount")),
        };
        Quantity::parse(&text).map_err(|why| format!("gave {text:?}: {why}"))
    }
}

/// The expression with `Quantity(x)` replaced by `string(x)`: the result is parsed as a quantity in any case.
/// Arithmetic on quantities fails the type check.
fn without_quantities(text: &str) -> String {
    const CALL: &str = "Quantity";
    let (mut plain, mut rest, mut quote) = (String::new(), text, None);
    while let Some(sign) = rest.chars().next() {
        let is_name = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '.');
        let begins = quote.is_none() && !plain.ends_with(is_name) && rest.starts_with(CALL);
        if begins && rest[CALL.len()..].trim_start().starts_with('(') {
            plain.push_str("string");
            rest = &rest[CALL.len()..];
            continue;
        }
        let mut taken = sign.len_utf8();
        match quote {
            Some(open) if sign == open => quote = None,
            Some(_) if sign == '\\' => taken += rest[taken..].chars().next().map_or(0, char::len_utf8),
            None if matches!(sign, '"' | '\'') => quote = Some(sign),
            _ => {}
        }
        plain.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(kind: &str, spec: Json) -> Result<PodUsage, String> {
        let object = json!({"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": "x"}, "spec": spec});
        PodUsage::of_object(kind, &Object::from_value(object).unwrap()).map_err(|refusal| refusal.to_string())
    }

    fn pod(annotations: Json) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "web", "namespace": "shop", "annotations": annotations},
            "spec": {"containers": [{"name": "a"}, {"name": "b"}]},
        }))
        .unwrap()
    }

    fn given(usages: &Usages, pod: &Pod) -> Vec<(Option<u64>, Option<u64>)> {
        let UsageOverrides { of_containers: given, faults } = usages.of(pod, None);
        assert_eq!(faults, [""; 0]);
        given.values().map(|own| (own.cpu, own.memory)).collect()
    }

    #[test]
    fn a_pod_uses_what_the_object_of_its_name_says_or_else_one_that_selects_it() {
        let (usages, web) = (Usages::default(), pod(json!({})));
        let of_all =
            json!({"selector": {"matchNamespaces": ["shop"]}, "usages": [{"usage": {"memory": {"value": "1Ki"}}}]});
        usages.set(KINDS[1], &ObjectKey::cluster("all"), Some(read(KINDS[1], of_all).unwrap()));
        assert_eq!(given(&usages, &web), [(None, Some(1024)); 2]);
        let own = json!({"usages": [
            {"usage": {"cpu": {"value": 2}}}, {"containers": ["b"], "usage": {"cpu": {"value": "1m"}}},
        ]});
        let key = ObjectKey::new("shop", "web");
        usages.set(KINDS[0], &key, Some(read(KINDS[0], own).unwrap()));
        assert_eq!(given(&usages, &web), [(Some(2_000_000_000), None), (Some(1_000_000), None)]);
        usages.set(KINDS[0], &key, None);
        let mut other = web.clone();
        other.metadata.namespace = Some("elsewhere".to_owned());
        assert_eq!((given(&usages, &web).len(), given(&usages, &other).len()), (2, 0));
    }

    #[test]
    fn an_expression_sees_the_pod_and_gives_an_amount() {
        let text = "\"kwok.x-k8s.io/usage-cpu\" in pod.metadata.annotations\n\
                    ? Quantity(pod.metadata.annotations[\"kwok.x-k8s.io/usage-cpu\"])\n: Quantity(\"1m\")";
        let usages = Usages::default();
        let spec = json!({"usages": [{"usage": {"cpu": {"expression": text}}}]});
        usages.set(KINDS[1], &ObjectKey::cluster("all"), Some(read(KINDS[1], spec).unwrap()));
        let with = |annotations| given(&usages, &pod(annotations))[0].0;
        assert_eq!(with(json!({"kwok.x-k8s.io/usage-cpu": "3"})), Some(3_000_000_000));
        assert_eq!(with(json!({"other": ""})), Some(1_000_000));
        let UsageOverrides { faults, .. } = usages.of(&pod(json!({"kwok.x-k8s.io/usage-cpu": "much"})), None);
        assert!(faults[0].starts_with("cpu of container a: gave \"much\": "), "{faults:?}");
    }

    #[test]
    fn unsupported_fields_are_refused_by_name() {
        let refused = |amount: Json| read(KINDS[0], json!({"usages": [{"usage": {"cpu": amount}}]})).unwrap_err();
        let expression = |text: &str| refused(json!({ "expression": text }));
        assert!(expression("pod.SinceSecond()").contains("SinceSecond"), "{}", expression("pod.SinceSecond()"));
        assert!(expression("Now()").contains("Now"));
        assert!(expression("Quantity(\"1Mi\") * 2.0").contains("_*_"));
        assert!(refused(json!({"value": "lots"})).contains("lots"));
        assert!(refused(json!({})).contains("needs one of value and expression"));
        let disk = json!({"usages": [{"usage": {"disk": {"value": 1}}}]});
        assert!(read(KINDS[0], disk).unwrap_err().contains("disk"));
        assert!(read(KINDS[0], json!({"selector": {}})).unwrap_err().contains("selector"));
    }

    #[test]
    fn a_call_is_renamed_and_a_text_or_a_longer_name_is_not() {
        let plain = [
            ("Quantity (\"Quantity(\") + 'it\\'s Quantity('", "string (\"Quantity(\") + 'it\\'s Quantity('"),
            ("aQuantity(1) + x.Quantity(2) + Quantity", "aQuantity(1) + x.Quantity(2) + Quantity"),
        ];
        plain.iter().for_each(|(text, expected)| assert_eq!(without_quantities(text), *expected));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "(Quantity|[\"'\\\\().é]|\\PC){0,20}") {
            let _ = read(KINDS[0], json!({"usages": [{"usage": {"cpu": {"expression": text}, "memory": {"value": text}}}]}));
        }
    }
}
