mod auth;
mod cluster;
mod corked;
mod counts;
mod face;
mod follower;
mod health;
mod http;
mod kv;
mod lease;
mod maintenance;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use coracle_store::{Revision, Store};

pub use face::Face;

use crate::proto::etcdserverpb::ResponseHeader;

/// The settings of the server.
#[derive(Clone, Debug)]
pub struct FaceOptions {
    /// The name of the one member. In etcd: `--name`.
    pub name: String,
    /// The client URLs of the member. In etcd: `--advertise-client-urls`.
    pub client_urls: Vec<String>,
    /// How long a watch with progress notifications is idle before it is notified. In etcd:
    /// `--watch-progress-notify-interval`.
    pub progress_interval: Duration,
    /// The maximum size of a message from a client, in bytes.
    pub max_message_bytes: usize,
}

impl Default for FaceOptions {
    /// etcd's.
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            client_urls: vec!["http://localhost:2379".to_owned()],
            progress_interval: Duration::from_secs(600),
            max_message_bytes: 2 << 20,
        }
    }
}

/// The common state of all services.
#[derive(Clone)]
struct Shared {
    store: Arc<dyn Store>,
    options: Arc<FaceOptions>,
    counts: Arc<counts::Counts>,
}

/// A cluster of one member: clients only compare these numbers.
const CLUSTER_ID: u64 = 0xc04a_c1e0_0000_0001;
const MEMBER_ID: u64 = 0xc04a_c1e0_0000_0002;
/// The term in which an etcd of one member elects itself.
const RAFT_TERM: u64 = 2;

fn header(revision: Revision) -> ResponseHeader {
    ResponseHeader { cluster_id: CLUSTER_ID, member_id: MEMBER_ID, revision, raft_term: RAFT_TERM }
}

impl Shared {
    /// A response header at the newest revision.
    async fn current_header(&self) -> Result<ResponseHeader, tonic::Status> {
        let status = self.store.status().await.map_err(|error| crate::status::to_status(&error))?;
        Ok(header(status.revision))
    }
}
