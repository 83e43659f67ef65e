use coracle_meta::{Status, reason};
pub(crate) use coracle_schema::decode::Format;
use http::HeaderMap;

use crate::query::Query;

/// The representation of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transform {
    /// The object itself.
    None,
    /// Only its metadata.
    PartialObjectMetadata(MetaVersion),
    /// The metadata of the objects of a list.
    PartialObjectMetadataList(MetaVersion),
    /// A row of cells an object.
    Table(MetaVersion),
}

/// A version of the group `meta.k8s.io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetaVersion {
    /// `v1`
    V1,
    /// `v1beta1`
    V1Beta1,
}

impl MetaVersion {
    /// `apiVersion`.
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// The result of content negotiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Negotiated {
    /// The format.
    pub(crate) format: Format,
    /// The representation.
    pub(crate) transform: Transform,
    /// Whether JSON is indented.
    pub(crate) pretty: bool,
}

impl Negotiated {
    /// Compact JSON of the object itself.
    pub(crate) const JSON: Self = Self { format: Format::Json, transform: Transform::None, pretty: false };
}

/// What an endpoint supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// The formats, in the order of preference.
    pub(crate) formats: &'static [Format],
    /// Whether objects can be represented as tables and as metadata.
    pub(crate) transforms: bool,
    /// Whether the endpoint also lists, so that errors name its stream media types, too.
    pub(crate) lists: bool,
}

/// Chooses one of the accepted media types, in the client's order of preference. Without a header the result is JSON.
///
/// In Kubernetes: `negotiation.NegotiateOutputMediaType`, after go-restful has checked the bare media types.
pub(crate) fn negotiate(headers: &HeaderMap, query: &Query, offer: Offer) -> Result<Negotiated, Status> {
    let pretty = wants_pretty(headers, query);
    let header = accept_header(headers);
    // Most clients in the same process accept just this.
    if header.is_empty() || (header == Format::Json.media_type() && offer.formats.contains(&Format::Json)) {
        return Ok(Negotiated { pretty, ..Negotiated::JSON });
    }
    chosen(&header, offer, pretty)
}

/// The first clause of a header that can be served.
fn chosen(header: &str, offer: Offer, pretty: bool) -> Result<Negotiated, Status> {
    if !route_produces(header, offer) {
        return Err(unroutable(offer));
    }
    for clause in clauses(header) {
        for &format in offer.formats {
            if let Some(transform) = clause.matches(format).then(|| clause.transform(format, offer)).flatten() {
                return Ok(Negotiated { format, transform, pretty: pretty || clause.param("pretty") == Some("1") });
            }
        }
    }
    let accepted: Vec<_> = offer.formats.iter().map(|format| format.media_type()).collect();
    Err(not_acceptable(format!("only the following media types are accepted: {}", accepted.join(", "))))
}

/// A version of aggregated discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AggregatedVersion {
    /// `v2`
    V2,
    /// `v2beta1`
    V2Beta1,
}

impl AggregatedVersion {
    /// `apiVersion`.
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::V2 => "apidiscovery.k8s.io/v2",
            Self::V2Beta1 => "apidiscovery.k8s.io/v2beta1",
        }
    }

    /// The exact media type by which clients distinguish it from the older documents.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::V2 => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            Self::V2Beta1 => "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        }
    }
}

/// The version of aggregated discovery that the client prefers; `None` if it prefers the older documents.
pub(crate) fn aggregated_version(headers: &HeaderMap) -> Option<AggregatedVersion> {
    let header = accept_header(headers);
    for clause in clauses(&header) {
        if !Format::ALL.into_iter().any(|format| clause.matches(format)) {
            continue;
        }
        match (clause.param("as"), clause.param("g"), clause.param("v")) {
            (None, None, None) => return None,
            (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2")) => {
                return Some(AggregatedVersion::V2);
            }
            (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2beta1")) => {
                return Some(AggregatedVersion::V2Beta1);
            }
            _ => {}
        }
    }
    None
}

