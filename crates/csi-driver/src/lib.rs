//! A simulated CSI driver, `sim.csi.coracle.dev`: it stores no bytes, and makes the API objects that a driver would
//! make.
//!
//! ```text
//! claim --provisioner--> PersistentVolume --(binder, scheduler)--> pod --(attach-detach)--> VolumeAttachment
//!                             \--deleter: it is released               attacher: attached, let go --/
//! claim wants more --resizer--> PersistentVolume grows --> the node grows the file system
//! ```
//! Each role has a file of its own, because a real driver runs each as a sidecar program; all are clients of the API
//! only. Annotations of classes, claims and volumes make calls fail, hang or take time: see [`Behaviour`].
//! [`manifests`] returns the objects that install the driver. [`CsiNodeService`] is the driver's part on each node; it
//! shares a name and annotations with the controllers, but no state.
//!
//! In Kubernetes: external-provisioner, external-attacher and external-resizer of `kubernetes-csi`.
//!
//! Not here: what nodes do with volumes (`volume-manager`), which controller requests attachment (`controllers`).

mod attacher;
mod attachment;
mod behaviour;
mod calls;
mod deleter;
mod growth;
mod manifests;
mod node_service;
mod provisioner;
mod resizer;
mod topology;

use std::future::Future;
use std::pin::pin;

use coracle_ambient::Ambient;
use coracle_client::Client;
use coracle_controller_runtime::Process;
use coracle_journal::Recorder;
use futures_util::future::{BoxFuture, join_all, select};

pub use behaviour::{Behaviour, CsiCall, CsiOutcome, Unreadable};
pub use manifests::{ACCOUNT, NAMESPACE, manifests};
pub use node_service::CsiNodeService;

/// The name of the driver.
pub const DRIVER: &str = "sim.csi.coracle.dev";

/// The roles of the driver, without its part on the nodes. To add a role, add a file and a line here.
const ROLES: &[fn(&Process) -> BoxFuture<'static, ()>] =
    &[provisioner::start, deleter::start, attacher::start, resizer::start];

/// Runs the driver's controllers until `shutdown`, or until the future is dropped. They need the permissions in
/// [`manifests`].
pub async fn run(client: Client, ambient: Ambient, recorder: Recorder, shutdown: impl Future<Output = ()> + Send) {
    let client = client.with_user_agent(&format!("csi-sim/v{}", env!("CARGO_PKG_VERSION")));
    let process = Process::new("csi-driver", &client, &ambient, &recorder);
    let roles: Vec<_> = ROLES.iter().map(|start| start(&process)).collect();
    let work = async { tokio::join!(biased; process.run(), join_all(roles)) };
    // `select` polls the left future first, always.
    select(pin!(shutdown), pin!(work)).await;
}
