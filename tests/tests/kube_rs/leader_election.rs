//! Leader election over a Lease, as operators on kube-rs write it: kube itself has none.

use std::time::Duration;

use coracle::Cluster;
use coracle::prelude::*;
use k8s_openapi::api::coordination::v1::Lease;
use kube::ResourceExt;
use kube::api::{Api, PostParams};
use serde_json::json;
use tokio::time::{Instant, sleep};

const TERM: Duration = Duration::from_secs(15);
const RETRY: Duration = Duration::from_secs(2);

/// Somebody who wants to lead. As in client-go, a term is counted from when a renewal was seen, by one's own clock.
struct Candidate {
    leases: Api<Lease>,
    name: String,
    began: Instant,
    seen: Option<(String, Instant)>,
}

impl Candidate {
    fn new(leases: &Api<Lease>, name: &str) -> Self {
        Self { leases: leases.clone(), name: name.to_owned(), began: Instant::now(), seen: None }
    }

    fn claim(&self, before: Option<&Lease>) -> Lease {
        let spec = before.and_then(|lease| lease.spec.clone()).unwrap_or_default();
        let changes =
            spec.lease_transitions.unwrap_or(0) + i32::from(spec.holder_identity.as_deref() != Some(&self.name));
        let now = format!("2026-01-01T00:00:00.{:06}Z", self.began.elapsed().as_millis());
        serde_json::from_value(json!({
            "metadata": {"name": "lead", "resourceVersion": before.and_then(ResourceExt::resource_version)},
            "spec": {
                "holderIdentity": self.name, "leaseDurationSeconds": TERM.as_secs(), "leaseTransitions": changes,
                "renewTime": now,
            },
        }))
        .unwrap()
    }

    /// Takes or renews the lease if nobody else holds it; whether that worked. Who loses a race leads not.
    async fn leads(&mut self) -> bool {
        let claimed = match self.leases.get_opt("lead").await.unwrap() {
            None => self.leases.create(&PostParams::default(), &self.claim(None)).await,
            Some(lease) if self.may_take(&lease) => {
                self.leases.replace("lead", &PostParams::default(), &self.claim(Some(&lease))).await
            }
            Some(_) => return false,
        };
        match claimed {
            Ok(_) => true,
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => false,
            Err(error) => panic!("{error}"),
        }
    }

    fn may_take(&mut self, lease: &Lease) -> bool {
        let version = lease.resource_version().unwrap();
        if self.seen.as_ref().is_none_or(|(seen, _)| *seen != version) {
            self.seen = Some((version, Instant::now()));
        }
        let is_ours = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()) == Some(&self.name);
        is_ours || self.seen.as_ref().is_some_and(|(_, at)| at.elapsed() > TERM)
    }
}

#[tokio::test(start_paused = true)]
async fn leadership_passes_from_a_candidate_that_stops_to_the_next() {
    let cluster = Cluster::builder().api_server_only().start().await.unwrap();
    let leases: Api<Lease> = Api::default_namespaced(cluster.client());
    let (mut first, mut second) = (Candidate::new(&leases, "first"), Candidate::new(&leases, "second"));
    assert!(first.leads().await);
    for _ in 0..20 {
        assert!(first.leads().await && !second.leads().await);
        sleep(RETRY).await;
    }
    let stopped = Instant::now();
    while !second.leads().await {
        sleep(RETRY).await;
    }
    assert!(stopped.elapsed() > TERM - RETRY && stopped.elapsed() < TERM + 2 * RETRY);
    assert!(!first.leads().await);
    let spec = leases.get("lead").await.unwrap().spec.unwrap();
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_transitions), (Some("second"), Some(2)));
}

#[tokio::test(start_paused = true)]
async fn of_many_candidates_at_once_one_leads() {
    let cluster = Cluster::builder().api_server_only().start().await.unwrap();
    let leases: Api<Lease> = Api::default_namespaced(cluster.client());
    for term in 0..3 {
        let name = |number: usize| format!("{number} of term {term}");
        let mut candidates: Vec<_> = (0..8).map(|number| Candidate::new(&leases, &name(number))).collect();
        for candidate in &mut candidates {
            // All see the lease of the term before, and wait it out.
            assert!(term == 0 || !candidate.leads().await);
        }
        sleep(TERM + RETRY).await;
        let claims = candidates.into_iter().map(|mut candidate| tokio::spawn(async move { candidate.leads().await }));
        let mut leading = 0;
        for claim in claims.collect::<Vec<_>>() {
            leading += usize::from(claim.await.unwrap());
        }
        assert_eq!(leading, 1, "term {term}");
    }
}
