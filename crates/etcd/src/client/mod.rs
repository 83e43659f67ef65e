mod feed;
mod lease;
mod members;
mod metrics;
mod range_stream;
mod tls;
mod watch;

use std::sync::Arc;

use async_trait::async_trait;
use coracle_store::{
    Error, HistoryHash, KeyRange, LeaseId, LeaseStatus, RangeRequest, RangeResponse, RangeStream, Revision, Store,
    StoreStatus, Txn, TxnResponse, WatchRequest, Watcher,
};
use tonic::Status;
use tonic::transport::Endpoint;

pub use metrics::Metrics;
pub use tls::Tls;

use self::feed::Feed;
use self::members::Members;
use self::range_stream::{RemoteRangeStream, StreamSupport};
use self::watch::RemoteWatcher;
use crate::convert;
use crate::proto::etcdserverpb::kv_client::KvClient;
use crate::proto::etcdserverpb::lease_client::LeaseClient;
use crate::proto::etcdserverpb::maintenance_client::MaintenanceClient;
use crate::proto::etcdserverpb::watch_client::WatchClient;
use crate::proto::etcdserverpb::{self as pb};
use crate::status::{explain, from_status, is_lost, was_never_sent};

/// The maximum number of tries of a read while no server is reachable.
const READ_ATTEMPTS: u32 = 6;
/// The delay before the second try; it doubles with each try.
const FIRST_PAUSE: std::time::Duration = std::time::Duration::from_millis(50);

/// The address and credentials of an etcd cluster.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The URLs of its members, `http://host:2379`. In Kubernetes: `--etcd-servers`.
    pub endpoints: Vec<String>,
    /// For `https` URLs: the certificate authority and the client certificate.
    pub tls: Option<Tls>,
}

/// A [`Store`] in another process: an etcd cluster, or the server of this crate.
///
/// Connections are opened on demand and reopened when they break. A read is retried; a write only if it never left
/// this process. Otherwise it is unknown whether it took effect: it fails with [`Error::Unavailable`].
#[derive(Clone)]
pub struct EtcdStore {
    members: Members,
    /// All changes, for watches of an etcd that cannot report progress.
    feed: Arc<Feed>,
    stream_support: Arc<StreamSupport>,
}

impl std::fmt::Debug for EtcdStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EtcdStore")
    }
}

impl EtcdStore {
    /// Prepares connections to the members, and requests the status of one of them.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if a URL or a certificate is invalid, or no member answers.
    pub async fn connect(options: Options) -> Result<Self, Error> {
        let https = options.endpoints.iter().any(|url| url.starts_with("https:"));
        let anonymous = https && options.tls.as_ref().is_none_or(|tls| tls.certificate.is_none());
        let store = Self::lazy(options)?;
        match store.status().await {
            // A server that requires a client certificate just closes the connection.
            Err(Error::Unavailable(why)) if anonymous => {
                Err(Error::Unavailable(format!("{why} (we have shown no client certificate)")))
            }
            answer => answer.map(|_| store),
        }
    }

    /// Prepares connections to the members, without opening any.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if a URL or a certificate is invalid.
    pub fn lazy(options: Options) -> Result<Self, Error> {
        let mut endpoints = Vec::new();
        for url in &options.endpoints {
            let refused = |why| Error::Unavailable(format!("the etcd server {url:?} cannot be used: {why}"));
            let tls = options.tls.clone().unwrap_or_default();
            if let Some(why) = tls.refusal().filter(|_| url.starts_with("https:")) {
                return Err(refused(why.to_owned()));
            }
            endpoints.push(endpoint(url, tls).map_err(|error| refused(explain(&error)))?);
        }
        if endpoints.is_empty() {
            return Err(Error::Unavailable("no etcd server is named".to_owned()));
        }
        let members = Members::new(endpoints.iter().map(Endpoint::connect_lazy).collect());
        let feed = Arc::new(Feed::new(watch_client(&members)));
        Ok(Self { members, feed, stream_support: Arc::default() })
    }

    /// The metrics of the store.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if no member answers, or if metrics are not available: an etcd without TLS.
    pub async fn metrics(&self) -> Result<Metrics, Error> {
        metrics::read(self.members.clone()).await
    }

