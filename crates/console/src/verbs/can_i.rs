//! `auth can-i` and `auth whoami`.
//!
//! In Kubernetes: `kubectl/pkg/cmd/auth`.

use http::Method;
use serde_json::json;

use super::create_rbac::RESOURCE_VERBS;
use crate::failure::Failure;
use crate::flags::Flag;
use crate::session::{CommandSession, JSON, complain, say};
use crate::tabs::TABLE;
use crate::values::{list, map, show, text};
use crate::verb::{ALL_NAMESPACES, Verb};

const FLAGS: &[Flag] = &[
    Flag::bool("quiet", "Only the exit code").or('q'),
    Flag::text("subresource", "A subresource"),
    Flag::bool("list", "Not supported"),
    Flag::bool("no-headers", "Without effect"),
];

const OUTPUT: &[Flag] = &[Flag::text("output", "Not supported").or('o')];

const PATH_VERBS: &[&str] = &["*", "get", "put", "post", "head", "options", "delete", "patch"];

pub(super) const VERB: Verb = Verb {
    words: &["auth", "can-i"],
    aliases: &[],
    flags: &[FLAGS, ALL_NAMESPACES],
    required: &[],
    about: "Check whether an action is allowed",
    run: |session| Box::pin(run(session)),
};

pub(super) const WHO_AM_I: Verb = Verb {
    words: &["auth", "whoami"],
    aliases: &[],
    flags: &[OUTPUT],
    required: &[],
    about: "Check self subject attributes",
    run: |session| Box::pin(who_am_i(session)),
};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    if session.flags.is("list") {
        return Err(Failure::text("the console has no auth can-i --list"));
    }
    let [verb, resource] = session.args() else {
        return Err(Failure::text(
            "you must specify two arguments: verb resource or verb resource/resourceName.\nSee 'kubectl auth can-i -h' for \
             help and examples.",
        ));
    };
    let (verb, resource) = (verb.clone(), resource.clone());
    let part = session.flags.text("subresource").to_owned();
    let spec = if resource.starts_with('/') {
        if !part.is_empty() {
            return Err(Failure::text("--subresource can not be used with NonResourceURL"));
        }
        if !PATH_VERBS.contains(&verb.as_str()) {
            complain!(session, "Warning: verb '{verb}' is not a known verb\n");
        }
        json!({"nonResourceAttributes": {"verb": verb, "path": resource}})
    } else {
        of_resource(session, &verb, &resource, &part).await?
    };
    if session.flags.is("no-headers") {
        return Err(Failure::text("--no-headers cannot be set without --list specified"));
    }
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec});
    let answer = session.write(Method::POST, REVIEWS.to_owned(), JSON, &review).await?;
    let is_allowed = answer["status"]["allowed"] == true;
    let mut line = if is_allowed { "yes" } else { "no" }.to_owned();
    for reason in ["/status/reason", "/status/evaluationError"] {
        let reason = text(&answer, reason);
        if !is_allowed && !reason.is_empty() {
            line.push_str(&format!(" - {reason}"));
        }
    }
    if !session.flags.is("quiet") {
        say!(session, "{line}");
    }
    if is_allowed { Ok(()) } else { Err(Failure::Code(1)) }
}

async fn of_resource(
    session: &mut CommandSession<'_>,
    verb: &str,
    resource: &str,
    part: &str,
) -> Result<serde_json::Value, Failure> {
    let (word, name) = resource.split_once('/').unwrap_or((resource, ""));
    let is_everywhere = session.flags.is("all-namespaces");
    let kinds = session.kinds().await?;
    let mut attributes = json!({"verb": verb, "resource": word});
    if !is_everywhere {
        attributes["namespace"] = session.namespace().into();
    }
    match kinds.of_word(word) {
        Ok(kind) => {
            attributes["group"] = kind.group.clone().into();
            attributes["resource"] = kind.plural.clone().into();
            if !kind.is_namespaced && !is_everywhere {
                let group = match kind.group.as_str() {
                    "" => String::new(),
                    group => format!(" in group '{group}'"),
                };
                complain!(session, "Warning: resource '{}' is not namespace scoped{group}\n", kind.plural);
            }
        }
        Err(_) if ["*", "users", "groups"].contains(&word) => {}
        Err(_) => {
            let lower = word.to_lowercase();
            let (name, group) = lower.split_once('.').unwrap_or((&lower, ""));
            let group = if group.is_empty() { String::new() } else { format!(" in group '{group}'") };
            complain!(session, "Warning: the server doesn't have a resource type '{name}'{group}\n");
        }
    }
    if !RESOURCE_VERBS.contains(&verb) && !is_everywhere {
        complain!(session, "Warning: verb '{verb}' is not a known verb\n");
    }
    for (field, value) in [("name", name), ("subresource", part)] {
        if !value.is_empty() {
            attributes[field] = value.into();
        }
    }
    Ok(json!({"resourceAttributes": attributes}))
}

async fn who_am_i(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    if !session.flags.text("output").is_empty() {
        return Err(Failure::text("the console has no auth whoami --output"));
    }
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews".to_owned();
    let answer = session.write(Method::POST, path, JSON, &review).await?;
    let user = &answer["status"]["userInfo"];
    let mut lines = "ATTRIBUTE\tVALUE\n".to_owned();
    lines.push_str(&format!("Username\t{}\n", text(user, "/username")));
    if !text(user, "/uid").is_empty() {
        lines.push_str(&format!("UID\t{}\n", text(user, "/uid")));
    }
    let groups: Vec<String> = list(user, "/groups").iter().map(show).collect();
    if !groups.is_empty() {
        lines.push_str(&format!("Groups\t[{}]\n", groups.join(" ")));
    }
    for (key, values) in map(user, "/extra").into_iter().flatten() {
        let values: Vec<String> = values.as_array().into_iter().flatten().map(show).collect();
        lines.push_str(&format!("Extra: {key}\t[{}]\n", values.join(" ")));
    }
    session.out.push_str(&TABLE.align(&lines));
    Ok(())
}
