use std::collections::BTreeSet;
use std::sync::Arc;

use coracle_api::core_v1::{Node, Pod, Volume};
use coracle_client::Client;
use coracle_kubelet_api::DriversStore;

use crate::lookup::claimed::claimed;
use crate::lookup::plugins::{Plugin, absent, plugin};
use crate::world::spec::{Driver, PodUid, UniqueName, VolumeSource, VolumeSpec};

/// The volumes of a pod: the specs that were found by their names in the pod, and the names whose spec could not be
/// found, with the reason.
#[derive(Debug, Default)]
pub(crate) struct PodVolumes {
    pub(crate) volumes: Vec<(String, Arc<VolumeSpec>)>,
    pub(crate) failures: Vec<(String, String)>,
}

/// The volumes that containers of a pod mount or use as devices; the others are not mounted. In Kubernetes:
/// `getExpectedVolumes`.
pub(crate) fn expected(pod: &Pod) -> BTreeSet<&str> {
    let containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
    let used = containers.flat_map(|container| {
        let mounts = container.volume_mounts.iter().map(|mount| mount.name.as_str());
        mounts.chain(container.volume_devices.iter().map(|device| device.name.as_str()))
    });
    let later =
        pod.spec.ephemeral_containers.iter().flat_map(|own| own.volume_mounts.iter().map(|mount| mount.name.as_str()));
    used.chain(later).collect()
}

/// Whether any of the pod's volumes refers to a claim, which has to be read from the API.
pub(crate) fn has_claims(pod: &Pod) -> bool {
    pod.spec.volumes.iter().any(|volume| plugin(volume) == Plugin::Claim)
}

/// Finds the specs of the volumes of a pod.
///
/// In Kubernetes: `DesiredStateOfWorldPopulator`.
pub(crate) async fn populate(
    client: &Client,
    drivers: &DriversStore,
    node: Option<&Node>,
    pod: &Pod,
    uid: &PodUid,
) -> PodVolumes {
    let expected = expected(pod);
    let mut found = PodVolumes::default();
    for volume in pod.spec.volumes.iter().filter(|volume| expected.contains(volume.name.as_str())) {
        let spec = match plugin(volume) {
            Plugin::Claim => claimed(client, drivers, node, pod, uid, volume).await,
            plugin => own(plugin, drivers, pod, uid, volume),
        };
        match spec {
            Ok(spec) => found.volumes.push((volume.name.clone(), Arc::new(spec))),
            Err(why) => found.failures.push((volume.name.clone(), why)),
        }
    }
    found
}

/// The spec of a volume that is defined in the pod itself.
fn own(plugin: Plugin, drivers: &DriversStore, pod: &Pod, uid: &PodUid, volume: &Volume) -> Result<VolumeSpec, String> {
    let name = volume.name.clone();
    let unique_name = |plugin: &str| UniqueName(format!("{plugin}/{uid}-{name}").into());
    match plugin {
        Plugin::Local(plugin) => Ok(VolumeSpec { unique_name: unique_name(plugin), name, source: VolumeSource::Local }),
        Plugin::Host(plugin) => Ok(VolumeSpec { unique_name: unique_name(plugin), name, source: VolumeSource::Host }),
        Plugin::Inline => {
            let driver = volume.csi.as_ref().map(|source| source.driver.clone()).unwrap_or_default();
            let service = drivers.get(&driver);
            let annotations = service.map(|service| service.volume_context(&pod.metadata.annotations));
            let driver = Driver { name: driver, annotations: annotations.unwrap_or_default() };
            Ok(VolumeSpec { unique_name: unique_name("kubernetes.io/csi"), name, source: VolumeSource::Inline(driver) })
        }
        Plugin::Absent(sort) => Err(format!("failed to mount volume {name:?}: {}", absent(sort))),
        Plugin::Claim => Err(format!("volume {name:?} has no claim")),
    }
}
