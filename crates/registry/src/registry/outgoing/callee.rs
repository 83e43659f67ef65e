use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_meta::fields::Fields;
use serde_json::Value;

/// A port of a Service, as those name it who call it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServiceAddress {
    /// The Service's namespace.
    pub namespace: String,
    /// The Service's name.
    pub name: String,
    /// The port of the Service, not of a pod.
    pub port: u16,
}

impl ServiceAddress {
    /// The name for which its certificate must be valid.
    pub fn server_name(&self) -> String {
        format!("{}.{}.svc", self.name, self.namespace)
    }
}

/// The address of a call. In Kubernetes: `WebhookClientConfig` without its authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callee {
    /// Scheme and authority, and the path.
    Url {
        /// `https://host:port`.
        origin: String,
        /// Begins with a slash.
        path: String,
    },
    /// A Service of the cluster, over HTTPS.
    Service {
        /// Which one.
        service: ServiceAddress,
        /// Begins with a slash.
        path: String,
    },
}

/// The address of a webhook, and how its certificate is verified. In Kubernetes: `WebhookClientConfig`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConfig {
    /// The address.
    pub to: Arc<Callee>,
    /// The authorities of the callee's certificate (PEM); empty for those that the machine trusts.
    pub authorities: Arc<[u8]>,
}

impl ClientConfig {
    /// Reads a `clientConfig`, which was validated with its object.
    ///
    /// # Errors
    /// If it has neither a URL nor a Service, or if its `caBundle` cannot be decoded: no certificate is trusted then.
    pub fn read(config: &Value) -> Result<Self, &'static str> {
        let to = Callee::read(config).ok_or("webhook configuration must have either service or URL")?;
        let bundle: String = config.text("caBundle").split(['\r', '\n']).collect();
        let authorities = STANDARD.decode(bundle).map_err(|_| "webhook configuration has an invalid caBundle")?;
        Ok(Self { to: Arc::new(to), authorities: authorities.into() })
    }
}

impl Callee {
    /// Reads a `clientConfig` without its authorities; `None` if it has neither a URL nor a Service.
    pub fn read(config: &Value) -> Option<Self> {
        let service = config.at("service");
        if service.is_null() {
            let url = config.text("url");
            let authority = url.find("://").map(|at| at + 3)?;
            let path = url[authority..].find('/').map_or(url.len(), |at| authority + at);
            return Some(Self::Url { origin: url[..path].to_owned(), path: clean(&url[path..]) });
        }
        let port = service.at("port").as_u64().unwrap_or(443);
        Some(Self::Service {
            service: ServiceAddress {
                namespace: service.text("namespace").to_owned(),
                name: service.text("name").to_owned(),
                port: u16::try_from(port).ok()?,
            },
            path: clean(service.text("path")),
        })
    }

    /// The URL, as messages quote it; for a Service with the name in its certificate.
    pub fn url(&self) -> String {
        match self {
            Self::Url { origin, path } => format!("{origin}{path}"),
            Self::Service { service, path } => format!("https://{}:{}{path}", service.server_name(), service.port),
        }
    }
}

/// A path without double slashes, dots and a trailing slash. In Kubernetes: `path.Join` in client-go's requests.
fn clean(path: &str) -> String {
    let path = path.split(['?', '#']).next().unwrap_or("");
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    format!("/{}", steps.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_url_is_called_under_its_cleaned_path() {
        let callee = Callee::read(&json!({"url": "https://127.0.0.1:9443//convert/./now/"})).unwrap();
        assert_eq!(callee.url(), "https://127.0.0.1:9443/convert/now");
        assert_eq!(Callee::read(&json!({"url": "https://h"})).unwrap().url(), "https://h/");
    }

    #[test]
    fn authorities_that_cannot_be_read_are_not_those_of_the_machine() {
        let read = |bundle: &str| ClientConfig::read(&json!({"url": "https://h", "caBundle": bundle}));
        assert_eq!(&*read("YWJj\nZGVm").unwrap().authorities, b"abcdef");
        assert_eq!(read("%"), Err("webhook configuration has an invalid caBundle"));
        assert!(ClientConfig::read(&json!({})).is_err());
    }

    #[test]
    fn a_service_is_called_on_443_under_the_name_of_its_certificate() {
        let callee = Callee::read(&json!({"service": {"namespace": "a", "name": "b", "path": "c"}})).unwrap();
        assert_eq!(callee.url(), "https://b.a.svc:443/c");
    }
}