    fn kv(&self) -> KvClient<Members> {
        KvClient::new(self.members.clone()).max_decoding_message_size(usize::MAX).max_encoding_message_size(usize::MAX)
    }

    fn lease(&self) -> LeaseClient<Members> {
        LeaseClient::new(self.members.clone()).max_decoding_message_size(usize::MAX)
    }

    fn maintenance(&self) -> MaintenanceClient<Members> {
        MaintenanceClient::new(self.members.clone())
    }
}

fn watch_client(members: &Members) -> WatchClient<Members> {
    WatchClient::new(members.clone()).max_decoding_message_size(usize::MAX)
}

fn endpoint(url: &str, tls: Tls) -> Result<Endpoint, tonic::transport::Error> {
    use std::time::Duration;
    let mut endpoint = Endpoint::from_shared(url.to_owned())?
        .connect_timeout(Duration::from_secs(5))
        .http2_keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10))
        .keep_alive_while_idle(true)
        .initial_stream_window_size(1 << 22)
        .initial_connection_window_size(1 << 24)
        .tcp_nodelay(true);
    if url.starts_with("https:") {
        endpoint = endpoint.tls_config(tls.into_config())?;
    }
    Ok(endpoint)
}

/// Retries a read while no server is reachable.
async fn read<C: Clone, Q: Clone, R, F>(client: C, request: Q, call: impl Fn(C, Q) -> F) -> Result<R, Error>
where
    F: Future<Output = Result<R, Status>>,
{
    attempts(client, request, call, is_lost).await
}

/// Retries a write while it cannot have reached a server.
async fn write<C: Clone, Q: Clone, R, F>(client: C, request: Q, call: impl Fn(C, Q) -> F) -> Result<R, Error>
where
    F: Future<Output = Result<R, Status>>,
{
    attempts(client, request, call, was_never_sent).await
}

