use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Object, ResourcePath, Status};
use coracle_registry::{Attributes, Decision, Operation, Review};

use super::Checked;
use crate::lookup::{core, get};

/// Why a request for a certificate is refused.
enum Refusal {
    /// For good: 403.
    Forbidden(String),
    /// Another attempt may succeed, because the server may not have seen the objects yet: 500.
    NotYet(String),
}

type Found<T> = Result<T, Refusal>;

/// A node asks for certificates of the pods that run on it, with the identities that they have.
/// In Kubernetes: `admitPodCertificateRequest`.
pub(super) async fn check(review: &Review<'_>, node: &str) -> Result<Checked, Status> {
    let (Operation::Create, Some(request)) = (review.operation, review.object()) else {
        return Ok(Err(format!("unexpected operation {}", review.operation.as_str())));
    };
    let part = &review.request.at.subresource;
    if !part.is_empty() {
        return Ok(Err(format!("unexpected subresource {part}")));
    }
    match check_request(review, request, node).await? {
        Ok(()) => Ok(Ok(())),
        Err(Refusal::Forbidden(why)) => Ok(Err(why)),
        Err(Refusal::NotYet(why)) => Err(Status::failure(500, "", why)),
    }
}

async fn check_request(review: &Review<'_>, request: &Object, node: &str) -> Result<Found<()>, Status> {
    let named = request.text("spec.nodeName");
    if named != node {
        let why = format!("PodCertificateRequest.Spec.NodeName={named:?}, which is not the requesting node {node:?}");
        return Ok(Err(Refusal::Forbidden(why)));
    }
    let found = get(review, core("nodes"), "", node).await?;
    if let Err(refusal) = check_node(request, found.as_deref()) {
        return Ok(Err(refusal));
    }
    let namespace = review.request.at.namespace.as_str();
    let name = format!("{namespace}/{}", request.text("spec.podName"));
    let pod = get(review, core("pods"), namespace, request.text("spec.podName")).await?;
    let Some(pod) = pod else {
        return Ok(Err(not_found("pod", &name, "pod", request.text("spec.podName"))));
    };
    if let Err(refusal) = check_pod(request, &pod, &name) {
        return Ok(Err(refusal));
    }
    let account = get(review, core("serviceaccounts"), namespace, request.text("spec.serviceAccountName")).await?;
    if let Err(refusal) = check_account(request, account.as_deref(), namespace, &name) {
        return Ok(Err(refusal));
    }
    check_signer(review, request, &pod, &name).await
}

fn not_found(what: &str, quoted: &str, kind: &str, name: &str) -> Refusal {
    Refusal::NotYet(format!(
        "while retrieving {what} {quoted:?} named in the PodCertificateRequest: {kind} {name:?} not found"
    ))
}

fn check_node(request: &Object, node: Option<&Object>) -> Found<()> {
    let (name, uid) = (request.text("spec.nodeName"), request.text("spec.nodeUID"));
    let Some(node) = node else { return Err(not_found("node", name, "node", name)) };
    if node.uid() == uid {
        return Ok(());
    }
    let pod = format!("{}/{}", request.namespace(), request.text("spec.podName"));
    let running = node.uid();
    Err(Refusal::NotYet(format!(
        "PodCertificateRequest for pod {pod:?} names node UID {uid:?}, inconsistent with the running node ({running:?})"
    )))
}

fn check_pod(request: &Object, pod: &Object, name: &str) -> Found<()> {
    let (uid, node) = (request.text("spec.podUID"), request.text("spec.nodeName"));
    if pod.uid() != uid {
        return Err(Refusal::NotYet(format!(
            "PodCertificateRequest for pod {name:?} contains pod UID ({uid:?}) which differs from running pod {:?}",
            pod.uid()
        )));
    }
    if pod.text("spec.nodeName") != node {
        let why = format!("pod {name:?} is not running on node {node:?} named in the PodCertificateRequest");
        return Err(Refusal::Forbidden(why));
    }
    if pod.annotation("kubernetes.io/config.mirror").is_some() {
        return Err(Refusal::Forbidden(format!("pod {name:?} is a mirror pod")));
    }
    let (asked, own) = (request.text("spec.serviceAccountName"), pod.text("spec.serviceAccountName"));
    if asked == own {
        return Ok(());
    }
    Err(Refusal::Forbidden(format!(
        "PodCertificateRequest for pod {name:?} contains serviceAccountName ({asked:?}) that differs from running pod \
         ({own:?})"
    )))
}

