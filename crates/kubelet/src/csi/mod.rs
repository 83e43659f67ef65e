//! A simulated CSI driver, `sim.csi.coracle.dev`: no bytes are stored, and everybody sees what a driver would do.
//!
//! ```text
//! claim --provisioner--> PersistentVolume --(binder, scheduler)--> pod --(attach-detach)--> VolumeAttachment
//!                             \--deleter: it is released               attacher: attached, let go --/
//! claim wants more --resizer--> PersistentVolume grows --> the node grows the file system (`volumes`)
//! ```
//! A role is a file, as each is a program of its own beside a real driver; all are clients of the API and of nothing else.
//! [`Behaviour`] says by annotations of classes, claims and volumes what fails, hangs and takes its time. [`manifests`] are
//! the objects that a person would apply to install the driver; `registration` is what its part on each node says.
//! In Kubernetes: external-provisioner, external-attacher and external-resizer of `kubernetes-csi`.
//! Not here: what nodes do with volumes (`volumes`), who asks for attachment (`controllers`).

mod attacher;
mod attachment;
mod behaviour;
mod calls;
mod deleter;
mod growth;
mod manifests;
mod provisioner;
mod registration;
mod resizer;
mod topology;

use std::future::Future;
use std::pin::pin;

use coracle_ambient::Ambient;
use coracle_client::Client;
use coracle_controller_runtime::Process;
use coracle_journal::Recorder;
use coracle_meta::KUBERNETES_VERSION;
use futures_util::future::{BoxFuture, join_all, select};

pub(crate) use behaviour::failure;
pub use behaviour::{Behaviour, Call, Outcome, Unreadable};
pub use manifests::{ACCOUNT, NAMESPACE, manifests};
pub(crate) use registration::register;

/// What the driver is called.
pub const DRIVER: &str = "sim.csi.coracle.dev";

/// What the driver consists of beside its part on the nodes. Adding a role is a file and a line here.
const ROLES: &[fn(&Process) -> BoxFuture<'static, ()>] =
    &[provisioner::start, deleter::start, attacher::start, resizer::start];

/// Runs the driver's controllers until `shutdown`, or until it is dropped. They need the rights of [`manifests`].
pub async fn run(client: Client, ambient: Ambient, recorder: Recorder, shutdown: impl Future<Output = ()> + Send) {
    let client = client.with_user_agent(&format!("csi-sim/{KUBERNETES_VERSION}"));
    let process = Process::new("csi-driver", &client, &ambient, &recorder);
    let roles: Vec<_> = ROLES.iter().map(|start| start(&process)).collect();
    let work = async { tokio::join!(biased; process.run(), join_all(roles)) };
    // Looks at the left one first, always.
    select(pin!(shutdown), pin!(work)).await;
}
