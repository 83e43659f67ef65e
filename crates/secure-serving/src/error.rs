use std::net::SocketAddr;

use coracle_dynamic_certificates::CertificateFileError;

/// Why a socket could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of certificates or keys cannot be used.
    #[error(transparent)]
    Files(#[from] CertificateFileError),
    /// A certificate or key is not valid.
    #[error("{0}")]
    Certificate(String),
    /// A URL names no address and port, or has the wrong scheme.
    #[error("{0}")]
    Url(String),
    /// The system refused the address.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
}
