use std::path::{Path, PathBuf};

use rustls::pki_types::CertificateDer;
use x509_parser::parse_x509_certificate;

use crate::error::Error;

/// The certificates in a PEM text. In Kubernetes: `cert.ParseCertsPEM`.
///
/// # Errors
/// If the text has none, or one that is not valid.
pub fn certificates(text: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let found = coracle_tls::certificates(text.as_bytes())?;
    for certificate in &found {
        parse_x509_certificate(certificate).map_err(|error| error.to_string())?;
    }
    if found.is_empty() {
        Err("data does not contain any valid RSA or ECDSA certificates".to_owned())
    } else {
        Ok(found)
    }
}

/// The text of a file.
///
/// # Errors
/// If it cannot be read.
pub fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::Io { path: path.to_owned(), source })
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|source| Error::Io { path: path.to_owned(), source })
}

/// Writes a file that only its owner may read. It replaces a link of its name without following it, and does not keep
/// the mode of an existing file.
///
/// # Errors
/// If the file system refuses.
pub fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    use std::io::Write;
    let failed = |source| Error::Io { path: PathBuf::from(path), source };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let new = path.with_file_name(name);
    let written = || {
        // A process of this number may have been killed while it wrote.
        let _ = std::fs::remove_file(&new);
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        // A file of WASI has no owner.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&new)?;
        file.write_all(text.as_bytes())?;
        std::fs::rename(&new, path)
    };
    written().inspect_err(|_| drop(std::fs::remove_file(&new))).map_err(failed)
}
