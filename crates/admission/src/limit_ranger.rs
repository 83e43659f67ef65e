use async_trait::async_trait;
use coracle_api::pod_resources::{Amounts, amounts, of_pod};
use coracle_meta::fields::{Fields, FieldsMut, Tree};
use coracle_meta::{Object, Quantity, Status};
use coracle_registry::{Admission, Operation, Review};
use serde_json::{Value, json};

use crate::lookup::{core, list};
use crate::refusal::{aggregate, forbidden};

/// `LimitRanger`: applies the defaults and limits of the namespace's limit ranges to pods and claims.
pub(crate) struct LimitRanger;

#[async_trait]
impl Admission for LimitRanger {
    fn name(&self) -> &'static str {
        "LimitRanger"
    }

    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        if !is_concerned(review) || !review.is_about_any_part("", "pods") {
            return Ok(());
        }
        let ranges = list(review, core("limitranges"), &review.request.at.namespace).await?;
        if !ranges.is_empty()
            && let Some(pod) = review.object_mut()
        {
            ranges.iter().for_each(|range| fill_in(pod, range));
        }
        Ok(())
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        if !is_concerned(review) {
            return Ok(());
        }
        let Some(object) = review.object() else { return Ok(()) };
        for range in list(review, core("limitranges"), &review.request.at.namespace).await? {
            let wrong = match review.request.at.resource.resource.as_str() {
                "pods" => beyond_for_pod(object, &range),
                _ => beyond_for_claim(object, &range),
            };
            if let Some(why) = aggregate(&wrong) {
                return Err(forbidden(review, why));
            }
        }
        Ok(())
    }
}

fn is_concerned(review: &Review<'_>) -> bool {
    if review.old.is_some_and(Object::is_terminating) {
        return false;
    }
    let is_resize = review.is_about_any_part("", "pods") && review.request.at.subresource == "resize";
    let is_new_pod = review.is_about("", "pods") && review.operation == Operation::Create;
    is_resize || is_new_pod || review.is_about("", "persistentvolumeclaims")
}

/// Sets the default amounts of containers, and lists them in an annotation.
fn fill_in(pod: &mut Object, range: &Object) {
    let (mut requests, mut limits) = (Tree::new(), Tree::new());
    for limit in range.list("spec.limits").iter().filter(|limit| limit.text("type") == "Container") {
        requests.extend(limit.entries("defaultRequest").map(|(name, amount)| (name.clone(), amount.clone())));
        limits.extend(limit.entries("default").map(|(name, amount)| (name.clone(), amount.clone())));
    }
    let mut said = Vec::new();
    pod.edit(|tree| {
        let Some(spec) = tree.object_in("spec") else { return };
        for (containers, title) in [("containers", "container"), ("initContainers", "init container")] {
            spec.each_in(containers, |container| {
                for (defaults, list, word) in [(&limits, "limits", "limit"), (&requests, "requests", "request")] {
                    let set = fill_list(container, list, defaults);
                    if !set.is_empty() {
                        said.push((word, format!("{} {word} for {title} {}", set.join(", "), container.text("name"))));
                    }
                }
            });
        }
    });
    // The requests of each container are listed first.
    let mut said: Vec<String> = said
        .chunk_by(|left, right| left.0 == "limit" && right.0 == "request")
        .flat_map(|pair| pair.iter().rev())
        .map(|(_, text)| text.clone())
        .collect();
    if !said.is_empty() {
        let first = said.remove(0);
        let text = std::iter::once(first).chain(said).collect::<Vec<_>>().join("; ");
        pod.set(&["metadata", "annotations", "kubernetes.io/limit-ranger"], format!("LimitRanger plugin set: {text}"));
    }
}

fn fill_list(container: &mut Tree, list: &str, defaults: &Tree) -> Vec<String> {
    if defaults.is_empty() {
        return Vec::new();
    }
    container.fill("resources", json!({}));
    let Some(amounts) = container.object_in("resources").and_then(|resources| resources.object_made(list)) else {
        return Vec::new();
    };
    let missing: Vec<String> = defaults.keys().filter(|name| amounts.field_named(name).is_null()).cloned().collect();
    for name in &missing {
        amounts.insert(name.clone(), defaults[name].clone());
    }
    missing
}

fn beyond_for_claim(claim: &Object, range: &Object) -> Vec<String> {
    let requests = amounts(claim.at("spec.resources.requests"));
    let mut wrong = Vec::new();
    for limit in range.list("spec.limits").iter().filter(|limit| limit.text("type") == "PersistentVolumeClaim") {
        let kind = limit.text("type");
        for (resource, least) in amounts(limit.at("min")) {
            wrong.extend(below(kind, &resource, least, &requests, &Amounts::new()));
        }
        for (resource, most) in amounts(limit.at("max")) {
            wrong.extend(match requests.get(&resource) {
                None => Some(format!("maximum {resource} usage per {kind} is {most}.  No request is specified")),
                Some(request) if *request > most => {
                    Some(format!("maximum {resource} usage per {kind} is {most}, but request is {request}"))
                }
                Some(_) => None,
            });
        }
    }
    wrong
}

