use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};
use tonic::{Request, Response, Status};

use super::Shared;
use crate::proto::health::health_check_response::ServingStatus;
use crate::proto::health::health_server::Health;
use crate::proto::health::{HealthCheckRequest, HealthCheckResponse};

fn serving() -> HealthCheckResponse {
    HealthCheckResponse { status: ServingStatus::Serving.into() }
}

#[async_trait]
impl Health for Shared {
    async fn check(&self, _: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(serving()))
    }

    type WatchStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;

    /// Healthy for as long as the connection lasts.
    async fn watch(&self, _: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Ok(Response::new(Box::pin(stream::iter([Ok(serving())]).chain(stream::pending()))))
    }
}