fn check_account(request: &Object, account: Option<&Object>, namespace: &str, pod: &str) -> Found<()> {
    let (name, uid) = (request.text("spec.serviceAccountName"), request.text("spec.serviceAccountUID"));
    let Some(account) = account else {
        return Err(not_found("service account", &format!("{namespace}/{name}"), "serviceaccount", name));
    };
    if account.uid() == uid {
        return Ok(());
    }
    let running = account.uid();
    Err(Refusal::NotYet(format!(
        "PodCertificateRequest for pod {pod:?} names service account UID {uid:?}, which differs from the running \
         service account ({running:?})"
    )))
}

/// A pod mounts a certificate of the signer, or the node has a permission for it.
async fn check_signer(review: &Review<'_>, request: &Object, pod: &Object, name: &str) -> Result<Found<()>, Status> {
    let signer = request.text("spec.signerName");
    if mounts_certificate(pod, signer) {
        return Ok(Ok(()));
    }
    // The resource of a permission has no slash.
    let resource = GroupVersionResource::new("certificates.k8s.io", "v1", signer.replace('/', ":"));
    let at = ResourcePath::new(resource).object(request.namespace(), request.text("spec.serviceAccountName"));
    let verb = "request-serviceaccounts-podcertificate-signer";
    let attributes = Attributes::of_resource(&review.request.user, verb, at);
    if matches!(review.registry.authorize(&attributes).await?, Decision::Allow(_)) {
        return Ok(Ok(()));
    }
    let why = format!("pod {name:?} does not mount a podCertificate projected volume for signer {signer:?}");
    Ok(Err(Refusal::Forbidden(why)))
}

fn mounts_certificate(pod: &Object, signer: &str) -> bool {
    let volumes = pod.list("spec.volumes").iter();
    let mut sources = volumes.flat_map(|volume| volume.list("projected.sources"));
    sources.any(|source| source.has("podCertificate") && source.text("podCertificate.signerName") == signer)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(value: Value) -> Object {
        Object::from_value(value).unwrap()
    }

    fn why(found: Found<()>) -> String {
        match found {
            Ok(()) => "allowed".to_owned(),
            Err(Refusal::Forbidden(why)) => format!("403: {why}"),
            Err(Refusal::NotYet(why)) => format!("500: {why}"),
        }
    }

    #[test]
    fn a_request_names_the_pod_that_runs_on_the_node() {
        let request =
            object(json!({"spec": {"podName": "p", "podUID": "1", "nodeName": "a", "serviceAccountName": "s"}}));
        let pod = |uid: &str, node: &str, account: &str| {
            object(json!({"metadata": {"uid": uid}, "spec": {"nodeName": node, "serviceAccountName": account}}))
        };
        let said = |pod: &Object| why(check_pod(&request, pod, "n/p"));
        assert_eq!(said(&pod("1", "a", "s")), "allowed");
        assert!(said(&pod("2", "a", "s")).starts_with("500: PodCertificateRequest for pod \"n/p\" contains pod UID"));
        let elsewhere = "403: pod \"n/p\" is not running on node \"a\" named in the PodCertificateRequest";
        assert_eq!(said(&pod("1", "b", "s")), elsewhere);
        assert!(
            said(&pod("1", "a", "t"))
                .starts_with("403: PodCertificateRequest for pod \"n/p\" contains serviceAccountName")
        );
    }

    #[test]
    fn a_missing_node_may_come() {
        let request = object(json!({"spec": {"nodeName": "a", "nodeUID": "1"}}));
        let what = "500: while retrieving node \"a\" named in the PodCertificateRequest: node \"a\" not found";
        assert_eq!(why(check_node(&request, None)), what);
        assert_eq!(why(check_node(&request, Some(&object(json!({"metadata": {"uid": "1"}}))))), "allowed");
    }

    #[test]
    fn a_volume_asks_for_a_certificate_of_a_signer() {
        let source = json!({"podCertificate": {"signerName": "a.io/b"}});
        let pod = object(json!({"spec": {"volumes": [{"projected": {"sources": [source]}}]}}));
        assert!(mounts_certificate(&pod, "a.io/b") && !mounts_certificate(&pod, "a.io/c"));
    }
}
