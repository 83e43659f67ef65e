//! The headings of `--help` under which the flags of an API server stand.

pub(crate) const AUTHENTICATION: &str = "Authentication and authorization";
pub(crate) const SERVICE_ACCOUNTS: &str = "Tokens of service accounts";
pub(crate) const ADMISSION: &str = "Admission";
pub(crate) const REQUESTS: &str = "Requests and resources";
pub(crate) const AUDIT: &str = "Audit log";
pub(crate) const SERVICES: &str = "Services";
pub(crate) const FRONT_PROXIES: &str = "Front proxies and extension API servers";
pub(crate) const NODE_CALLS: &str = "Calls to nodes";
pub(crate) const STORE: &str = "Store";
pub(crate) const SERVING: &str = "Certificates";
