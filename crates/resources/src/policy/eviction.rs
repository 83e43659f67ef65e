use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::{
    FieldError, GroupResource, GroupVersionKind, GroupVersionResource, LabelSelector, Object, Status, StatusCause,
    format_time,
};
use coracle_registry::{
    Action, BodyKind, DeleteOptions, GetOptions, ListOptions, Plan, Preconditions, Propagation, Registry, Request,
    User, Verb,
};
use serde_json::{Value, json};

use crate::cells::has_condition;
use crate::pod_condition::update_condition;
use crate::success_status::success;
use coracle_meta::fields::Fields;
use coracle_release::Release;

/// `pods/eviction`: deletes a pod if its disruption budget allows it. In Kubernetes: `EvictionREST`.
pub(crate) struct Eviction;

/// The maximum number of attempts to count a disruption after conflicts with other writes of the budget. In Kubernetes:
/// `EvictionsRetry`.
const MAX_TRIES: u32 = 20;

/// The maximum number of pending evictions of a budget.
const MAX_DISRUPTED_PODS: usize = 2000;

#[async_trait]
impl Action for Eviction {
    fn name(&self) -> &str {
        "eviction"
    }

    fn body(&self) -> BodyKind {
        BodyKind::built_in("policy", "v1", "Eviction")
    }

    fn check(&self, request: &Request, body: &Object) -> Result<(), Status> {
        check(request, body)
    }

    async fn create(&self, registry: &Registry, request: &Request, body: Object) -> Result<Object, Status> {
        let mut request = request.clone();
        request.dry_run |= !body.list("deleteOptions.dryRun").is_empty();
        let options = delete_options(&body);
        let pod = get(registry, &request).await?;
        check_delete_options(body.at("deleteOptions"))?;
        if needs_no_budget(&pod) {
            let enforce = !has_ended(&pod) && !pod.is_terminating();
            return evict(registry, &request, options, enforce.then_some(&pod)).await;
        }
        let budgets = budgets_of(registry, &request, &pod).await?;
        match budgets.as_slice() {
            [] => evict(registry, &request, options, None).await,
            [budget] if is_spare(&pod, budget) => {
                let had_version = options.preconditions.resource_version.is_some();
                let result = evict(registry, &request, options, Some(&pod)).await;
                match result {
                    Err(status) if status.is_conflict() && !had_version => Err(still_processed(budget.name())),
                    result => result,
                }
            }
            [budget] => {
                take_from_budget(registry, &request, budget.name()).await?;
                evict(registry, &request, options, None).await
            }
            _ => Err(Status::failure(
                500,
                "",
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
            )),
        }
    }
}

/// Refuses an eviction for another pod than that of the URL, or with options that contradict the request.
fn check(request: &Request, body: &Object) -> Result<(), Status> {
    if body.name() != request.at.name {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    let field = "deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential";
    if body.at(field) == &Value::Bool(true) {
        let why = "can not be set for pod eviction, try after removing the option";
        let error = FieldError::invalid(field, true, why);
        return Err(Status::invalid(&Eviction.body().gvk, &request.at.name, &[error]));
    }
    let modes: Vec<_> = body.list("deleteOptions.dryRun").iter().filter_map(Value::as_str).collect();
    if request.dry_run && !modes.is_empty() && modes != ["All"] {
        let modes = modes.join(" ");
        let why = format!("Non-matching dry-run options in request and content: [All] and [{modes}]");
        return Err(Status { details: None, ..Status::failure(500, "", why) });
    }
    Ok(())
}

/// Refuses invalid delete options. In Kubernetes: `metav1/validation.ValidateDeleteOptions`.
fn check_delete_options(options: &Value) -> Result<(), Status> {
    let mut errors = Vec::new();
    if let Some(policy) = options.at("propagationPolicy").as_str() {
        if !options.at("orphanDependents").is_null() {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            errors.push(FieldError::invalid("propagationPolicy", policy, why));
        }
        if !["Foreground", "Background", "Orphan"].contains(&policy) {
            let known = ["Foreground", "Background", "Orphan", "nil"];
            errors.push(FieldError::not_supported("propagationPolicy", policy, &known));
        }
    }
    let modes = options.list("dryRun");
    if modes.iter().any(|mode| mode != "All") {
        errors.push(FieldError::not_supported("dryRun", Value::from(modes.to_vec()), &["All"]));
    }
    match errors.as_slice() {
        [] => Ok(()),
        errors => Err(Status::invalid(&GroupVersionKind::new("meta.k8s.io", "v1", "DeleteOptions"), "", errors)),
    }
}

fn pods() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "pods")
}

fn budgets() -> GroupVersionResource {
    GroupVersionResource::new("policy", "v1", "poddisruptionbudgets")
}

async fn get(registry: &Registry, request: &Request) -> Result<Object, Status> {
    let request = request.about(Verb::Get, pods(), &request.at.namespace, &request.at.name);
    Ok(Object::clone(&registry.get(&request, &GetOptions::default()).await?.object()))
}

