use coracle_meta::fields::Fields;
use coracle_meta::{GroupResource, GroupVersionResource, Object, ResourcePath, Status};
use coracle_registry::{Attributes, Decision, Operation, Review};
use serde_json::Value;

use super::Checked;
use crate::lookup::{core, get};

/// A node can request tokens for its own pods, with audiences that their volumes need.
pub(super) async fn check(review: &Review<'_>, node: &str) -> Result<Checked, Status> {
    let Some(request) = review.object().filter(|_| review.operation == Operation::Create) else { return Ok(Ok(())) };
    let bound = request.at("spec.boundObjectRef");
    let name = bound.text("name");
    if (bound.text("apiVersion"), bound.text("kind")) != ("v1", "Pod") || name.is_empty() {
        return Ok(Err("node requested token not bound to a pod".to_owned()));
    }
    let uid = bound.text("uid");
    if uid.is_empty() {
        return Ok(Err("node requested token with a pod binding without a uid".to_owned()));
    }
    let Some(pod) = get(review, core("pods"), &review.request.at.namespace, name).await? else {
        return Err(Status::not_found(&GroupResource::new("", "pods"), name));
    };
    if uid != pod.uid() {
        let what = "does not match the UID in record. The object might have been deleted and then recreated";
        return Ok(Err(format!("the UID in the bound object reference ({uid}) {what}")));
    }
    if pod.text("spec.nodeName") != node {
        return Ok(Err("node requested token bound to a pod scheduled on a different node".to_owned()));
    }
    match request.list("spec.audiences") {
        [] => check_audience(review, &pod, "").await,
        [only] => check_audience(review, &pod, only.as_str().unwrap_or_default()).await,
        _ => Ok(Err("node may only request 0 or 1 audiences".to_owned())),
    }
}

async fn check_audience(review: &Review<'_>, pod: &Object, audience: &str) -> Result<Checked, Status> {
    for volume in pod.list("spec.volumes") {
        let sources = volume.list("projected.sources").iter();
        let mut tokens = sources.map(|source| source.at("serviceAccountToken")).filter(|token| !token.is_null());
        if tokens.any(|token| token.text("audience") == audience) {
            return Ok(Ok(()));
        }
        if let Some(driver) = driver_of(review, pod, volume).await?
            && needs(review, &driver, audience).await?
        {
            return Ok(Ok(()));
        }
    }
    let at = ResourcePath::new(GroupVersionResource::new("", "v1", audience));
    let at = at.object(review.request.at.namespace.as_str(), review.request.at.name.as_str());
    let verb = "request-serviceaccounts-token-audience";
    let attributes = Attributes::of_resource(&review.request.user, verb, at);
    if matches!(review.registry.authorize(&attributes).await?, Decision::Allow(_)) {
        return Ok(Ok(()));
    }
    let user = &review.request.user.name;
    Ok(Err(format!(
        "audience {audience:?} not found in pod spec volume, {user} is not authorized to request tokens for this audience"
    )))
}

/// The driver of a volume, through its claim and the bound volume if necessary.
async fn driver_of(review: &Review<'_>, pod: &Object, volume: &Value) -> Result<Option<String>, Status> {
    let claim = match () {
        () if volume.has("ephemeral") => format!("{}-{}", pod.name(), volume.text("name")),
        () if volume.has("persistentVolumeClaim") => volume.text("persistentVolumeClaim.claimName").to_owned(),
        () => return Ok(Some(volume.text("csi.driver").to_owned()).filter(|driver| !driver.is_empty())),
    };
    let Some(claim) = get(review, core("persistentvolumeclaims"), pod.namespace(), &claim).await? else {
        return Ok(None);
    };
    let bound = get(review, core("persistentvolumes"), "", claim.text("spec.volumeName")).await?;
    Ok(bound.map(|volume| volume.text("spec.csi.driver").to_owned()).filter(|driver| !driver.is_empty()))
}

async fn needs(review: &Review<'_>, driver: &str, audience: &str) -> Result<bool, Status> {
    let drivers = GroupVersionResource::new("storage.k8s.io", "v1", "csidrivers");
    let found = get(review, drivers, "", driver).await?;
    let requests = found.as_deref().map_or(&[][..], |driver| driver.list("spec.tokenRequests"));
    Ok(requests.iter().any(|request| request.text("audience") == audience))
}
