//! The API of the simulated nodes of a process, for other processes: only authorized clients are served.
//!
//! ```text
//! secure_serving::Listener --request--> who: a certificate, or a token (TokenReview)       401
//!                             \--> which node: the header Host, the only node, or the pod's
//!                              \--> allowed: attributes (pure), SubjectAccessReview        403, 500
//!                               \--> NodeApi; commands over a WebSocket or SPDY
//! ```
//! Start at [`KubeletServer`]. In Kubernetes: `pkg/kubelet/server`, with `authentication.webhook` and
//! `authorization.mode: Webhook`. Not here: what a node answers (`kubelet`), sockets (`secure-serving`).

mod attributes;
mod kubelet_server;
mod reviews;

pub use kubelet_server::KubeletServer;