fn delete_options(body: &Object) -> DeleteOptions {
    let options = body.at("deleteOptions");
    let text = |path: &str| options.at(path).as_str().map(str::to_owned);
    DeleteOptions {
        grace_period_seconds: options.int_if_set("gracePeriodSeconds"),
        preconditions: Preconditions {
            uid: text("preconditions.uid"),
            resource_version: text("preconditions.resourceVersion"),
        },
        propagation: match options.text("propagationPolicy") {
            "Background" => Some(Propagation::Background),
            "Foreground" => Some(Propagation::Foreground),
            "Orphan" => Some(Propagation::Orphan),
            _ => None,
        },
        orphan_dependents: options.at("orphanDependents").as_bool(),
        ..DeleteOptions::default()
    }
}

fn has_ended(pod: &Object) -> bool {
    matches!(pod.text("status.phase"), "Succeeded" | "Failed")
}

/// The eviction of a pod that is pending or finished is not a disruption.
fn needs_no_budget(pod: &Object) -> bool {
    has_ended(pod) || pod.text("status.phase") == "Pending" || pod.is_terminating()
}

/// Whether the pod is unhealthy and the budget does not depend on it.
fn is_spare(pod: &Object, budget: &Object) -> bool {
    if has_condition(pod, "Ready", "True") {
        return false;
    }
    let desired = budget.int("status.desiredHealthy");
    budget.text("spec.unhealthyPodEvictionPolicy") == "AlwaysAllow"
        || (budget.int("status.currentHealthy") >= desired && desired > 0)
}

/// The budgets whose selectors match the pod. An empty selector matches all.
async fn budgets_of(registry: &Registry, request: &Request, pod: &Object) -> Result<Vec<Object>, Status> {
    let labels = pod.labels();
    let about = request.about(Verb::List, budgets(), &request.at.namespace, "");
    let all = registry.list(&about, &ListOptions::default()).await?;
    let matches = |budget: &Object| {
        let selector = budget.at("spec.selector");
        LabelSelector::from_json((!selector.is_null()).then_some(selector))
            .is_ok_and(|selector| selector.matches(&labels))
    };
    Ok(all.items.iter().map(|stored| Object::clone(&stored.object())).filter(matches).collect())
}

/// Counts one disruption, or returns why none is allowed. The API server writes this itself, not the evicting user.
async fn take_from_budget(registry: &Registry, request: &Request, name: &str) -> Result<(), Status> {
    let (pod, now) = (&request.at.name, format_time(request.now));
    let about = |verb| Request {
        user: Arc::new(User::system()),
        field_manager: "kube-apiserver".to_owned(),
        ..request.about(verb, budgets(), &request.at.namespace, name)
    };
    let mut tries_left = MAX_TRIES;
    loop {
        let mut budget = Object::clone(&registry.get(&about(Verb::Get), &GetOptions::default()).await?.object());
        take_one(&mut budget, pod, &now, registry.release())?;
        match registry.update(&about(Verb::Update).subresource("status"), budget).await {
            Err(status) if status.is_conflict() && tries_left > 0 => tries_left -= 1,
            written => return written.map(drop),
        }
    }
}

/// The refusal with the budget as its cause, in releases that say so.
fn named(refused: Status, budget: &str, why: &str, release: &Release) -> Status {
    if !release.has("RefusedEvictionsNameTheBudget") {
        return refused;
    }
    let message = format!("The disruption budget {budget} does not allow evicting pods currently: {why}");
    refused.with_cause("DisruptionBudget", message, "")
}

/// In Kubernetes: `checkAndDecrement`.
fn take_one(budget: &mut Object, pod: &str, now: &str, release: &Release) -> Result<(), Status> {
    let name = budget.name().to_owned();
    let forbidden = |why: &str| Status::forbidden(&GroupResource::new("policy", "poddisruptionbudget"), &name, why);
    if budget.int("status.observedGeneration") < budget.generation() {
        return Err(still_processed(&name));
    }
    let allowed = budget.int("status.disruptionsAllowed");
    if allowed < 0 {
        let refused = forbidden("pdb disruptions allowed is negative");
        return Err(named(refused, &name, "pdb disruptions allowed is negative", release));
    }
    if budget.entries("status.disruptedPods").count() > MAX_DISRUPTED_PODS {
        let refused = forbidden("DisruptedPods map too big - too many evictions not confirmed by PDB controller");
        return Err(named(refused, &name, "too many pending evictions not confirmed by PDB controller", release));
    }
    if allowed == 0 {
        return Err(too_many(0, why_none_allowed(budget)));
    }
    budget.set("status.disruptionsAllowed", allowed - 1);
    if allowed == 1 {
        let condition = json!({"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods",
            "message": "", "observedGeneration": budget.int("status.observedGeneration")});
        update_condition(budget, &condition, now);
        coracle_meta::fields::edit_at(budget, "status", |status| {
            coracle_meta::fields::FieldsMut::each_in(status, "conditions", |condition| {
                drop(condition.remove("lastProbeTime"))
            });
        });
    }
    budget.set(&["status", "disruptedPods", pod], now);
    Ok(())
}

