//! Certificates, keys and tokens in files, which are read again when the files change.
//!
//! ```text
//! CertificateFile, .. --read--> value --current()--> compares lengths and times of the files --> value, read again
//! ```
//! Start at [`FileWatcher`]. In Kubernetes: `k8s.io/apiserver/pkg/server/dynamiccertificates`.
//! Not here: what the files contain (`tls`, `auth`).

mod certificate_file;
mod error;
mod file_watcher;

pub use certificate_file::CertificateFile;
pub use error::CertificateFileError;
pub use file_watcher::FileWatcher;
