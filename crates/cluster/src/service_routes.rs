use std::collections::BTreeMap;

use coracle_registry::ServiceAddress;

use crate::{Error, Transport};

/// The programs that serve the API server's calls to Services and URLs, such as those to webhooks, because simulated
/// pods do not serve traffic. Other destinations are resolved in the cluster and in the network.
#[derive(Clone, Debug, Default)]
pub struct ServiceRoutes {
    services: BTreeMap<(String, String), Vec<ServiceRoute>>,
    urls: BTreeMap<String, Transport>,
}

/// The program that serves a port of a Service.
#[derive(Clone, Debug)]
struct ServiceRoute {
    /// The port; `None` for all ports.
    port: Option<u16>,
    to: Route,
}

/// The actual destination of a call.
#[derive(Clone, Debug)]
pub(crate) enum Route {
    /// To `host:port`, over HTTPS, with a certificate for the Service.
    Address(String),
    /// To a service in this process.
    Here(Transport),
}

impl ServiceRoutes {
    /// Adds an address in the form of `--service-address`: `NAMESPACE/NAME[:PORT]=HOST:PORT`.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn add_address(&mut self, text: &str) -> Result<(), Error> {
        let refused = || Error::Options(format!("--service-address {text:?}: want NAMESPACE/NAME[:PORT]=HOST:PORT"));
        let (service, address) = text.split_once('=').ok_or_else(refused)?;
        let (namespace, name) = service.split_once('/').ok_or_else(refused)?;
        let (name, port) = match name.split_once(':') {
            Some((name, port)) => (name, Some(port.parse().map_err(|_| refused())?)),
            None => (name, None),
        };
        let (host, at) = address.rsplit_once(':').ok_or_else(refused)?;
        let is_port = at.parse::<u16>().is_ok_and(|port| port != 0);
        if [namespace, name, host].contains(&"") || !is_port {
            return Err(refused());
        }
        self.add(namespace, name, port, Route::Address(address.to_owned()));
        Ok(())
    }

    /// Adds a service in this process for all ports of a Service.
    pub fn answer_for_service(&mut self, namespace: &str, name: &str, service: Transport) {
        self.add(namespace, name, None, Route::Here(service));
    }

    /// Adds a service in this process for all URLs that begin with `origin` (`https://host:port`).
    pub fn answer_for_url(&mut self, origin: &str, service: Transport) {
        self.urls.insert(origin.trim_end_matches('/').to_owned(), service);
    }

    fn add(&mut self, namespace: &str, name: &str, port: Option<u16>, to: Route) {
        let routes = self.services.entry((namespace.to_owned(), name.to_owned())).or_default();
        routes.push(ServiceRoute { port, to });
    }

    /// The route of a port of a Service; a route for the port takes precedence over one for all ports.
    pub(crate) fn service(&self, service: &ServiceAddress) -> Option<&Route> {
        let routes = self.services.get(&(service.namespace.clone(), service.name.clone()))?;
        let own = routes.iter().find(|route| route.port == Some(service.port));
        own.or_else(|| routes.iter().find(|route| route.port.is_none())).map(|route| &route.to)
    }

    /// The service in this process for a URL.
    pub(crate) fn url(&self, origin: &str) -> Option<&Transport> {
        self.urls.get(origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(routes: &ServiceRoutes, port: u16) -> Option<String> {
        let service = ServiceAddress { namespace: "a".to_owned(), name: "b".to_owned(), port };
        match routes.service(&service)? {
            Route::Address(address) => Some(address.clone()),
            Route::Here(_) => None,
        }
    }

    #[test]
    fn a_route_for_one_port_goes_before_one_for_all() {
        let mut routes = ServiceRoutes::default();
        routes.add_address("a/b=127.0.0.1:1").unwrap();
        routes.add_address("a/b:8443=[::1]:2").unwrap();
        assert_eq!(address(&routes, 443).as_deref(), Some("127.0.0.1:1"));
        assert_eq!(address(&routes, 8443).as_deref(), Some("[::1]:2"));
    }

    #[test]
    fn an_address_that_cannot_be_read_is_refused_with_what_is_wanted() {
        for text in ["", "a/b", "a=b:1", "a/b=host", "a/b=host:0", "a/b:x=host:1", "/b=host:1", "a/=host:1", "a/b=:1"] {
            let refused = ServiceRoutes::default().add_address(text).unwrap_err().to_string();
            assert!(refused.ends_with("want NAMESPACE/NAME[:PORT]=HOST:PORT"), "{refused}");
        }
    }
}
