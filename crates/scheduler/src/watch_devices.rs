//! Informer handlers for devices: ResourceSlices, DeviceClasses, DeviceTaintRules and ResourceClaims.

use std::sync::Arc;

use coracle_api::resource_v1::{DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice};
use coracle_informer::{InformerFactory, Notification};
use coracle_meta::Resource;
use coracle_release::Release;
use tokio::time::Instant;

use crate::framework::ClusterEvent;
use crate::watch::Shared;

/// Registers the scheduler's handlers.
pub(crate) fn watch_devices(informers: &InformerFactory, shared: &Arc<Shared>, release: &Release) {
    if release.enabled("DRADeviceTaintRules") {
        watch_taint_rules(informers, shared.clone());
    }
    let (slices, classes, claims) = (shared.clone(), shared.clone(), shared.clone());
    informers.informer::<ResourceSlice>().add_handler("scheduler", move |notification, _| {
        let (slice, gone) = (notification.object(), matches!(notification, Notification::Deleted { .. }));
        slices.lock().inventory_mut().set_slice(&slice.key().name, (!gone).then(|| slice.clone()));
        if !gone {
            slices.happened(&ClusterEvent::ResourceSlice);
        }
    });
    informers.informer::<DeviceClass>().add_handler("scheduler", move |notification, _| {
        let (class, gone) = (notification.object(), matches!(notification, Notification::Deleted { .. }));
        classes.lock().inventory_mut().set_class(&class.key().name, (!gone).then(|| class.clone()));
        if !gone {
            classes.happened(&ClusterEvent::DeviceClass);
        }
    });
    informers.informer::<ResourceClaim>().add_handler("scheduler", move |notification, _| {
        let claim = notification.object();
        let gone = matches!(notification, Notification::Deleted { .. });
        let old = notification.old().map(AsRef::as_ref);
        claims.lock().resource_claim(old, claim, gone, Instant::now());
        claims.changed.notify_one();
    });
}

fn watch_taint_rules(informers: &InformerFactory, shared: Arc<Shared>) {
    informers.informer::<DeviceTaintRule>().add_handler("scheduler", move |notification, _| {
        let rule = notification.object();
        let gone = matches!(notification, Notification::Deleted { .. });
        if notification.old().is_some_and(|old| old.spec == rule.spec) {
            return;
        }
        shared.lock().inventory_mut().set_taint_rule(&rule.key().name, (!gone).then(|| rule.clone()));
        // In Kubernetes, too, a changed rule is a change of the slices that it selects.
        shared.happened(&ClusterEvent::ResourceSlice);
    });
}
