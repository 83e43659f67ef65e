//! The library builds and works beside kube with the types of any version of Kubernetes that it knows.

use coracle::Cluster;
use coracle::prelude::*;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ListParams};

#[tokio::test(start_paused = true)]
async fn kube_lists_namespaces() {
    let cluster = Cluster::builder().api_server_only().start().await.unwrap();
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    let names: Vec<_> = namespaces.list(&ListParams::default()).await.unwrap().items;
    assert!(names.iter().any(|namespace| namespace.metadata.name.as_deref() == Some("default")));
}