fn beyond_for_pod(pod: &Object, range: &Object) -> Vec<String> {
    let mut wrong = Vec::new();
    for limit in range.list("spec.limits") {
        let mut check = |requests: &Amounts, limits: &Amounts| wrong.extend(beyond(limit, requests, limits));
        match limit.text("type") {
            "Container" => {
                for container in pod.list("spec.containers").iter().chain(pod.list("spec.initContainers")) {
                    let own = |list: &str| amounts(container.at("resources").at(list));
                    check(&own("requests"), &own("limits"));
                }
            }
            "Pod" => {
                let spec = pod.at("spec");
                check(&of_pod(spec, "requests"), &of_pod(spec, "limits"));
            }
            _ => {}
        }
    }
    wrong
}

fn beyond(limit: &Value, requests: &Amounts, limits: &Amounts) -> Vec<String> {
    let kind = limit.text("type");
    let mut wrong = Vec::new();
    for (resource, least) in amounts(limit.at("min")) {
        wrong.extend(below(kind, &resource, least, requests, limits));
    }
    for (resource, most) in amounts(limit.at("max")) {
        wrong.extend(above(kind, &resource, most, requests, limits));
    }
    for (resource, ratio) in amounts(limit.at("maxLimitRequestRatio")) {
        wrong.extend(too_elastic(kind, &resource, ratio, requests, limits));
    }
    wrong
}

fn below(kind: &str, resource: &str, least: Quantity, requests: &Amounts, limits: &Amounts) -> Option<String> {
    let what = format!("minimum {resource} usage per {kind} is {least}");
    match (requests.get(resource), limits.get(resource)) {
        (None, _) => Some(format!("{what}.  No request is specified")),
        (Some(request), _) if *request < least => Some(format!("{what}, but request is {request}")),
        (Some(_), Some(limit)) if *limit < least => Some(format!("{what}, but limit is {limit}")),
        _ => None,
    }
}

fn above(kind: &str, resource: &str, most: Quantity, requests: &Amounts, limits: &Amounts) -> Option<String> {
    let what = format!("maximum {resource} usage per {kind} is {most}");
    match (requests.get(resource), limits.get(resource)) {
        (_, None) => Some(format!("{what}.  No limit is specified")),
        (_, Some(limit)) if *limit > most => Some(format!("{what}, but limit is {limit}")),
        (Some(request), _) if *request > most => Some(format!("{what}, but request is {request}")),
        _ => None,
    }
}

fn too_elastic(kind: &str, resource: &str, ratio: Quantity, requests: &Amounts, limits: &Amounts) -> Option<String> {
    let what = format!("{resource} max limit to request ratio per {kind} is {ratio}");
    let of = |amounts: &Amounts| amounts.get(resource).map(|amount| amount.milli_value()).filter(|amount| *amount != 0);
    let Some(request) = of(requests) else {
        return Some(format!("{what}, but no request is specified or request is 0"));
    };
    let Some(limit) = of(limits) else {
        return Some(format!("{what}, but no limit is specified or limit is 0"));
    };
    let observed = limit as f64 / request as f64;
    (observed * 1000.0 > ratio.milli_value() as f64).then(|| format!("{what}, but provided ratio is {observed:.6}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Object {
        Object::from_value(value).unwrap()
    }

    #[test]
    fn missing_amounts_are_filled_in_and_named() {
        let mut pod = object(json!({"spec": {"containers": [{"name": "c"}]}}));
        let range = object(json!({"spec": {"limits": [
            {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "100m", "memory": "1Mi"}},
        ]}}));
        fill_in(&mut pod, &range);
        assert_eq!(
            pod.annotation("kubernetes.io/limit-ranger"),
            Some("LimitRanger plugin set: cpu, memory request for container c; cpu limit for container c")
        );
        assert_eq!(pod.list("spec.containers")[0].text("resources.limits.cpu"), "1");
    }

    #[test]
    fn values_outside_the_range_are_named() {
        let pod = object(json!({"spec": {"containers": [
            {"name": "c", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "4"}}},
        ]}}));
        let range = object(json!({"spec": {"limits": [
            {"type": "Container", "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "3"}},
        ]}}));
        assert_eq!(
            beyond_for_pod(&pod, &range),
            [
                "maximum cpu usage per Container is 2, but limit is 4",
                "cpu max limit to request ratio per Container is 3, but provided ratio is 4.000000",
            ]
        );
    }

    #[test]
    fn an_error_of_several_containers_is_reported_once() {
        let container = json!({"name": "c", "resources": {"limits": {"cpu": "4"}}});
        let range = object(json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}}]}}));
        for lists in [
            json!({"containers": [container, container]}),
            json!({"containers": [container], "initContainers": [container]}),
        ] {
            let wrong = beyond_for_pod(&object(json!({"spec": lists})), &range);
            assert_eq!(aggregate(&wrong).unwrap(), "maximum cpu usage per Container is 2, but limit is 4");
        }
    }
}
