use std::time::Duration;

use async_trait::async_trait;
use coracle_store::{Error, Event, Revision, WatchBatch, WatchRequest, Watcher};
use futures_util::stream;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tonic::metadata::MetadataValue;
use tonic::{Code, Request, Status, Streaming};

use super::members::Members;
use crate::convert;
use crate::proto::etcdserverpb::watch_client::WatchClient;
use crate::proto::etcdserverpb::watch_request::RequestUnion;
use crate::proto::etcdserverpb::{self as pb};
use crate::status::from_status;

/// The delay before a broken watch is reopened.
const RESUME_PAUSE: Duration = Duration::from_millis(100);
/// The timeout of a progress request: the server does not answer while another watch lags.
const PROGRESS_PATIENCE: Duration = Duration::from_millis(500);

/// A remote watch on a stream of its own. A broken stream is reopened one revision after the last one that was
/// returned, without gaps or duplicates.
pub(super) struct RemoteWatcher {
    client: WatchClient<Members>,
    request: WatchRequest,
    /// The first revision that has not been returned.
    next: Revision,
    knows_progress: bool,
    stream: Option<Open>,
    /// Events of a response whose other fragments have not arrived yet.
    fragments: Vec<Event>,
    /// A batch that arrived during a progress request.
    early: Option<WatchBatch>,
}

struct Open {
    /// Keeps the stream open; sends progress requests.
    requests: mpsc::UnboundedSender<pb::WatchRequest>,
    responses: Streaming<pb::WatchResponse>,
}

/// The meaning of a message from the server.
enum Received {
    Batch(WatchBatch),
    Progress(Revision),
    Nothing,
}

impl RemoteWatcher {
    /// Opens the watch; returns when the server has confirmed it, so that no later write is missed.
    pub(super) async fn open(
        client: WatchClient<Members>,
        knows_progress: bool,
        request: WatchRequest,
    ) -> Result<Self, Error> {
        let next = request.start_revision;
        let (stream, fragments, early) = (None, Vec::new(), None);
        let mut watcher = Self { client, request, next, knows_progress, stream, fragments, early };
        watcher.reopen().await.map_err(|status| from_status(&status))?;
        Ok(watcher)
    }

    async fn reopen(&mut self) -> Result<(), Status> {
        self.stream = None;
        self.fragments.clear();
        let (requests, mut receiver) = mpsc::unbounded_channel();
        let create = pb::WatchCreateRequest {
            key: self.request.range.start.clone(),
            range_end: self.request.range.end.clone(),
            start_revision: self.next,
            progress_notify: true,
            prev_kv: self.request.prev_kv,
            fragment: true,
            ..Default::default()
        };
        send(&requests, RequestUnion::CreateRequest(create));
        let mut request = Request::new(stream::poll_fn(move |context| receiver.poll_recv(context)));
        // A member that has lost its leader ends the stream, instead of keeping it open without events.
        request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
        let mut responses = self.client.watch(request).await?.into_inner();
        let created = responses.message().await?.ok_or_else(|| Status::unavailable("the watch was closed"))?;
        if created.canceled && created.compact_revision == 0 {
            return Err(Status::unavailable(format!("the watch was refused: {}", created.cancel_reason)));
        }
        if self.next == 0 {
            self.next = convert::revision(created.header.as_ref()) + 1;
        }
        self.stream = Some(Open { requests, responses });
        Ok(())
    }

    /// Waits for a relevant message, and reopens broken streams.
    async fn receive(&mut self) -> Result<Received, Error> {
        loop {
            let Some(open) = &mut self.stream else {
                match self.reopen().await {
                    Ok(()) => continue,
                    Err(status) if may_pass(&status) => sleep(RESUME_PAUSE).await,
                    Err(status) => return Err(from_status(&status)),
                }
                continue;
            };
            match open.responses.message().await {
                Ok(Some(response)) => match self.take(response)? {
                    Received::Nothing => {}
                    received => return Ok(received),
                },
                Ok(None) => self.stream = None,
                Err(status) if may_pass(&status) => self.stream = None,
                Err(status) => return Err(from_status(&status)),
            }
        }
    }

    fn take(&mut self, response: pb::WatchResponse) -> Result<Received, Error> {
        if response.compact_revision > 0 {
            return Err(Error::Compacted { compacted: response.compact_revision });
        }
        if response.canceled {
            // The server ended the stream; if the problem persists, the next attempt returns its error.
            self.stream = None;
            return Ok(Received::Nothing);
        }
        let revision = convert::revision(response.header.as_ref());
        if response.events.is_empty() && self.fragments.is_empty() {
            return Ok(if response.created { Received::Nothing } else { Received::Progress(revision) });
        }
        self.fragments.extend(response.events.iter().map(convert::event));
        if response.fragment {
            return Ok(Received::Nothing);
        }
        let events = std::mem::take(&mut self.fragments);
        // The header may contain a revision whose events are still to come, so the events determine the position.
        let revision = events.last().map_or(0, |event| event.kv.mod_revision);
        Ok(Received::Batch(WatchBatch { revision, events }))
    }

    fn advance(&mut self, revision: Revision) {
        self.next = self.next.max(revision + 1);
    }
}

#[async_trait]
impl Watcher for RemoteWatcher {
    async fn next(&mut self) -> Result<WatchBatch, Error> {
        if let Some(batch) = self.early.take() {
            self.advance(batch.revision);
            return Ok(batch);
        }
        loop {
            match self.receive().await? {
                Received::Batch(batch) => {
                    self.advance(batch.revision);
                    return Ok(batch);
                }
                Received::Progress(revision) if revision >= self.next => {
                    self.advance(revision);
                    return Ok(WatchBatch { revision, events: Vec::new() });
                }
                Received::Progress(_) | Received::Nothing => {}
            }
        }
    }

    async fn progress(&mut self) -> Result<Revision, Error> {
        if self.early.is_some() || !self.knows_progress {
            return Ok(self.next - 1);
        }
        if let Some(open) = &self.stream {
            send(&open.requests, RequestUnion::ProgressRequest(pb::WatchProgressRequest {}));
        }
        match timeout(PROGRESS_PATIENCE, self.receive()).await {
            Ok(Ok(Received::Progress(revision))) => self.advance(revision),
            Ok(Ok(Received::Batch(batch))) => self.early = Some(batch),
            Ok(Ok(Received::Nothing)) | Err(_) => {}
            Ok(Err(error)) => return Err(error),
        }
        Ok(self.next - 1)
    }
}

fn send(requests: &mpsc::UnboundedSender<pb::WatchRequest>, union: RequestUnion) {
    // If the stream is broken, the next read reports it.
    let _ = requests.send(pb::WatchRequest { request_union: Some(union) });
}

/// Whether a broken stream should be reopened.
fn may_pass(status: &Status) -> bool {
    !matches!(
        status.code(),
        Code::Unauthenticated | Code::PermissionDenied | Code::Unimplemented | Code::InvalidArgument
    )
}
