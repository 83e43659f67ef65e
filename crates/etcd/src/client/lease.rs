use coracle_store::{Error, LeaseId, LeaseStatus};
use futures_util::stream;

use super::members::Members;
use super::read;
use crate::proto::etcdserverpb::lease_client::LeaseClient;
use crate::proto::etcdserverpb::{self as pb};
use crate::status::from_status;

type Client = LeaseClient<Members>;

pub(super) async fn grant(mut client: Client, id: LeaseId, ttl: i64) -> Result<LeaseId, Error> {
    let request = pb::LeaseGrantRequest { id, ttl };
    let response = client.lease_grant(request).await.map_err(|status| from_status(&status))?.into_inner();
    if response.error.is_empty() { Ok(response.id) } else { Err(Error::Unavailable(response.error)) }
}

pub(super) async fn keep_alive(client: Client, id: LeaseId) -> Result<i64, Error> {
    let call = |mut client: Client, id| async move {
        let request = stream::iter([pb::LeaseKeepAliveRequest { id }]);
        client.lease_keep_alive(request).await?.into_inner().message().await
    };
    let response = read(client, id, call).await?;
    // The response for a missing lease has a time of zero.
    response.map(|response| response.ttl).filter(|ttl| *ttl > 0).ok_or(Error::LeaseNotFound)
}

pub(super) async fn status(client: Client, id: LeaseId) -> Result<LeaseStatus, Error> {
    let request = pb::LeaseTimeToLiveRequest { id, keys: true };
    let response = read(client, request, |mut client, request| async move { client.lease_time_to_live(request).await })
        .await?
        .into_inner();
    if response.ttl < 0 {
        return Err(Error::LeaseNotFound);
    }
    let mut keys = response.keys;
    keys.sort_unstable();
    Ok(LeaseStatus { id, granted_ttl_seconds: response.granted_ttl, remaining_seconds: response.ttl, keys })
}
