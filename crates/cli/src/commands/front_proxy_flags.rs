use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use coracle_cluster::{ApiServerOptions, CertificateFile, ProxyClient, RequestHeaders};
use coracle_pki::Authority;

use crate::commands::certificate_file::{certificate_file, read};
use crate::exit;

/// The common name of a cluster's own front proxy certificate.
const FRONT_PROXY: &str = "front-proxy-client";

/// kube-apiserver's flags for front proxies of this API server, and for this API server as a front proxy of extension
/// API servers.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FrontProxyFlags {
    /// The client certificate of the API server for extension API servers
    #[arg(long, value_name = "FILE", requires = "proxy_client_key_file")]
    proxy_client_cert_file: Option<PathBuf>,
    /// The key of the client certificate for extension API servers
    #[arg(long, value_name = "FILE", requires = "proxy_client_cert_file")]
    proxy_client_key_file: Option<PathBuf>,
    /// The certificate authority of front proxies, whose user headers the API server trusts
    #[arg(long, value_name = "FILE")]
    requestheader_client_ca_file: Option<PathBuf>,
    /// The common names of front proxies; by default every certificate of their authority is accepted
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    requestheader_allowed_names: Vec<String>,
    /// The headers with which front proxies send the name of a user
    #[arg(long, value_name = "HEADERS", value_delimiter = ',')]
    requestheader_username_headers: Vec<String>,
    /// The headers with which front proxies send the uid of a user
    #[arg(long, value_name = "HEADERS", value_delimiter = ',')]
    requestheader_uid_headers: Vec<String>,
    /// The headers with which front proxies send the groups of a user
    #[arg(long, value_name = "HEADERS", value_delimiter = ',')]
    requestheader_group_headers: Vec<String>,
    /// The prefixes of the headers with which front proxies send the extra attributes of a user
    #[arg(long, value_name = "PREFIXES", value_delimiter = ',')]
    requestheader_extra_headers_prefix: Vec<String>,
}

impl FrontProxyFlags {
    /// Applies the flags to `options`.
    pub(crate) fn set(&self, options: &mut ApiServerOptions) -> Result<()> {
        let lists = [
            ("username-headers", &self.requestheader_username_headers),
            ("uid-headers", &self.requestheader_uid_headers),
            ("group-headers", &self.requestheader_group_headers),
            ("extra-headers-prefix", &self.requestheader_extra_headers_prefix),
            ("allowed-names", &self.requestheader_allowed_names),
        ];
        if let Some((name, _)) = lists.iter().find(|(_, list)| list.iter().any(|text| text.trim().is_empty())) {
            return Err(exit::Usage(format!("empty value in \"requestheader-{name}\"")).into());
        }
        if let (Some(certificate), Some(key)) = (&self.proxy_client_cert_file, &self.proxy_client_key_file) {
            let certificate = certificate_file(certificate, "--proxy-client-cert-file")?;
            options.proxy_client =
                Some(ProxyClient { certificate, key: certificate_file(key, "--proxy-client-key-file")? });
        }
        if let Some(authority) = &self.requestheader_client_ca_file {
            let headers = RequestHeaders {
                allowed_names: self.requestheader_allowed_names.clone(),
                username_headers: self.requestheader_username_headers.clone(),
                uid_headers: self.requestheader_uid_headers.clone(),
                group_headers: self.requestheader_group_headers.clone(),
                extra_headers_prefix: self.requestheader_extra_headers_prefix.clone(),
            };
            options.request_headers = Some((read(authority, "--requestheader-client-ca-file")?, headers));
        }
        Ok(())
    }

    /// The certificate authority of front proxies, if `options` has one.
    pub(crate) fn authority(&self, options: &ApiServerOptions) -> Option<CertificateFile> {
        let kept = self.requestheader_client_ca_file.clone().map(CertificateFile::File);
        kept.or_else(|| options.request_headers.as_ref().map(|(authority, _)| authority.clone().into()))
    }

    /// Applies the flags to `options`; the defaults are the cluster's own files in `folder`.
    pub(crate) fn set_or_make(&self, options: &mut ApiServerOptions, folder: &Path) -> Result<()> {
        self.set(options)?;
        if options.proxy_client.is_some() && options.request_headers.is_some() {
            return Ok(());
        }
        let folder = folder.join("front-proxy");
        std::fs::create_dir_all(&folder)
            .map_err(|error| exit::Usage(format!("cannot make {}: {error}", folder.display())))?;
        let authority = Authority::open(&folder)?;
        if options.proxy_client.is_none() {
            let identity = authority.client(FRONT_PROXY, &[])?;
            options.proxy_client =
                Some(ProxyClient { certificate: identity.certificate.into(), key: identity.key.into() });
        }
        if options.request_headers.is_none() {
            let headers = RequestHeaders { allowed_names: vec![FRONT_PROXY.to_owned()], ..RequestHeaders::default() };
            options.request_headers = Some((authority.certificate().to_owned(), headers));
        }
        Ok(())
    }
}
