use std::collections::BTreeSet;

use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{JsonKey, Object, Status};
use coracle_registry::{Admission, Operation, Review};

use crate::refusal::forbidden;

/// `DenyServiceExternalIPs`: a Service cannot add external IPs.
pub(crate) struct DenyServiceExternalIPs;

#[async_trait]
impl Admission for DenyServiceExternalIPs {
    fn name(&self) -> &'static str {
        "DenyServiceExternalIPs"
    }

    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        let is_new = review.object().is_some_and(|service| has_new_address(service, review.old));
        if review.is_about("", "services") && is_new {
            return Err(forbidden(review, "Use of external IPs is denied by admission control"));
        }
        Ok(())
    }
}

fn has_new_address(service: &Object, old: Option<&Object>) -> bool {
    let before: BTreeSet<_> = old.map_or(&[][..], |old| old.list("spec.externalIPs")).iter().map(JsonKey).collect();
    service.list("spec.externalIPs").iter().any(|address| !before.contains(&JsonKey(address)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_service_can_keep_its_existing_external_ips() {
        let service = |addresses: &[&str]| Object::from_value(json!({"spec": {"externalIPs": addresses}})).unwrap();
        let old = service(&["1.1.1.1", "2.2.2.2"]);
        assert!(has_new_address(&service(&["1.1.1.1"]), None));
        assert!(!has_new_address(&service(&["2.2.2.2"]), Some(&old)));
        assert!(has_new_address(&service(&["3.3.3.3"]), Some(&old)));
        assert!(!has_new_address(&service(&[]), None));
    }
}
