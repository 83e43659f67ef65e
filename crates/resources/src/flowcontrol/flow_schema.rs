use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use super::{GROUP, wrong_status};
use crate::built_in::{SPEC_AND_METADATA, built_in};
use crate::cells::set_or;
use crate::field_checks::{Wrong, each_invalid, one_of, required};

const VERBS: [&str; 9] = ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

/// `flowschemas`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        reset_by_status: SPEC_AND_METADATA,
        validate: |object, _| wrong(object),
        validate_status: |new, _, _| wrong_status(new),
        columns: columns(),
        ..built_in(release, GROUP, "v1", "flowschemas")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "PriorityLevel",
            "`name` is the name of the priority level configuration being referenced Required.",
            |object| object.text("spec.priorityLevelConfiguration.name").into(),
        ),
        TableColumn::text(
            "MatchingPrecedence",
            "`matchingPrecedence` is used to choose among the FlowSchemas that match a given request. The chosen FlowSchema is among those with the numerically lowest (which we take to be logically highest) MatchingPrecedence.  Each MatchingPrecedence value must be ranged in [1,10000]. Note that if the precedence is not specified, it will be set to 1000 as default.",
            |object| object.int("spec.matchingPrecedence").into(),
        ),
        TableColumn::text(
            "DistinguisherMethod",
            "`distinguisherMethod` defines how to compute the flow distinguisher for requests that match this schema. `nil` specifies that the distinguisher is disabled and thus will always be the empty string.",
            |object| set_or(object.at("spec.distinguisherMethod.type"), "<none>"),
        ),
        TableColumn::age(),
        TableColumn::text("MissingPL", "references a broken or non-existent PriorityLevelConfiguration", |object| {
            dangling(object).into()
        }),
    ]
}

/// Whether the priority level of a schema is missing; `?` before the first check.
fn dangling(object: &Object) -> &str {
    let conditions = object.list("status.conditions");
    let dangling = conditions.iter().find(|condition| condition.text("type") == "Dangling");
    dangling.map_or("?", |condition| condition.text("status"))
}

/// The errors of a flow schema.
fn wrong(object: &Object) -> Wrong {
    let spec = object.at("spec");
    let mut wrong = Wrong::new();
    let precedence = spec.int("matchingPrecedence");
    let what = match precedence {
        ..1 => "must be a positive value",
        1 if object.name() != "exempt" => "only the schema named 'exempt' may have matchingPrecedence 1",
        10_001.. => "must not be greater than 10000",
        _ => "",
    };
    if !what.is_empty() {
        wrong.push(FieldError::invalid("spec.matchingPrecedence", precedence, what));
    }
    let level = spec.text("priorityLevelConfiguration.name");
    let path = "spec.priorityLevelConfiguration.name";
    if level.is_empty() {
        wrong.push(FieldError::required(path, "must reference a priority level"));
    } else {
        wrong.extend(each_invalid(path, level, names::dns1123_subdomain(level)));
    }
    if spec.has("distinguisherMethod") {
        let method = spec.at("distinguisherMethod");
        let unknown = one_of(method, "type", "spec.distinguisherMethod", &["ByNamespace", "ByUser"]);
        let printed = serde_json::json!({"Type": method.text("type")}).to_string();
        wrong.extend(unknown.into_iter().map(|error| error.printed_as(printed.clone())));
    }
    for (at, rule) in spec.list("rules").iter().enumerate() {
        wrong.extend(wrong_rule(rule, &format!("spec.rules[{at}]")));
    }
    wrong.extend(wrong_status(object));
    wrong
}

fn wrong_rule(rule: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let subjects = rule.list("subjects");
    if subjects.is_empty() {
        let what = "subjects must contain at least one value";
        wrong.push(FieldError::required(format!("{path}.subjects"), what));
    }
    for (at, subject) in subjects.iter().enumerate() {
        wrong.extend(wrong_subject(subject, &format!("{path}.subjects[{at}]")));
    }
    let (resources, others) = (rule.list("resourceRules"), rule.list("nonResourceRules"));
    if resources.is_empty() && others.is_empty() {
        let what = "at least one of resourceRules and nonResourceRules has to be non-empty";
        wrong.push(FieldError::required(path, what));
    }
    for (at, rule) in resources.iter().enumerate() {
        wrong.extend(wrong_resource_rule(rule, &format!("{path}.resourceRules[{at}]")));
    }
    for (at, rule) in others.iter().enumerate() {
        wrong.extend(wrong_url_rule(rule, &format!("{path}.nonResourceRules[{at}]")));
    }
    wrong
}

fn wrong_subject(subject: &Value, path: &str) -> Wrong {
    const MEMBERS: [(&str, &str); 3] = [("Group", "group"), ("ServiceAccount", "serviceAccount"), ("User", "user")];
    let kind = subject.text("kind");
    let Some((_, own)) = MEMBERS.into_iter().find(|(known, _)| *known == kind) else {
        return one_of(subject, "kind", path, &MEMBERS.map(|(known, _)| known));
    };
    let own_path = format!("{path}.{own}");
    let mut wrong = match subject.at(own) {
        Value::Null => vec![FieldError::required(own_path, format!("{own} is required when subject kind is '{kind}'"))],
        named => wrong_named(named, own == "serviceAccount", &own_path),
    };
    for (other, member) in MEMBERS.into_iter().filter(|(_, member)| *member != own && subject.has(member)) {
        let what = format!("{member} is forbidden when subject kind is not '{other}'");
        wrong.push(FieldError::forbidden(format!("{path}.{member}"), what));
    }
    wrong
}

