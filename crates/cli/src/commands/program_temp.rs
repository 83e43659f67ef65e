//! The temporary folder of checked programs.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use coracle_pki::Authority;

/// Where controller-runtime looks for the certificate of its webhooks. Without one, a program with webhooks ends.
const CERTIFICATES: &str = "k8s-webhook-server/serving-certs";

/// Makes the folder, with a certificate for webhooks.
///
/// # Errors
/// If the folder or a file cannot be written.
pub(crate) fn create(parent: &Path, authority: &Authority) -> Result<PathBuf> {
    let folder = parent.join("tmp");
    let certificates = folder.join(CERTIFICATES);
    std::fs::create_dir_all(&certificates).with_context(|| format!("cannot make {}", certificates.display()))?;
    let identity = authority.server(&["localhost".to_owned()], &[IpAddr::V4(Ipv4Addr::LOCALHOST)])?;
    for (name, text) in [("tls.crt", &identity.certificate), ("tls.key", &identity.key)] {
        let path = certificates.join(name);
        coracle_pki::write_private(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(folder)
}
