//! An operator deletes the claim of a terminating cluster by its name. The cluster is gone, and another is created
//! under the name, with a claim of its own. The operator restarts, reads an old state in which the first cluster is
//! terminating, and deletes the claim of the second.
//!
//! Found in: Percona MongoDB K8SPSMDB-430, zookeeper-operator#312, casskop#316.
//! The faults: `stale` of all that the restarted operator reads, as of the moment at which it cleaned up, and `kill` of
//! the operator when the second cluster has its claim.
//! The fix: the operator deletes the claim that the cluster owns, with its uid as a precondition.

use coracle::meta::Object;
use coracle::runtime::controller::Process;
use coracle::runtime::{Client, DeleteParams, Error, ListParams, Patch};
use coracle::simulation::faults::Fault;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{
    Bug, OPERATOR, SECOND, Searched, Trial, Twin, USER, check, first, is_owned_by, key, landed, lasting, object,
    objects, of_component, owned_by, restarted, when,
};

/// Looks at all clusters every five seconds, in any version.
async fn operate(client: Client, twin: Twin) {
    let any = ListParams { resource_version: Some("0".to_owned()), ..ListParams::default() };
    loop {
        if let Ok(list) = objects(&client, "Cluster").list(&any).await {
            for cluster in list.items {
                // It is tried again after the pause.
                let _ = reconcile(&client, &cluster, &any, twin).await;
            }
        }
        sleep(5 * SECOND).await;
    }
}

async fn reconcile(client: &Client, cluster: &Object, any: &ListParams, twin: Twin) -> Result<(), Error> {
    let claims = objects(client, "Claim");
    if !cluster.is_terminating() {
        let claim = owned_by(object("Claim", cluster.name(), json!({})), cluster);
        return claims.create(&claim).await.map(drop);
    }
    match twin {
        Twin::Buggy => match claims.delete(&cluster.key(), &DeleteParams::default()).await {
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        },
        Twin::Fixed => {
            for claim in claims.list(any).await?.items.iter().filter(|claim| is_owned_by(claim, cluster)) {
                claims.delete(&claim.key(), &DeleteParams::default().with_uid(claim.uid())).await?;
            }
        }
    }
    let free = json!({"metadata": {"uid": cluster.uid(), "finalizers": null}});
    objects(client, "Cluster").patch(&cluster.key(), &Patch::Merge(free)).await.map(drop)
}

fn cluster() -> Object {
    let mut cluster = object("Cluster", "orders", json!({}));
    cluster.set_finalizers(vec!["example.com/clean-up".to_owned()]);
    cluster
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["Cluster", "Claim"];
    const WRONG: &'static str = "the claim of the second cluster is gone";

    fn faults() -> Vec<Fault> {
        let stale = when(first(OPERATOR, "delete", "Claim"), restarted(OPERATOR, "stale"));
        vec![stale, lasting(1, when(landed(first(USER, "get", "Claim")), of_component(OPERATOR, "kill")))]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        trial.component(OPERATOR, move |client| operate(client, twin));
        trial.create(cluster()).await;
        sleep(10 * SECOND).await;
        trial.delete("Cluster", "orders").await;
        sleep(10 * SECOND).await;
        trial.create(cluster()).await;
        sleep(10 * SECOND).await;
        let claim = trial.of("Claim").get(&key("orders")).await.unwrap();
        sleep(20 * SECOND).await;
        let after = trial.find("Claim", "orders").await;
        check(after.is_some_and(|after| after.uid() == claim.uid()), Self::WRONG)
    }
}

impl Searched for Example {
    const SAMPLES: &'static [&'static str] =
        &["{apiVersion: example.com/v1, kind: Cluster, metadata: {name: orders, finalizers: [example.com/clean-up]}}"];

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        operate(process.client, twin)
    }
}
