//! One stream of the Watch service: many watches, which the client creates and cancels with messages.
//!
//! ```text
//! client --create, cancel, progress--> WatchStream --a Follower for each watch--> Watcher (the store's cursor)
//!        <--created, events, progress, canceled--
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;

use async_trait::async_trait;
use bytes::Bytes;
use coracle_store::{Revision, WatchRequest};
use futures_util::future::{Either, select};
use futures_util::stream::{self, BoxStream, SelectAll, StreamExt};
use tokio::sync::mpsc;
use tonic::{Request, Response, Status, Streaming};

use super::follower::{Follower, FollowerMessage};
use super::{Shared, header};
use crate::convert::key_range;
use crate::proto::etcdserverpb::{self as pb, watch_request::RequestUnion, watch_server::Watch};
use crate::status::to_status;

/// The id of responses that concern no single watch. In Kubernetes: etcd's `clientv3.InvalidWatchID`.
const NO_WATCH: i64 = -1;

#[async_trait]
impl Watch for Shared {
    type WatchStream = BoxStream<'static, Result<pb::WatchResponse, Status>>;

    async fn watch(
        &self,
        request: Request<Streaming<pb::WatchRequest>>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let state = WatchStream {
            shared: self.clone(),
            requests: request.into_inner(),
            followers: SelectAll::new(),
            commands: BTreeMap::new(),
            next_id: 0,
            delivered: 0,
            round: None,
            rounds: 0,
        };
        let responses = stream::try_unfold(state, |mut state| async move {
            let response = state.next().await?;
            Ok(response.map(|response| (response, state)))
        });
        Ok(Response::new(Box::pin(responses)))
    }
}

struct WatchStream {
    shared: Shared,
    requests: Streaming<pb::WatchRequest>,
    followers: SelectAll<BoxStream<'static, FollowerMessage>>,
    /// Sends progress requests to a follower, with the number of the round; dropping the sender cancels the watch.
    commands: BTreeMap<i64, mpsc::UnboundedSender<u64>>,
    next_id: i64,
    /// The newest revision whose events were sent.
    delivered: Revision,
    round: Option<Round>,
    rounds: u64,
}

/// A progress request that the followers are answering.
struct Round {
    number: u64,
    waiting: BTreeSet<i64>,
    /// The lowest position of all followers that have answered; `None` if one of them starts at a future revision.
    least: Option<Revision>,
}

enum Happened {
    Request(Option<pb::WatchRequest>),
    Message(FollowerMessage),
}

impl WatchStream {
    /// The next message to the client; `None` when the client has closed the stream.
    async fn next(&mut self) -> Result<Option<pb::WatchResponse>, Status> {
        loop {
            let response = match self.happened().await? {
                Happened::Request(None) => return Ok(None),
                Happened::Request(Some(request)) => match request.request_union {
                    Some(RequestUnion::CreateRequest(request)) => Some(self.create(request).await?),
                    Some(RequestUnion::CancelRequest(request)) => {
                        self.commands.remove(&request.watch_id);
                        None
                    }
                    Some(RequestUnion::ProgressRequest(_)) => self.ask_progress().await?,
                    None => None,
                },
                Happened::Message(message) => self.message(message),
            };
            if response.is_some() {
                return Ok(response);
            }
        }
    }

    async fn happened(&mut self) -> Result<Happened, Status> {
        // The client's messages first, so that a watch can be cancelled however many events it has.
        match select(pin!(self.requests.message()), self.followers.next()).await {
            Either::Left((request, _)) => Ok(Happened::Request(request?)),
            Either::Right((Some(message), _)) => Ok(Happened::Message(message)),
            Either::Right((None, request)) => Ok(Happened::Request(request.await?)),
        }
    }