fn wrong_named(named: &Value, is_account: bool, path: &str) -> Wrong {
    let mut wrong = required(named, "name", path);
    if !is_account {
        return wrong;
    }
    let (name, namespace) = (named.text("name"), named.text("namespace"));
    if !name.is_empty() && name != "*" {
        wrong.extend(each_invalid(&format!("{path}.name"), name, names::dns1123_subdomain(name)));
    }
    let path = format!("{path}.namespace");
    if namespace.is_empty() {
        wrong.push(FieldError::required(path, "must specify namespace for service account"));
    } else {
        wrong.extend(each_invalid(&path, namespace, names::dns1123_label(namespace)));
    }
    wrong
}

/// Whether a list contains `*`, which must then be its only item.
fn wildcard(values: &[Value], path: &str, others: &str) -> Option<Wrong> {
    values.iter().any(|value| value == "*").then(|| {
        let what = format!("if '*' is present, must not specify other {others}");
        if values.len() > 1 { vec![FieldError::invalid(path, values, what)] } else { Wrong::new() }
    })
}

fn wrong_verbs(rule: &Value, path: &str) -> Wrong {
    let verbs = rule.list("verbs");
    let path = format!("{path}.verbs");
    if verbs.is_empty() {
        return vec![FieldError::required(path, "verbs must contain at least one value")];
    }
    let is_known = |verb: &Value| VERBS.iter().any(|known| known == verb);
    wildcard(verbs, &path, "verbs").unwrap_or_else(|| {
        if verbs.iter().all(is_known) { Wrong::new() } else { vec![FieldError::not_supported(path, verbs, &VERBS)] }
    })
}

fn wrong_resource_rule(rule: &Value, path: &str) -> Wrong {
    let mut wrong = wrong_verbs(rule, path);
    for (list, one, others) in [("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")] {
        let values = rule.list(list);
        let path = format!("{path}.{list}");
        if values.is_empty() {
            wrong.push(FieldError::required(path, format!("resource rules must supply at least one {one}")));
        } else {
            wrong.extend(wildcard(values, &path, others).unwrap_or_default());
        }
    }
    let namespaces = rule.list("namespaces");
    let path = format!("{path}.namespaces");
    if namespaces.is_empty() && !rule.flag("clusterScope") {
        let what = "resource rules that are not cluster scoped must supply at least one namespace";
        wrong.push(FieldError::required(&path, what));
    } else if let Some(more) = wildcard(namespaces, &path, "namespaces") {
        wrong.extend(more);
    } else {
        for (at, name) in namespaces.iter().enumerate() {
            let name = name.as_str().unwrap_or_default();
            let sentences = names::dns1123_label(name).into_iter();
            let what = |what| format!("each member of this list must be '*' or a DNS-1123 label; {what}");
            wrong.extend(each_invalid(&format!("{path}[{at}]"), name, sentences.map(what).collect()));
        }
    }
    wrong
}

fn wrong_url_rule(rule: &Value, path: &str) -> Wrong {
    let mut wrong = wrong_verbs(rule, path);
    let urls = rule.list("nonResourceURLs");
    let path = format!("{path}.nonResourceURLs");
    if urls.is_empty() {
        wrong.push(FieldError::required(path, "nonResourceURLs must contain at least one value"));
        return wrong;
    }
    wrong.extend(wildcard(urls, &path, "non-resource URLs").unwrap_or_else(|| {
        let texts = urls.iter().map(|url| url.as_str().unwrap_or_default()).enumerate();
        texts.filter_map(|(at, url)| Some(FieldError::invalid(format!("{path}[{at}]"), url, wrong_url(url)?))).collect()
    }));
    wrong
}

/// In Kubernetes: `ValidateNonResourceURLPath`.
fn wrong_url(url: &str) -> Option<&'static str> {
    let stars = url.matches('*').count();
    Some(match url {
        "/" => return None,
        "" => "must not be empty",
        _ if !url.starts_with('/') => "must start with slash",
        _ if url.contains(' ') => "must not contain white-space",
        _ if url.contains("//") => "must not contain double slash",
        _ if stars > 1 || stars == 1 && !url.ends_with("/*") => "wildcard can only do suffix matching",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(wrong: Wrong) -> Vec<String> {
        wrong.iter().map(FieldError::message).collect()
    }

    #[test]
    fn a_subject_is_described_by_the_member_of_its_kind() {
        assert!(wrong_subject(&json!({"kind": "User", "user": {"name": "a"}}), "s").is_empty());
        let said = messages(wrong_subject(&json!({"kind": "User", "group": {"name": "a"}}), "s"));
        assert_eq!(
            said,
            [
                "s.user: Required value: user is required when subject kind is 'User'",
                "s.group: Forbidden: group is forbidden when subject kind is not 'Group'",
            ]
        );
    }

    #[test]
    fn paths_are_absolute_and_end_with_their_star() {
        assert!(["/", "/healthz", "/healthz/*"].iter().all(|url| wrong_url(url).is_none()));
        assert!(["", "x", "/ x", "//x", "/*/x", "/x*"].iter().all(|url| wrong_url(url).is_some()));
    }
}
