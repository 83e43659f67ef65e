//! Serves a snapshot of the running cluster: a path of its API, for members of `system:masters`.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use anyhow::{Context, Result};
use bytes::Bytes;
use coracle_cluster::{Body, Cluster, Kubelet, PathRequest, PathService, Transport};
use coracle_meta::Status;
use coracle_store::{Store, disk};
use futures_util::stream;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{Method, Response};
use http_body::Frame;
use http_body_util::StreamBody;

use crate::control_path::only_masters;
use crate::snapshot;
use crate::state::StateFolder;

/// The path.
pub(crate) const PATH: &str = "/coracle/snapshot";
/// The size of a chunk of the file.
const CHUNK: usize = 1 << 16;

/// The source of a snapshot of a running cluster.
#[derive(Clone)]
pub(crate) struct SnapshotApi {
    folder: StateFolder,
    store: Arc<dyn Store>,
    kubelet: Kubelet,
    /// Only one snapshot at a time, because they use the same file names.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl SnapshotApi {
    /// The API of a cluster with this path in addition: the API server authorizes its requests.
    pub(crate) fn in_front_of(cluster: &Cluster, folder: &StateFolder) -> Transport {
        let front = cluster.front_door();
        let api = Self {
            folder: folder.clone(),
            store: cluster.store(),
            kubelet: cluster.kubelet().clone(),
            turn: Arc::default(),
        };
        let service = PathService::new(move |asked| {
            let api = api.clone();
            async move { api.answer(&asked).await }
        });
        coracle_control::in_front_of(front, |path| path == PATH, service)
    }

    async fn answer(&self, asked: &PathRequest) -> Result<Response<Body>, Status> {
        only_masters(asked, "get", PATH)?;
        if asked.method != Method::GET {
            return Err(Status::failure(405, "MethodNotAllowed", "a snapshot can only be got"));
        }
        let unmade = |error: anyhow::Error| Status::failure(500, "InternalError", format!("{error:#}"));
        self.take().await.and_then(sent).map_err(unmade)
    }

    /// The store first, then the nodes: a node's state is then never older than the API's view of it.
    async fn take(&self) -> Result<File> {
        let _turn = self.turn.lock().await;
        let live = disk::LiveData::read(&*self.store).await?;
        let (folder, nodes) = (self.folder.clone(), self.kubelet.save());
        #[expect(clippy::disallowed_methods, reason = "a disk is written, in real time")]
        let written = tokio::task::spawn_blocking(move || snapshot::save_running(&folder, &live, &nodes));
        written.await.context("the snapshot was not written to its end")?
    }
}

/// Sends the file in chunks.
fn sent(file: File) -> Result<Response<Body>> {
    let length = file.metadata()?.len();
    let pieces = stream::unfold(Some(file), |file| async move {
        let mut file = file?;
        let mut piece = vec![0; CHUNK];
        match file.read(&mut piece) {
            Ok(0) => None,
            Ok(read) => {
                piece.truncate(read);
                Some((Ok(Frame::data(Bytes::from(piece))), Some(file)))
            }
            Err(error) => Some((Err(error), None)),
        }
    });
    let answer = Response::builder().header(CONTENT_TYPE, "application/gzip").header(CONTENT_LENGTH, length);
    Ok(answer.body(Body::new(StreamBody::new(pieces)))?)
}