async fn attempts<C: Clone, Q: Clone, R, F>(
    client: C,
    request: Q,
    call: impl Fn(C, Q) -> F,
    is_worth_another: impl Fn(&Status) -> bool,
) -> Result<R, Error>
where
    F: Future<Output = Result<R, Status>>,
{
    let mut pause = FIRST_PAUSE;
    for _ in 1..READ_ATTEMPTS {
        match call(client.clone(), request.clone()).await {
            Err(status) if is_worth_another(&status) => {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            outcome => return outcome.map_err(|status| from_status(&status)),
        }
    }
    call(client, request).await.map_err(|status| from_status(&status))
}

#[async_trait]
impl Store for EtcdStore {
    async fn range(&self, request: RangeRequest) -> Result<RangeResponse, Error> {
        let request = convert::to_range_request(request);
        let response = read(self.kv(), request, |mut kv, request| async move { kv.range(request).await }).await?;
        Ok(convert::range_response(response.get_ref()))
    }

    async fn range_stream(&self, request: RangeRequest) -> Result<Option<Box<dyn RangeStream>>, Error> {
        let request = convert::to_range_request(request);
        let stream = RemoteRangeStream::open(self.kv(), &self.stream_support, request).await?;
        Ok(stream.map(|stream| Box::new(stream) as Box<dyn RangeStream>))
    }

    async fn txn(&self, txn: Txn) -> Result<TxnResponse, Error> {
        let request = convert::to_txn(txn);
        let response = write(self.kv(), request, |mut kv, request| async move { kv.txn(request).await }).await?;
        Ok(convert::txn_response(response.get_ref()))
    }

    async fn watch(&self, request: WatchRequest) -> Result<Box<dyn Watcher>, Error> {
        if self.knows_progress().await {
            return Ok(Box::new(RemoteWatcher::open(watch_client(&self.members), true, request).await?));
        }
        let seen = if request.start_revision > 0 { request.start_revision - 1 } else { self.newest().await? };
        Ok(Box::new(self.feed.watch(&request, seen).await?))
    }

    async fn compact(&self, revision: Revision) -> Result<(), Error> {
        let request = pb::CompactionRequest { revision, physical: false };
        self.kv().compact(request).await.map(|_| ()).map_err(|status| from_status(&status))
    }

    async fn lease_grant(&self, id: LeaseId, ttl_seconds: i64) -> Result<LeaseId, Error> {
        lease::grant(self.lease(), id, ttl_seconds).await
    }

    async fn lease_revoke(&self, id: LeaseId) -> Result<(), Error> {
        let request = pb::LeaseRevokeRequest { id };
        self.lease().lease_revoke(request).await.map(|_| ()).map_err(|status| from_status(&status))
    }

    async fn lease_keep_alive(&self, id: LeaseId) -> Result<i64, Error> {
        lease::keep_alive(self.lease(), id).await
    }

    async fn lease_status(&self, id: LeaseId) -> Result<LeaseStatus, Error> {
        lease::status(self.lease(), id).await
    }

    async fn leases(&self) -> Result<Vec<LeaseId>, Error> {
        let response =
            read(
                self.lease(),
                pb::LeaseLeasesRequest {},
                |mut lease, all| async move { lease.lease_leases(all).await },
            )
            .await?;
        Ok(response.into_inner().leases.into_iter().map(|lease| lease.id).collect())
    }

    async fn history_hash(&self, revision: Revision) -> Result<HistoryHash, Error> {
        let response = read(self.maintenance(), pb::HashKvRequest { revision }, |mut client, asked| async move {
            client.hash_kv(asked).await
        })
        .await?;
        let response = response.into_inner();
        let current = convert::revision(response.header.as_ref());
        let asked = if revision > 0 { revision } else { current };
        Ok(HistoryHash {
            hash: response.hash,
            // An etcd before 3.6 does not report it.
            hash_revision: if response.hash_revision > 0 { response.hash_revision } else { asked },
            compacted: response.compact_revision,
            revision: current,
        })
    }

    async fn defragment(&self) -> Result<(), Error> {
        let request = pb::DefragmentRequest {};
        self.maintenance().defragment(request).await.map(|_| ()).map_err(|status| from_status(&status))
    }

    async fn status(&self) -> Result<StoreStatus, Error> {
        let response =
            read(
                self.maintenance(),
                pb::StatusRequest {},
                |mut client, asked| async move { client.status(asked).await },
            )
            .await?
            .into_inner();
        Ok(StoreStatus {
            revision: convert::revision(response.header.as_ref()),
            // An etcd does not report it.
            compacted: -1,
            size_bytes: response.db_size,
            size_in_use_bytes: response.db_size_in_use,
            no_space: response.errors.iter().any(|error| error.contains("NOSPACE")),
            version: response.version,
            ..StoreStatus::default()
        })
    }
}

impl EtcdStore {
    async fn newest(&self) -> Result<Revision, Error> {
        let nothing =
            RangeRequest { range: KeyRange::key("\0"), limit: 1, count_only: true, ..RangeRequest::default() };
        Ok(self.range(nothing).await?.revision)
    }

    /// Whether responses to progress requests are reliable: before these versions an etcd may report progress before
    /// it sends the events. In Kubernetes: `storage/feature/feature_support_checker.go`.
    async fn knows_progress(&self) -> bool {
        self.status().await.is_ok_and(|status| progress_is_sound(&status.version))
    }
}

fn progress_is_sound(version: &str) -> bool {
    let mut numbers = version.split(['.', '-', '+']).map_while(|number| number.parse::<u32>().ok());
    match (numbers.next(), numbers.next(), numbers.next()) {
        (Some(3), Some(4), Some(patch)) => patch >= 31,
        (Some(3), Some(5), Some(patch)) => patch >= 13,
        (Some(3), Some(minor), _) => minor > 5,
        (Some(major), ..) => major > 3,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_trusted_from_the_etcd_versions_that_kubernetes_trusts() {
        let sound = ["3.4.31", "3.5.13", "3.6.0", "3.6.0-rc.1", "4.0.0"];
        assert!(sound.into_iter().all(progress_is_sound));
        let unsound = ["3.4.23", "3.5.12", "3.3.99", "", "unknown"];
        assert!(!unsound.into_iter().any(progress_is_sound));
    }
}
