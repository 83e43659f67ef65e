use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_meta::fields::{Fields, FieldsMut, edit_at, edit_spec};
use coracle_meta::{FieldError, Object, format_time, human_duration, names};
use coracle_registry::{KindSpec, Request, Subresource, TableColumn, View, restore};
use serde_json::{Value, json};

use crate::built_in::built_in;
use crate::cells::text_or;
use crate::field_checks::{Wrong, each_invalid};

/// `certificatesigningrequests.certificates.k8s.io`. In Kubernetes: `pkg/registry/certificates/certificates`.
pub(crate) fn kind() -> KindSpec {
    KindSpec {
        set_defaults: |object| {
            edit_spec(object, |spec| {
                if spec.list("usages").is_empty() && !spec.has("usages") {
                    spec.remove("usages");
                }
            });
        },
        prepare_create: |object, request| {
            name_requestor(object, request);
            object.set("status", json!({}));
        },
        prepare_update: |new, old, _| restore(new, old, "spec"),
        validate_create: wrong,
        name: names::path_segment,
        reset_fields: &["spec"],
        disowned_by_status: &["status.conditions"],
        prepare_status,
        validate_status: wrong_status,
        selectable: Some(&["spec.signerName"]),
        columns: columns(),
        subresources: vec![Subresource::View(Arc::new(Approval))],
        ..built_in("certificates.k8s.io", "v1", "certificatesigningrequests")
    }
}

/// The request says who wrote it, whatever it claims.
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

/// The conditions that only `/approval` sets.
const OF_APPROVAL: [&str; 2] = ["Approved", "Denied"];

/// `/status` may not approve or deny: what it says of that again stays as it was.
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
    stamp_conditions(new, request);
}

fn conditions<'o>(object: &'o Object, kind: &'o str) -> impl Iterator<Item = &'o Value> {
    object.list("status.conditions").iter().filter(move |condition| condition.text("type") == kind)
}

/// In Kubernetes: `ValidateCertificateSigningRequestStatusUpdate`.
fn wrong_status(new: &Object, old: &Object) -> Wrong {
    const CONDITIONS: &str = "status.conditions";
    let change = |kind: &str| (conditions(old, kind).count(), conditions(new, kind).count());
    let mut wrong = Wrong::new();
    for kind in ["Approved", "Denied", "Failed"] {
        let (before, after) = change(kind);
        if after < before {
            let what = format!("updates may not remove a condition of type {kind:?}");
            wrong.push(FieldError::forbidden(CONDITIONS, what));
        }
    }
    for kind in OF_APPROVAL {
        let (before, after) = change(kind);
        if after > before {
            wrong.push(FieldError::forbidden(CONDITIONS, format!("updates may not add a condition of type {kind:?}")));
        }
    }
    let (before, after) = (old.text("status.certificate"), new.text("status.certificate"));
    if !before.is_empty() && before != after {
        let what = "updates may not modify existing certificate content";
        wrong.push(FieldError::forbidden("status.certificate", what));
    }
    wrong
}

fn stamp_conditions(object: &mut Object, request: &Request) {
    let now = format_time(request.now);
    edit_at(object, "status", |status| {
        status.each_in("conditions", |condition| {
            condition.fill_text("lastUpdateTime", &now);
            condition.fill_text("lastTransitionTime", &now);
        });
    });
}

/// `certificatesigningrequests/approval`: conditions alone.
pub(crate) struct Approval;

impl View for Approval {
    fn name(&self) -> &str {
        "approval"
    }

    fn prepare_update(&self, new: &mut Object, old: &Object, request: &Request) {
        stamp_conditions(new, request);
        let conditions = new.remove("status.conditions");
        restore(new, old, "spec");
        restore(new, old, "status");
        new.set_or_remove("status.conditions", conditions);
    }

    fn validate_update(&self, new: &Object, _old: &Object) -> Vec<FieldError> {
        let has = |kind: &str| new.list("status.conditions").iter().any(|condition| condition.text("type") == kind);
        if has("Approved") && has("Denied") {
            return vec![FieldError::invalid(
                "status.conditions",
                "Denied",
                "Approved and Denied conditions are mutually exclusive",
            )];
        }
        Vec::new()
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

/// What a certificate may be for.
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// In Kubernetes: `ValidateCertificateSigningRequestCreate`. The request itself is only looked at from outside: what it
/// holds is the signer's to judge.
fn wrong(object: &Object) -> Wrong {
    const REQUEST: &str = "spec.request";
    let spec = object.at("spec");
    let mut wrong = Wrong::new();
    let encoded = spec.text("request");
    if !is_certificate_request(encoded) {
        wrong.push(FieldError::invalid(REQUEST, encoded, "PEM block type must be CERTIFICATE REQUEST"));
    }
    if spec.list("usages").is_empty() {
        wrong.push(FieldError::required("spec.usages", ""));
    }
    let usages = spec.list("usages");
    for (at, usage) in usages.iter().enumerate() {
        if !USAGES.iter().any(|known| known == usage) {
            wrong.push(FieldError::not_supported(format!("spec.usages[{at}]"), usage.clone(), &USAGES));
        }
        if usages[..at].contains(usage) {
            wrong.push(FieldError::duplicate(format!("spec.usages[{at}]"), usage.clone()));
        }
    }
    if spec.int_if_set("expirationSeconds").is_some_and(|seconds| seconds < 600) {
        let what = "may not specify a duration less than 600 seconds (10 minutes)";
        wrong.push(FieldError::invalid("spec.expirationSeconds", spec.int("expirationSeconds"), what));
    }
    wrong.extend(wrong_signer(spec.text("signerName"), "spec.signerName"));
    wrong
}

/// Base64 of a PEM block of the right type.
fn is_certificate_request(encoded: &str) -> bool {
    let bytes = STANDARD.decode(encoded).unwrap_or_default();
    String::from_utf8_lossy(&bytes).contains("-----BEGIN CERTIFICATE REQUEST-----")
}

/// `domain/path`.
fn wrong_signer(name: &str, path: &str) -> Wrong {
    if name.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    match name.split_once('/') {
        Some((domain, rest)) if !rest.is_empty() && !rest.contains('/') => {
            let mut wrong = each_invalid(path, name, names::dns1123_subdomain(domain));
            wrong.extend(each_invalid(path, name, names::dns1123_subdomain(rest)));
            wrong
        }
        _ => {
            let what = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
            vec![FieldError::invalid(path, name, what)]
        }
    }
}