fn why_none_allowed(budget: &Object) -> String {
    let name = budget.name();
    let conditions = budget.list("status.conditions").iter();
    let refused = conditions
        .filter(|condition| condition.text("type") == "DisruptionAllowed" && condition.text("status") == "False")
        .find(|condition| !condition.text("message").is_empty());
    let (current, desired) = (budget.int("status.currentHealthy"), budget.int("status.desiredHealthy"));
    let now = format!("The disruption budget {name} does not allow evicting pods currently");
    match refused.map(|condition| (condition.text("reason"), condition.text("message"))) {
        Some(("SyncFailed", message)) => format!("{now} because it failed sync: {message}"),
        _ if current <= desired => {
            format!("The disruption budget {name} needs {desired} healthy pods and has {current} currently")
        }
        Some((reason, message)) => format!("{now} ({reason}): {message}"),
        None => now,
    }
}

fn still_processed(budget: &str) -> Status {
    too_many(10, format!("The disruption budget {budget} is still being processed by the server."))
}

fn too_many(retry_after_seconds: u32, cause: String) -> Status {
    let text = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut status = Status::too_many_requests(text, retry_after_seconds);
    let details = status.details.get_or_insert_default();
    details.causes.push(StatusCause {
        reason: "DisruptionBudget".to_owned(),
        message: cause,
        ..StatusCause::default()
    });
    status
}

/// Sets the condition of the pod and deletes it; `only_if` are the preconditions.
async fn evict(
    registry: &Registry,
    request: &Request,
    mut options: DeleteOptions,
    only_if: Option<&Object>,
) -> Result<Object, Status> {
    if let Some(pod) = only_if {
        options.preconditions.resource_version.get_or_insert_with(|| pod.resource_version().to_owned());
    }
    if !request.dry_run {
        let about = request.about(Verb::Update, pods(), &request.at.namespace, &request.at.name);
        let now = format_time(request.now);
        let condition = json!({"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting"});
        let marked = registry
            .modify(&about, |pod| match options.preconditions.check(pod) {
                Err(why) => Err(Status::conflict(&GroupResource::new("", "Pod"), pod.name(), &why)),
                Ok(()) => Plan::edit(pod, |pod| {
                    update_condition(pod, &condition, &now);
                    Ok(())
                }),
            })
            .await?;
        if let Some(version) = &mut options.preconditions.resource_version {
            marked.object().resource_version().clone_into(version);
        }
    }
    let about = request.about(Verb::Delete, pods(), &request.at.namespace, &request.at.name);
    // Plug-ins have admitted the eviction, and are not called for the deletion.
    registry.delete_as_admitted(&about, &options).await?;
    Ok(success())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(status: Value) -> Object {
        let budget = json!({"metadata": {"name": "b", "generation": 1}, "status": status});
        Object::from_value(budget).unwrap()
    }

    #[test]
    fn an_eviction_names_the_pod_of_the_url_and_has_options_that_a_delete_takes() {
        let request = Request::new(Verb::Create, pods(), coracle_ambient::Timestamp::UNIX_EPOCH).object("n", "p");
        let refused = |request: &Request, body: Value| {
            let checked = check(request, &Object::from_value(body.clone()).unwrap());
            checked.and_then(|()| check_delete_options(body.at("deleteOptions"))).map_err(|status| status.message)
        };
        let another = Err("name in URL does not match name in Eviction object".to_owned());
        assert_eq!(refused(&request, json!({"metadata": {"name": "q"}})), another);
        assert_eq!(refused(&request, json!({})), another);
        let with = |options: Value| json!({"metadata": {"name": "p"}, "deleteOptions": options});
        assert_eq!(refused(&request, with(json!({"dryRun": ["All"]}))), Ok(()));
        let invalid = "DeleteOptions.meta.k8s.io \"\" is invalid: ";
        let known = "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"";
        assert_eq!(
            refused(&request, with(json!({"propagationPolicy": "X"}))),
            Err(format!("{invalid}propagationPolicy: Unsupported value: \"X\": {known}"))
        );
        assert_eq!(
            refused(&request, with(json!({"dryRun": ["Some"]}))),
            Err(format!("{invalid}dryRun: Unsupported value: [\"Some\"]: supported values: \"All\""))
        );
        let dry = Request { dry_run: true, ..request };
        let differ = "Non-matching dry-run options in request and content: [All] and [Some]";
        assert_eq!(refused(&dry, with(json!({"dryRun": ["Some"]}))), Err(differ.to_owned()));
    }

    #[test]
    fn a_budget_gives_what_it_has_and_no_more() {
        let mut budget = budget(json!({"observedGeneration": 1, "disruptionsAllowed": 1}));
        take_one(&mut budget, "p", "now", &Release::default()).unwrap();
        assert_eq!(budget.int("status.disruptionsAllowed"), 0);
        assert_eq!(budget.text("status.disruptedPods.p"), "now");
        assert_eq!(take_one(&mut budget, "q", "now", &Release::default()).unwrap_err().code, 429);
    }

    #[test]
    fn a_budget_without_observed_generation_allows_no_disruption() {
        let status =
            take_one(&mut budget(json!({"disruptionsAllowed": 3})), "p", "now", &Release::default()).unwrap_err();
        assert_eq!(status.code, 429);
    }
}