/// The format of the request body, from its `Content-Type`; JSON without one.
pub(crate) fn body_format(headers: &HeaderMap, formats: &[Format]) -> Result<Format, Status> {
    let header = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let media_type = header.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    if media_type.is_empty() {
        return Ok(Format::Json);
    }
    // Go's `mime.ParseMediaType` fails on an empty parameter that is not the last.
    let parameters: Vec<&str> = header.split(';').skip(1).collect();
    let well_formed = parameters.iter().rev().skip(1).all(|parameter| !parameter.trim().is_empty());
    let found = formats.iter().find(|format| well_formed && format.media_type() == media_type);
    found.copied().ok_or_else(|| {
        let accepted: Vec<_> = formats.iter().map(|format| format.media_type()).collect();
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Status::failure(415, reason::UNSUPPORTED_MEDIA_TYPE, message)
    })
}

/// All `Accept` headers, joined.
fn accept_header(headers: &HeaderMap) -> String {
    let values = headers.get_all(http::header::ACCEPT).iter();
    let texts: Vec<&str> = values.filter_map(|value| value.to_str().ok()).filter(|text| !text.is_empty()).collect();
    texts.join(",")
}

fn wants_pretty(headers: &HeaderMap, query: &Query) -> bool {
    match query.get("pretty") {
        Some(value) if !value.is_empty() => matches!(value, "1" | "t" | "T" | "true" | "TRUE" | "True"),
        _ => {
            let agent = headers.get(http::header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("");
            ["curl", "Wget", "Mozilla/5.0"].iter().any(|start| agent.starts_with(start))
        }
    }
}

/// Refuses a request that accepts none of the formats of an endpoint without negotiation.
pub(crate) fn routed(headers: &HeaderMap, formats: &'static [Format]) -> Result<(), Status> {
    let offer = Offer { formats, transforms: false, lists: false };
    let header = accept_header(headers);
    if header.is_empty() || route_produces(&header, offer) { Ok(()) } else { Err(unroutable(offer)) }
}

/// The first, coarse check: bare media types, without preference and parameters. In Kubernetes: go-restful's router.
fn route_produces(header: &str, offer: Offer) -> bool {
    header.split(',').any(|part| {
        let bare = part.split(';').next().unwrap_or("").trim();
        bare == "*/*" || offer.formats.iter().any(|format| format.media_type() == bare)
    })
}

fn unroutable(offer: Offer) -> Status {
    let mut available: Vec<_> = offer.formats.iter().map(|format| format.media_type().to_owned()).collect();
    if offer.lists {
        let streams = offer.formats.iter().filter(|format| format.stream_media_type().is_some());
        available.extend(streams.map(|format| format!("{};stream=watch", format.media_type())));
    }
    let message = format!("406: Not Acceptable\n\nAvailable representations: {}", available.join(", "));
    not_acceptable(message).with_details(coracle_meta::StatusDetails::default())
}

fn not_acceptable(message: String) -> Status {
    Status::failure(406, reason::NOT_ACCEPTABLE, message)
}

/// One clause of an `Accept` header.
#[derive(Debug)]
struct Clause<'a> {
    kind: &'a str,
    subkind: &'a str,
    quality: f32,
    params: Vec<(&'a str, &'a str)>,
}

