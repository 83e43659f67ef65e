use std::time::Duration;

use async_trait::async_trait;
use coracle_store::{Error, RangeResponse, RangeStream};
use parking_lot::Mutex;
use tokio::time::Instant;
use tonic::Streaming;

use super::members::Members;
use super::read;
use crate::convert;
use crate::proto::etcdserverpb::kv_client::KvClient;
use crate::proto::etcdserverpb::{self as pb};
use crate::status::from_status;

/// How long an etcd that does not implement streams is not asked for one: it may be upgraded meanwhile.
/// In Kubernetes: `rangeStreamRecheckInterval`.
const RECHECK: Duration = Duration::from_secs(600);

/// Whether the etcd implements `RangeStream`: yes, until it answers that it does not. Its version is not asked.
/// In Kubernetes: `feature.FeatureSupportChecker`, one for the whole process.
#[derive(Default)]
pub(super) struct StreamSupport {
    unimplemented_at: Mutex<Option<Instant>>,
}

impl StreamSupport {
    fn is_assumed(&self) -> bool {
        self.unimplemented_at.lock().is_none_or(|at| at.elapsed() >= RECHECK)
    }

    fn deny(&self) {
        *self.unimplemented_at.lock() = Some(Instant::now());
    }
}

/// A stream of a range of an etcd.
pub(super) struct RemoteRangeStream {
    parts: Streaming<pb::RangeStreamResponse>,
    /// The first part, until it is returned.
    first: Option<pb::RangeStreamResponse>,
}

impl RemoteRangeStream {
    /// Opens a stream; `None` if the etcd does not implement streams. Opening is retried like a read until the first
    /// part arrives. Later, an error ends the stream.
    pub(super) async fn open(
        kv: KvClient<Members>,
        support: &StreamSupport,
        request: pb::RangeRequest,
    ) -> Result<Option<Self>, Error> {
        if !support.is_assumed() {
            return Ok(None);
        }
        let opened = read(kv, request, |mut kv, request| async move {
            let mut parts = kv.range_stream(request).await?.into_inner();
            let first = parts.message().await?;
            Ok(Self { parts, first })
        });
        match opened.await {
            Ok(stream) => Ok(Some(stream)),
            Err(Error::Unsupported(_)) => {
                support.deny();
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

#[async_trait]
impl RangeStream for RemoteRangeStream {
    async fn next(&mut self) -> Result<Option<RangeResponse>, Error> {
        let part = match self.first.take() {
            Some(first) => Some(first),
            None => self.parts.message().await.map_err(|status| from_status(&status))?,
        };
        Ok(part.map(|part| convert::range_response(&part.range_response.unwrap_or_default())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_etcd_without_streams_is_asked_for_one_again_after_ten_minutes() {
        let support = StreamSupport::default();
        assert!(support.is_assumed());
        support.deny();
        tokio::time::advance(RECHECK - Duration::from_secs(1)).await;
        assert!(!support.is_assumed());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(support.is_assumed());
    }
}
