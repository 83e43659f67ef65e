use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;

use super::guard::Guard;
use super::{Secret, accept, kept_to_itself};
use crate::html;

/// Several pages behind one secret.
pub trait PageHandler: Send + Sync + 'static {
    /// The answer to GET or HEAD of a path; `None` if there is no such page.
    fn answer(&self, request: PageRequest) -> impl Future<Output = Option<PageAnswer>> + Send;
}

/// A request that has the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// The path behind the secret, without a leading slash.
    pub path: String,
    /// The query, which is still encoded; may be empty.
    pub query: String,
}

/// An answer of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageAnswer {
    code: StatusCode,
    content_type: &'static str,
    policy: String,
    body: Vec<u8>,
}

impl PageAnswer {
    /// A page that states its content security policy.
    ///
    /// # Panics
    /// If it states none.
    pub fn page(body: String) -> Self {
        let policy = html::policy(&body).to_owned();
        Self { code: StatusCode::OK, content_type: "text/html; charset=utf-8", policy, body: body.into_bytes() }
    }

    /// Like [`page`](Self::page), for a request that cannot be answered now.
    ///
    /// # Panics
    /// If it states no policy.
    pub fn unavailable(body: String) -> Self {
        Self { code: StatusCode::SERVICE_UNAVAILABLE, ..Self::page(body) }
    }

    /// A script for the pages of the site.
    pub fn script(body: &str) -> Self {
        Self::part("text/javascript; charset=utf-8", body)
    }

    /// A style sheet for the pages of the site.
    pub fn style(body: &str) -> Self {
        Self::part("text/css; charset=utf-8", body)
    }

    fn part(content_type: &'static str, body: &str) -> Self {
        Self::file(content_type, body.as_bytes().to_owned(), "default-src 'none'")
    }

    /// A file of the site, with a content security policy, which a worker obeys.
    pub fn file(content_type: &'static str, body: Vec<u8>, policy: &str) -> Self {
        Self { code: StatusCode::OK, content_type, policy: policy.to_owned(), body }
    }

    /// The content security policy.
    pub fn policy(&self) -> &str {
        &self.policy
    }
}

impl IntoResponse for PageAnswer {
    fn into_response(self) -> Response {
        let policy = format!("{}; frame-ancestors 'none'", self.policy);
        let mut response = (self.code, self.body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        headers.insert(header::CONTENT_SECURITY_POLICY, policy.parse().expect("a policy is visible ASCII"));
        response
    }
}

/// Serves a site to clients that have the secret and use the listener's own address, until the future is dropped.
///
/// # Errors
/// If the address of the listener cannot be determined.
pub async fn serve_pages(
    site: Arc<impl PageHandler>,
    listener: TcpListener,
    secret: Secret,
) -> std::io::Result<Infallible> {
    let guard = Arc::new(Guard { secret, address: listener.local_addr()? });
    let answer = move |request: Request| {
        let (site, guard) = (Arc::clone(&site), Arc::clone(&guard));
        async move { answer(&*site, &guard, request).await }
    };
    Ok(accept(listener, Router::new().fallback(answer)).await)
}

async fn answer(site: &impl PageHandler, guard: &Guard, request: Request) -> Response {
    let Some(path) = guard.admitted(request.uri(), request.headers()) else {
        return StatusCode::FORBIDDEN.into_response();
    };
    let query = request.uri().query().unwrap_or_default().to_owned();
    let asked = PageRequest { path: path.to_owned(), query };
    // The answer to HEAD is sent without its body.
    let is_get = matches!(*request.method(), Method::GET | Method::HEAD);
    drop(request);
    let mut response = if is_get {
        match site.answer(asked).await {
            Some(answer) => answer.into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
        }
    } else {
        StatusCode::METHOD_NOT_ALLOWED.into_response()
    };
    response.headers_mut().extend(kept_to_itself());
    response
}
