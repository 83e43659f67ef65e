use coracle_cluster::{Body, PathService, Transport};
use http::Request;

/// The API of a cluster, whose requests for some paths go to `service`. The API server authenticates and authorizes them.
pub fn in_front_of(front: Transport, is_of_service: fn(&str) -> bool, service: PathService) -> Transport {
    Transport::to(tower::service_fn(move |mut request: Request<Body>| {
        if is_of_service(request.uri().path()) {
            request.extensions_mut().insert(service.clone());
        }
        let front = front.clone();
        async move { front.send(request).await }
    }))
}
