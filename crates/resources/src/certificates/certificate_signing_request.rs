use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::fields::{Fields, FieldsMut, edit_at, edit_spec};
use coracle_meta::{FieldError, Object, format_time, human_duration, names};
use coracle_registry::{KindSpec, Request, Subresource, TableColumn, View, restore};
use coracle_release::Release;
use serde_json::{Value, json};

use super::request_validation::{self, OF_APPROVAL, conditions};
use crate::built_in::built_in;
use crate::cells::text_or;

/// `certificatesigningrequests.certificates.k8s.io`. In Kubernetes: `pkg/registry/certificates/certificates`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, _| {
            edit_spec(object, |spec| {
                if spec.list("usages").is_empty() && !spec.has("usages") {
                    spec.remove("usages");
                }
            });
        },
        prepare_create: |object, request, _| {
            name_requestor(object, request);
            object.set("status", json!({}));
        },
        prepare_update: |new, old, _, _| restore(new, old, "spec"),
        validate_create: |object, _| request_validation::wrong_create(object),
        name: names::path_segment,
        reset_fields: &["spec"],
        disowned_by_status: &["status.conditions"],
        prepare_status: |new, old, request, _| prepare_status(new, old, request),
        validate_status: |new, old, _| request_validation::wrong_status(new, old),
        selectable: Some(&["spec.signerName"]),
        columns: columns(),
        subresources: vec![Subresource::View(Arc::new(Approval))],
        ..built_in(release, "certificates.k8s.io", "v1", "certificatesigningrequests")
    }
}

/// Sets the requesting user in the request.
fn name_requestor(object: &mut Object, request: &Request) {
    let user = request.user.clone();
    edit_spec(object, |spec| {
        spec.drop_fields(&["username", "uid", "groups", "extra"]);
        spec.insert("username".to_owned(), user.name.as_str().into());
        if !user.uid.is_empty() {
            spec.insert("uid".to_owned(), user.uid.as_str().into());
        }
        if !user.groups.is_empty() {
            spec.insert("groups".to_owned(), json!(user.groups));
        }
        if !user.extra.is_empty() {
            spec.insert("extra".to_owned(), json!(user.extra));
        }
    });
}

/// `/status` must not approve or deny: these conditions stay as they were.
fn prepare_status(new: &mut Object, old: &Object, request: &Request) {
    for kind in OF_APPROVAL {
        let before: Vec<Value> = conditions(old, kind).cloned().collect();
        if before.len() == conditions(new, kind).count() {
            let mut before = before.into_iter();
            edit_at(new, "status", |status| {
                status.each_in("conditions", |condition| {
                    if condition.text("type") == kind
                        && let Some(Value::Object(before)) = before.next()
                    {
                        *condition = before;
                    }
                });
            });
        }
    }
    stamp_conditions(new, old, request);
}

/// Sets missing times of conditions; a condition with an unchanged status keeps its transition time.
fn stamp_conditions(new: &mut Object, old: &Object, request: &Request) {
    let now = format_time(request.now);
    let mut known = BTreeMap::new();
    for condition in old.list("status.conditions").iter().filter(|condition| condition.has("lastTransitionTime")) {
        let key = (condition.text("type"), condition.text("status"));
        known.entry(key).or_insert_with(|| condition.text("lastTransitionTime"));
    }
    edit_at(new, "status", |status| {
        status.each_in("conditions", |condition| {
            condition.fill_text("lastUpdateTime", &now);
            let same = known.get(&(condition.text("type"), condition.text("status")));
            let since = same.map_or(now.as_str(), |since| *since).to_owned();
            condition.fill_text("lastTransitionTime", &since);
        });
    });
}

/// `certificatesigningrequests/approval`: only conditions.
pub(crate) struct Approval;

impl View for Approval {
    fn name(&self) -> &str {
        "approval"
    }

    fn prepare_update(&self, new: &mut Object, old: &Object, request: &Request) {
        stamp_conditions(new, old, request);
        let conditions = new.remove("status.conditions");
        restore(new, old, "spec");
        restore(new, old, "status");
        new.set_or_remove("status.conditions", conditions);
    }

    fn validate_update(&self, new: &Object, old: &Object) -> Vec<FieldError> {
        request_validation::wrong_approval(new, old)
    }

    fn reset_fields(&self) -> Vec<Vec<String>> {
        vec![vec!["spec".to_owned()], vec!["status".to_owned(), "certificate".to_owned()]]
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::age(),
        TableColumn::text(
            "SignerName",
            "Requested signer for the request. It is a qualified name in the form: `scope-hostname.io/name`. If empty, it will be defaulted:\n 1. If it's a kubelet client certificate, it is assigned\n    \"kubernetes.io/kube-apiserver-client-kubelet\".\n 2. If it's a kubelet serving certificate, it is assigned\n    \"kubernetes.io/kubelet-serving\".\n 3. Otherwise, it is assigned \"kubernetes.io/legacy-unknown\".\nDistribution of trust for signers happens out of band. You can select on this field using `spec.signerName`.",
            |object| text_or(object.text("spec.signerName"), "<none>"),
        ),
        TableColumn::text("Requestor", "Base64-encoded PKCS#10 CSR data", |object| object.text("spec.username").into()),
        TableColumn::text(
            "RequestedDuration",
            "expirationSeconds is the requested duration of validity of the issued certificate. The certificate signer may issue a certificate with a different validity duration so a client must check the delta between the notBefore and and notAfter fields in the issued certificate to determine the actual duration.\n\nThe v1.22+ in-tree implementations of the well-known Kubernetes signers will honor this field as long as the requested duration is not greater than the maximum duration they will honor per the --cluster-signing-duration CLI flag to the Kubernetes controller manager.\n\nCertificate signers may not honor this field for various reasons:\n\n  1. Old signer that is unaware of the field (such as the in-tree\n     implementations prior to v1.22)\n  2. Signer whose configured maximum is shorter than the requested duration\n  3. Signer whose configured minimum is longer than the requested duration\n\nThe minimum valid value for expirationSeconds is 600, i.e. 10 minutes.",
            |object| object.int_if_set("spec.expirationSeconds").map_or("<none>".to_owned(), human_duration).into(),
        ),
        TableColumn::text("Condition", "Conditions applied to the request, such as approval or denial.", |object| {
            state(object).into()
        }),
    ]
}

fn state(object: &Object) -> String {
    let has = |kind: &str| object.list("status.conditions").iter().any(|condition| condition.text("type") == kind);
    let mut state = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    }
    .to_owned();
    if has("Failed") {
        state.push_str(",Failed");
    }
    if !object.text("status.certificate").is_empty() {
        state.push_str(",Issued");
    }
    state
}