/// The clauses of a header by preference; among equals the more specific first, then the earlier.
fn clauses(header: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = header.split(',').filter_map(Clause::parse).collect();
    let specific = |clause: &Clause<'_>| (clause.kind != "*", clause.subkind != "*", clause.params.len());
    clauses.sort_by(|a, b| {
        b.quality.total_cmp(&a.quality).then_with(|| {
            let (a, b) = (specific(a), specific(b));
            (b.0, b.1).cmp(&(a.0, a.1))
        })
    });
    clauses
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let (kind, subkind) = parts.next()?.split_once('/')?;
        let mut clause = Self { kind, subkind, quality: 1.0, params: Vec::new() };
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (name.trim(), value.trim());
            if name == "q" {
                clause.quality = value.parse().unwrap_or(1.0);
            } else {
                clause.params.push((name, value));
            }
        }
        Some(clause)
    }

    fn param(&self, name: &str) -> Option<&'a str> {
        self.params.iter().find(|(own, _)| *own == name).map(|(_, value)| *value)
    }

    fn matches(&self, format: Format) -> bool {
        let media_type = format.media_type();
        let subkind = media_type.strip_prefix("application/").unwrap_or(media_type);
        match (self.kind, self.subkind) {
            ("*", "*") | ("application", "*") => true,
            (kind, own) => kind == "application" && own == subkind,
        }
    }

    /// The requested representation; `None` if the endpoint does not support it, so that the clause is skipped.
    fn transform(&self, format: Format, offer: Offer) -> Option<Transform> {
        match self.param("stream") {
            None | Some("" | "watch") => {}
            Some(_) => return None,
        }
        let (kind, group, version) = (self.param("as"), self.param("g"), self.param("v"));
        let kind = kind.filter(|kind| !kind.is_empty());
        if kind.is_none() && group.is_none() && version.is_none() {
            return Some(Transform::None);
        }
        if !offer.transforms || group != Some("meta.k8s.io") {
            return None;
        }
        let version = match version? {
            "v1" => MetaVersion::V1,
            "v1beta1" => MetaVersion::V1Beta1,
            _ => return None,
        };
        match kind? {
            // A table has no message in protobuf.
            "Table" if format != Format::Protobuf => Some(Transform::Table(version)),
            "PartialObjectMetadata" => Some(Transform::PartialObjectMetadata(version)),
            "PartialObjectMetadataList" => Some(Transform::PartialObjectMetadataList(version)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    const ITEM: Offer = Offer { formats: &Format::ALL, transforms: true, lists: false };

    fn ask(accept: &str, offer: Offer) -> Result<Negotiated, Status> {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::ACCEPT, HeaderValue::from_str(accept).unwrap());
        negotiate(&headers, &Query::default(), offer)
    }

    #[test]
    fn the_first_clause_that_can_be_served_wins() {
        let custom = Offer { formats: &[Format::Json, Format::Yaml], ..ITEM };
        for (accept, offer, format, transform) in [
            ("application/json", ITEM, Format::Json, Transform::None),
            ("application/vnd.kubernetes.protobuf, */*", ITEM, Format::Protobuf, Transform::None),
            ("application/vnd.kubernetes.protobuf,application/json", custom, Format::Json, Transform::None),
            ("application/json;q=0.5,application/yaml", ITEM, Format::Yaml, Transform::None),
            ("*/*", ITEM, Format::Json, Transform::None),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
                ITEM,
                Format::Json,
                Transform::Table(MetaVersion::V1),
            ),
            ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", ITEM, Format::Json, Transform::None),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
                Offer { transforms: false, ..ITEM },
                Format::Json,
                Transform::None,
            ),
        ] {
            let negotiated = ask(accept, offer).unwrap();
            assert_eq!((negotiated.format, negotiated.transform), (format, transform), "{accept}");
        }
    }

    #[test]
    fn plain_json_is_negotiated_as_by_its_clauses() {
        for formats in [&Format::ALL[..], &[Format::Yaml, Format::Json], &[Format::Json], &[Format::Yaml]] {
            for (transforms, lists) in [(true, true), (true, false), (false, true), (false, false)] {
                let offer = Offer { formats, transforms, lists };
                assert_eq!(ask("application/json", offer), chosen("application/json", offer, false), "{offer:?}");
            }
        }
    }

    #[test]
    fn unsupported_media_types_have_kubernetes_exact_error() {
        assert_eq!(
            ask("text/csv", ITEM).unwrap_err().message,
            "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf"
        );
        assert_eq!(
            ask("application/json;as=Else;v=v1;g=meta.k8s.io", ITEM).unwrap_err().message,
            "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
        );
    }

    #[test]
    fn a_json_only_endpoint_refuses_other_media_types() {
        let ask = |accept: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(http::header::ACCEPT, HeaderValue::from_static(accept));
            routed(&headers, &[Format::Json]).map_err(|status| status.message)
        };
        let refused = "406: Not Acceptable\n\nAvailable representations: application/json";
        assert_eq!(ask("application/vnd.kubernetes.protobuf"), Err(refused.to_owned()));
        assert_eq!(ask("application/vnd.kubernetes.protobuf, */*"), Ok(()));
        assert_eq!(ask("application/json;q=0.1"), Ok(()));
        assert_eq!(routed(&HeaderMap::new(), &[Format::Json]).map_err(|status| status.message), Ok(()));
    }

    #[test]
    fn a_body_of_an_unknown_type_is_refused_and_no_type_means_json() {
        let mut headers = HeaderMap::new();
        assert_eq!(body_format(&headers, &Format::ALL).unwrap(), Format::Json);
        headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        assert_eq!(body_format(&headers, &Format::ALL).unwrap(), Format::Json);
        headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        assert_eq!(body_format(&headers, &Format::ALL).unwrap_err().code, 415);
    }

    proptest! {
        #[test]
        fn no_header_panics(accept in "[ -~]{0,80}") {
            let _ = ask(&accept, ITEM);
        }
    }
}
