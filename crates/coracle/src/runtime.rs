//! The building blocks of controllers, as in client-go: informers, work queues, reconcilers, and the client.
//!
//! Start at [`controller::Controller`]; [`controller::lead`] elects one of several replicas of a program. A finalizer
//! needs no special support:
//!
//! ```
//! use coracle::api::core_v1::ConfigMap;
//! use coracle::meta::ObjectKey;
//! use coracle::runtime::controller::{Action, Pass, ReconcileError, Reconciler};
//! use coracle::runtime::{Api, DeleteParams};
//!
//! const FINALIZER: &str = "example.com/bucket";
//!
//! struct Buckets;
//!
//! impl Reconciler for Buckets {
//!     async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
//!         let maps = pass.api::<ConfigMap>();
//!         let Some(mut map) = maps.find(key).await? else { return Ok(Action::Done) };
//!         let is_mine = map.metadata.finalizers.iter().any(|name| name == FINALIZER);
//!         if map.metadata.is_terminating() && is_mine {
//!             // Here the bucket is removed; the object waits for it.
//!             map.metadata.finalizers.retain(|name| name != FINALIZER);
//!             maps.update(&map).await?;
//!         } else if !map.metadata.is_terminating() && !is_mine {
//!             map.metadata.finalizers.push(FINALIZER.to_owned());
//!             maps.update(&map).await?;
//!         }
//!         Ok(Action::Done)
//!     }
//! }
//!
//! coracle::run_virtual(1, async |cluster| {
//!     let pass = Pass::new(cluster.api_client(), None);
//!     let maps = Api::<ConfigMap>::of(&cluster.api_client());
//!     let key = ObjectKey::new("default", "logs");
//!     let map = serde_json::json!({"metadata": {"namespace": "default", "name": "logs"}});
//!     maps.create(&serde_json::from_value(map).unwrap()).await.unwrap();
//!     Buckets.reconcile(&pass, &key).await.unwrap();
//!     maps.delete(&key, &DeleteParams::default()).await.unwrap();
//!     assert!(maps.get(&key).await.unwrap().metadata.is_terminating(), "it waits");
//!     Buckets.reconcile(&pass, &key).await.unwrap();
//!     assert!(maps.find(&key).await.unwrap().is_none());
//! })
//! .unwrap();
//! ```

pub use coracle_client::*;
pub use coracle_controller_runtime as controller;
pub use coracle_informer as informer;
pub use coracle_workqueue as workqueue;