    fn message(&mut self, message: FollowerMessage) -> Option<pb::WatchResponse> {
        match message {
            FollowerMessage::Events(response) => {
                self.delivered = self.delivered.max(crate::convert::revision(response.header.as_ref()));
                Some(response)
            }
            FollowerMessage::Idle(response) => Some(response),
            FollowerMessage::Ended(response) => {
                self.commands.remove(&response.watch_id);
                let id = response.watch_id;
                if let Some(round) = &mut self.round {
                    round.waiting.remove(&id);
                }
                Some(response)
            }
            FollowerMessage::Progress { id, round: number, revision } => {
                let round = self.round.as_mut().filter(|round| round.number == number)?;
                round.waiting.remove(&id);
                round.least = round.least.zip(revision).map(|(least, revision)| least.min(revision));
                if !round.waiting.is_empty() {
                    return None;
                }
                // A client takes progress as the position of all its watches, so it must not be behind any of them.
                let least = self.round.take()?.least.filter(|least| *least >= self.delivered)?;
                Some(pb::WatchResponse { header: Some(header(least)), watch_id: NO_WATCH, ..Default::default() })
            }
        }
    }

    async fn create(&mut self, request: pb::WatchCreateRequest) -> Result<pb::WatchResponse, Status> {
        let status = self.shared.store.status().await.map_err(|error| to_status(&error))?;
        let created = pb::WatchResponse { header: Some(header(status.revision)), created: true, ..Default::default() };
        let id = match self.choose_id(&request) {
            Ok(id) => id,
            Err(reason) => {
                let cancel_reason = reason.to_owned();
                return Ok(pb::WatchResponse { watch_id: NO_WATCH, canceled: true, cancel_reason, ..created });
            }
        };
        // Pinned to the revision in the response, so that no change between the two is missed.
        let start = if request.start_revision == 0 { status.revision + 1 } else { request.start_revision };
        let range = key_range(first_key(request.key), request.range_end);
        let wanted = WatchRequest { range, start_revision: start, prev_kv: request.prev_kv };
        let watcher = self.shared.store.watch(wanted).await.map_err(|error| to_status(&error))?;
        let (command, commands) = mpsc::unbounded_channel();
        let interval = request.progress_notify.then_some(self.shared.options.progress_interval);
        let limit = self.shared.options.max_message_bytes;
        let follower = Follower::new(id, watcher, start, commands, &request.filters, interval)
            .in_fragments(request.fragment.then_some(limit));
        self.followers.push(follower.follow());
        self.commands.insert(id, command);
        Ok(pb::WatchResponse { watch_id: id, ..created })
    }

    fn choose_id(&mut self, request: &pb::WatchCreateRequest) -> Result<i64, &'static str> {
        let end = &request.range_end[..];
        if !end.is_empty() && end != [0] && first_key(request.key.clone())[..] >= *end {
            return Err("mvcc: watcher range is empty");
        }
        if request.start_revision < 0 {
            return Err("etcdserver: mvcc: required revision has been compacted");
        }
        if request.watch_id != 0 {
            let taken = self.commands.contains_key(&request.watch_id);
            return if taken {
                Err("mvcc: duplicate watch ID provided on the WatchStream")
            } else {
                Ok(request.watch_id)
            };
        }
        while self.commands.contains_key(&self.next_id) {
            self.next_id += 1;
        }
        self.next_id += 1;
        Ok(self.next_id - 1)
    }

    /// Sends a progress request to every follower. It is answered with one message when all have answered, or not at
    /// all: clients repeat the request.
    async fn ask_progress(&mut self) -> Result<Option<pb::WatchResponse>, Status> {
        if self.commands.is_empty() {
            let header = Some(self.shared.current_header().await?);
            return Ok(Some(pb::WatchResponse { header, watch_id: NO_WATCH, ..Default::default() }));
        }
        self.rounds += 1;
        let waiting = self.commands.iter().filter(|(_, command)| command.send(self.rounds).is_ok());
        let waiting = waiting.map(|(id, _)| *id).collect();
        self.round = Some(Round { number: self.rounds, waiting, least: Some(Revision::MAX) });
        Ok(None)
    }
}

/// etcd treats an empty key as the smallest one.
fn first_key(key: Bytes) -> Bytes {
    if key.is_empty() { Bytes::from_static(&[0]) } else { key }
}
