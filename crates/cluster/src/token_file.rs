use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use coracle_auth::StaticTokens;
use coracle_dynamic_certificates::{CertificateFile, CertificateFileError, FileWatcher};
use coracle_meta::Status;
use coracle_registry::{Authenticated, Authenticator, Credentials, Registry};

use crate::error::Error;

/// The maximum time for which a removed token stays valid.
const PAUSE: Duration = Duration::from_secs(1);

/// Users by the tokens of a file. In Kubernetes: `--token-auth-file`.
/// Unlike Kubernetes: the file is read again when it changes, so that tokens can be revoked.
pub(crate) struct TokenFile(FileWatcher<StaticTokens>);

impl TokenFile {
    /// # Errors
    /// If the file cannot be read, or one of its lines is invalid.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let read = |texts: &[String]| StaticTokens::parse(&texts[0]).map(Arc::new).map_err(|error| error.to_string());
        let opened = FileWatcher::open(vec![CertificateFile::File(path.to_owned())], PAUSE, read);
        opened.map(Self).map_err(|error| match error {
            CertificateFileError::Invalid(why) => Error::Options(why),
            unreadable => unreadable.into(),
        })
    }
}

#[async_trait]
impl Authenticator for TokenFile {
    async fn authenticate(
        &self,
        registry: &Registry,
        credentials: &Credentials,
    ) -> Result<Option<Authenticated>, Status> {
        match credentials.bearer_token {
            None => Ok(None),
            Some(_) => self.0.current().authenticate(registry, credentials).await,
        }
    }
}
