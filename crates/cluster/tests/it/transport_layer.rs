//! A transport layer gets the requests of all senders.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::{Cluster, Component, Instance, Requester, RequesterKind, Transport, User, boxed};
use http::Request;
use http_body_util::Empty;
use parking_lot::Mutex;
use tokio::time::sleep;

async fn read_version(transport: &Transport) {
    transport.send(Request::get("/version").body(boxed(Empty::new())).unwrap()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn all_that_send_requests_pass_the_layer_and_are_named() {
    type Seen = Arc<Mutex<BTreeMap<String, (RequesterKind, String, Instance)>>>;
    let seen = Seen::default();
    let layer = {
        let seen = Arc::clone(&seen);
        move |requester: &Requester, transport: Transport| {
            let (seen, requester) = (Arc::clone(&seen), requester.clone());
            Transport::to(tower::service_fn(move |request: Request<_>| {
                let (seen, requester, transport) = (Arc::clone(&seen), requester.clone(), transport.clone());
                async move {
                    let request = requester.identify(request).await;
                    let user = request.extensions().get::<User>().map(|user| user.name.clone()).unwrap_or_default();
                    seen.lock().insert(requester.name.to_string(), (requester.kind, user, requester.instance));
                    transport.send(request).await
                }
            }))
        }
    };
    let cluster =
        Cluster::builder().nodes(1).csi_driver().transport_layer_for_all(Arc::new(layer)).start().await.unwrap();
    read_version(&cluster.service()).await;
    read_version(&cluster.front_door()).await;
    sleep(Duration::from_secs(30)).await;
    let met = seen.lock().clone();
    for (name, kind, user) in [
        ("controller-manager", RequesterKind::Component, "system:"),
        ("scheduler", RequesterKind::Component, "system:kube-scheduler"),
        ("kubelet", RequesterKind::Component, "system:coracle:simulated-nodes"),
        ("kubelet/node-1", RequesterKind::Component, "system:node:node-1"),
        ("csi-driver", RequesterKind::Component, "system:serviceaccount:"),
        ("kubernetes-admin", RequesterKind::User, "kubernetes-admin"),
        (Requester::CONNECTIONS, RequesterKind::Connections, "system:anonymous"),
    ] {
        let (known, seen, _) = &met[name];
        assert!(*known == kind && seen.starts_with(user), "{name}: {known:?} {seen}");
    }
    let first = met["scheduler"].2.clone();
    assert!(!first.has_ended());
    cluster.kill_component(Component::Scheduler);
    assert!(first.has_ended());
    cluster.start_component(Component::Scheduler);
    sleep(Duration::from_secs(1)).await;
    let second = seen.lock()["scheduler"].2.clone();
    assert_eq!(second.number(), first.number() + 1);
    assert!(!second.has_ended());
    let node = met["kubelet/node-1"].2.clone();
    cluster.stop_component(Component::Kubelet).await;
    assert!(node.has_ended());
    cluster.shutdown().await;
}
