use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::Health;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use super::Shared;

fn serving() -> HealthCheckResponse {
    HealthCheckResponse { status: ServingStatus::Serving.into() }
}

#[async_trait]
impl Health for Shared {
    async fn check(&self, _: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(serving()))
    }

    type WatchStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;

    /// Healthy as long as the connection exists.
    async fn watch(&self, _: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Ok(Response::new(Box::pin(stream::iter([Ok(serving())]).chain(stream::pending()))))
    }
}
