use std::sync::Arc;

use coracle_api::resource_v1::ResourceClaim;

use super::{SchedulerState, Surroundings};
use crate::cycle::Unfit;
use crate::devices::is_available;
use crate::pod_info::PodInfo;
use crate::preemption::{Victims, preempt_with};
use crate::profile::Profile;

/// How room is made for a pod.
#[derive(Clone, Debug, Default)]
pub struct Room {
    /// The victims, if preemption helps.
    pub victims: Option<Victims>,
    /// The claim to deallocate, so that the pod can run on another node.
    pub deallocated: Option<Arc<ResourceClaim>>,
}

impl SchedulerState {
    /// Looks for room for a pod that fits nowhere; if preemption finds no victims, the reason is added to the pod's
    /// message. In Kubernetes: `RunPostFilterPlugins`.
    pub(super) fn seek_room(
        &mut self,
        profile: &Arc<Profile>,
        info: &PodInfo,
        unfit: &mut Unfit,
        around: &impl Surroundings,
    ) -> Room {
        let mut room = Room::default();
        let by_claims = unfit.rejected_by.contains("DynamicResources");
        if unfit.error.pre_filter.is_some() && profile.deallocates && !by_claims {
            // In Kubernetes the plug-in that deallocates claims has no state for the pod here, and returns this
            // message.
            unfit.error.post_filter = Some("not found".to_owned());
            return room;
        }
        let mut said: Vec<String> = Vec::new();
        if profile.deallocates {
            room.deallocated = self.to_deallocate(info);
            let has_claims = unfit.error.pre_filter.is_none() && info.claims_devices();
            let says_nothing = profile.release.has("NoRemarkAboutMissingClaims");
            let what = match (has_claims, &room.deallocated) {
                (false, _) if says_nothing => None,
                (false, _) => Some("no new claims to deallocate"),
                (true, Some(_)) => Some("deallocation of ResourceClaim completed"),
                (true, None) => Some("still not schedulable"),
            };
            said.extend(what.map(str::to_owned));
        }
        if profile.preemption.is_some() {
            let snapshot = self.cache.snapshot();
            let budgets = around.budgets();
            let offsets = self.offsets.keyed(&[&info.key.namespace, &info.key.name]);
            match preempt_with(&mut self.memo, profile, info, snapshot, unfit, &budgets, &offsets) {
                Ok(victims) => {
                    if profile.release.has("PreemptionNamesItsNode") {
                        unfit.error.post_filter = Some(victims.sentence());
                    }
                    room.victims = Some(victims);
                    return room;
                }
                Err(why) => said.push(format!("preemption: {why}")),
            }
        }
        unfit.error.post_filter = Some(said.join(", ")).filter(|said| !said.is_empty());
        room
    }

    /// An allocated claim that is not available on every node, and that no other pod uses.
    fn to_deallocate(&self, info: &PodInfo) -> Option<Arc<ResourceClaim>> {
        let snapshot = self.cache.snapshot();
        let claims = snapshot.inventory().claims_of(info).ok()?;
        claims.into_iter().find(|claim| {
            let users = &claim.status.reserved_for;
            let is_own = users.iter().all(|who| who.uid == info.uid) && users.len() <= 1;
            is_own && snapshot.nodes().any(|node| !is_available(claim, node))
        })
    }
}
