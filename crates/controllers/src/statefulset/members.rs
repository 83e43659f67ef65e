//! The pods of a StatefulSet: each has an ordinal, and from it a name, labels, a host name and claims.

use std::ops::Range;

use coracle_api::apps_v1::StatefulSet;
use coracle_api::core_v1::{PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, Pod, PodTemplateSpec, Volume};
use coracle_controller_runtime::ReconcileError;
use coracle_meta::Resource;

use crate::pods::new_pod;

/// The label with a pod's own name.
const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";
/// The label with a pod's ordinal.
const POD_INDEX: &str = "apps.kubernetes.io/pod-index";
/// The label with the name of the revision that a pod was created from.
const REVISION: &str = "controller-revision-hash";

/// The ordinals of a set's pods.
pub(super) fn numbers(set: &StatefulSet) -> Range<i64> {
    let start = i64::from(set.spec.ordinals.as_ref().map_or(0, |ordinals| ordinals.start));
    start..start + i64::from(set.spec.replicas.unwrap_or(1))
}

/// The ordinal of a pod; `None` if its name is not one of the set's.
///
/// In Kubernetes: `getParentNameAndOrdinal`.
pub(super) fn ordinal(set: &StatefulSet, pod: &Pod) -> Option<i64> {
    let digits = pod.name().strip_prefix(set.name())?.strip_prefix('-')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|sign| sign.is_ascii_digit());
    is_number.then(|| digits.parse::<i32>().ok().map(i64::from)).flatten()
}

/// The name of the revision that a pod was created from; empty without the label.
pub(super) fn revision_of(pod: &Pod) -> &str {
    pod.metadata.labels.get(REVISION).map_or("", String::as_str)
}

/// The pod of an ordinal, from a template.
pub(super) fn member(
    set: &StatefulSet,
    template: &PodTemplateSpec,
    revision: &str,
    ordinal: i64,
) -> Result<Pod, ReconcileError> {
    let mut pod = new_pod(set, template)?;
    let name = format!("{}-{ordinal}", set.name());
    pod.spec.hostname.clone_from(&name);
    pod.spec.subdomain.clone_from(&set.spec.service_name);
    pod.metadata.name = Some(name);
    pod.metadata.labels.insert(REVISION.to_owned(), revision.to_owned());
    identify(set, &mut pod, ordinal);
    Ok(pod)
}

/// Sets the labels and volumes of a pod's ordinal, where they are missing.
///
/// In Kubernetes: `updateIdentity` and `updateStorage`.
pub(super) fn identify(set: &StatefulSet, pod: &mut Pod, ordinal: i64) {
    let name = pod.name().to_owned();
    if pod.metadata.labels.get(POD_NAME) != Some(&name) {
        pod.metadata.labels.insert(POD_NAME.to_owned(), name);
        pod.metadata.labels.insert(POD_INDEX.to_owned(), ordinal.to_string());
    }
    let templates = &set.spec.volume_claim_templates;
    let wanted = |template: &PersistentVolumeClaim| Volume {
        name: template.metadata.name.clone().unwrap_or_default(),
        persistent_volume_claim: Some(Box::new(PersistentVolumeClaimVolumeSource {
            claim_name: claim_name(set, template, ordinal),
            ..PersistentVolumeClaimVolumeSource::default()
        })),
        ..Volume::default()
    };
    let has = |volume: &Volume| {
        let claim = |one: &Volume| one.persistent_volume_claim.as_ref().map(|source| source.claim_name.clone());
        pod.spec.volumes.iter().any(|one| one.name == volume.name && claim(one) == claim(volume))
    };
    let volumes: Vec<_> = templates.iter().map(wanted).collect();
    if !volumes.iter().all(has) {
        pod.spec.volumes.retain(|one| volumes.iter().all(|volume| volume.name != one.name));
        pod.spec.volumes.splice(0..0, volumes);
    }
}

/// The claims of an ordinal, from the set's templates. In Kubernetes: `getPersistentVolumeClaims`.
pub(super) fn claims(set: &StatefulSet, ordinal: i64) -> impl Iterator<Item = PersistentVolumeClaim> {
    set.spec.volume_claim_templates.iter().map(move |template| {
        let mut claim = template.clone();
        claim.metadata.name = Some(claim_name(set, template, ordinal));
        claim.metadata.namespace.clone_from(&set.metadata.namespace);
        let labels = set.spec.selector.iter().flat_map(|selector| selector.match_labels.clone());
        claim.metadata.labels.extend(labels);
        claim
    })
}

fn claim_name(set: &StatefulSet, template: &PersistentVolumeClaim, ordinal: i64) -> String {
    format!("{}-{}-{ordinal}", template.name(), set.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn set() -> StatefulSet {
        serde_json::from_value(json!({
            "metadata": {"name": "db", "namespace": "default", "uid": "u"},
            "spec": {"serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
                "template": {"metadata": {"labels": {"app": "db"}},
                    "spec": {"volumes": [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]}},
                "volumeClaimTemplates": [{"metadata": {"name": "data", "labels": {"kept": "yes"}}}]}
        }))
        .unwrap()
    }

    #[test]
    fn a_member_has_name_labels_host_and_claims_of_its_number() {
        let set = set();
        let pod = member(&set, &set.spec.template, "db-r1", 7).unwrap();
        assert_eq!((pod.name(), pod.metadata.generate_name.as_deref()), ("db-7", Some("db-")));
        assert_eq!((pod.spec.hostname.as_str(), pod.spec.subdomain.as_str()), ("db-7", "db"));
        assert_eq!((pod.metadata.labels[POD_NAME].as_str(), pod.metadata.labels[POD_INDEX].as_str()), ("db-7", "7"));
        assert_eq!((revision_of(&pod), ordinal(&set, &pod)), ("db-r1", Some(7)));
        let volumes: Vec<_> = pod.spec.volumes.iter().map(|volume| volume.name.as_str()).collect();
        assert_eq!(volumes, ["data", "tmp"]);
        assert_eq!(pod.spec.volumes[0].persistent_volume_claim.as_ref().unwrap().claim_name, "data-db-7");
        let claim = claims(&set, 7).next().unwrap();
        assert_eq!(claim.metadata.name.as_deref(), Some("data-db-7"));
        assert_eq!((claim.metadata.labels["kept"].as_str(), claim.metadata.labels["app"].as_str()), ("yes", "db"));
    }

    #[test]
    fn a_member_that_was_mangled_gets_its_labels_and_volumes_back() {
        let set = set();
        let made = member(&set, &set.spec.template, "r", 0).unwrap();
        let mut mangled = made.clone();
        mangled.metadata.labels.remove(POD_NAME);
        mangled.spec.volumes.remove(0);
        identify(&set, &mut mangled, 0);
        assert_eq!(mangled, made);
    }

    proptest! {
        #[test]
        fn only_names_that_the_set_gives_have_a_number(name in "(db|db-1|web)?-?[0-9a-z-]{0,12}") {
            let (set, mut pod) = (set(), Pod::default());
            pod.metadata.name = Some(name.clone());
            let digits = name.strip_prefix("db-").filter(|rest| rest.bytes().all(|sign| sign.is_ascii_digit()));
            prop_assert_eq!(ordinal(&set, &pod), digits.and_then(|digits| digits.parse::<i32>().ok()).map(i64::from));
        }
    }
}
