use async_trait::async_trait;
use coracle_store::Error;
use futures_util::stream::{BoxStream, StreamExt};
use tonic::{Request, Response, Status, Streaming};

use super::Shared;
use crate::proto::etcdserverpb::{self as pb, lease_server::Lease};
use crate::status::to_status;

#[async_trait]
impl Lease for Shared {
    async fn lease_grant(
        &self,
        request: Request<pb::LeaseGrantRequest>,
    ) -> Result<Response<pb::LeaseGrantResponse>, Status> {
        let pb::LeaseGrantRequest { id, ttl } = request.into_inner();
        let id = self.store.lease_grant(id, ttl).await.map_err(|error| to_status(&error))?;
        let ttl = self.store.lease_status(id).await.map_or(ttl, |lease| lease.granted_ttl_seconds);
        let header = Some(self.current_header().await?);
        Ok(Response::new(pb::LeaseGrantResponse { header, id, ttl, error: String::new() }))
    }

    async fn lease_revoke(
        &self,
        request: Request<pb::LeaseRevokeRequest>,
    ) -> Result<Response<pb::LeaseRevokeResponse>, Status> {
        self.store.lease_revoke(request.get_ref().id).await.map_err(|error| to_status(&error))?;
        Ok(Response::new(pb::LeaseRevokeResponse { header: Some(self.current_header().await?) }))
    }

    type LeaseKeepAliveStream = BoxStream<'static, Result<pb::LeaseKeepAliveResponse, Status>>;

    /// One response for each request. The response for a missing lease has a time of zero, as in etcd.
    async fn lease_keep_alive(
        &self,
        request: Request<Streaming<pb::LeaseKeepAliveRequest>>,
    ) -> Result<Response<Self::LeaseKeepAliveStream>, Status> {
        let shared = self.clone();
        let answers = request.into_inner().then(move |request| {
            let shared = shared.clone();
            async move {
                let id = request?.id;
                let ttl = match shared.store.lease_keep_alive(id).await {
                    Ok(ttl) => ttl,
                    Err(Error::LeaseNotFound) => 0,
                    Err(error) => return Err(to_status(&error)),
                };
                Ok(pb::LeaseKeepAliveResponse { header: Some(shared.current_header().await?), id, ttl })
            }
        });
        Ok(Response::new(Box::pin(answers)))
    }

    async fn lease_time_to_live(
        &self,
        request: Request<pb::LeaseTimeToLiveRequest>,
    ) -> Result<Response<pb::LeaseTimeToLiveResponse>, Status> {
        let pb::LeaseTimeToLiveRequest { id, keys } = request.into_inner();
        let header = Some(self.current_header().await?);
        let response = match self.store.lease_status(id).await {
            Ok(lease) => pb::LeaseTimeToLiveResponse {
                header,
                id,
                ttl: lease.remaining_seconds,
                granted_ttl: lease.granted_ttl_seconds,
                keys: if keys { lease.keys } else { Vec::new() },
            },
            Err(Error::LeaseNotFound) => {
                pb::LeaseTimeToLiveResponse { header, id, ttl: -1, ..pb::LeaseTimeToLiveResponse::default() }
            }
            Err(error) => return Err(to_status(&error)),
        };
        Ok(Response::new(response))
    }

    async fn lease_leases(
        &self,
        _: Request<pb::LeaseLeasesRequest>,
    ) -> Result<Response<pb::LeaseLeasesResponse>, Status> {
        let leases = self.store.leases().await.map_err(|error| to_status(&error))?;
        let leases = leases.into_iter().map(|id| pb::LeaseStatus { id }).collect();
        Ok(Response::new(pb::LeaseLeasesResponse { header: Some(self.current_header().await?), leases }))
    }
}
