use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use coracle_exposition::{Exposition, MetricKind, Observations};
use coracle_meta::GroupVersionResource;
use coracle_registry::Kind;
use coracle_release::Release;
use http::Method;
use parking_lot::Mutex;

use crate::audit::Audit;
use crate::front::request_info::{RequestInfo, ResourceRequest};
use crate::limits::in_flight::InFlight;

/// The upper bounds of the histogram buckets, in seconds.
const BUCKETS: [f64; 12] = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 1.0, 2.0, 5.0, 10.0, 60.0];

/// The maximum number of series, and of kinds of open streams. Requests beyond that are counted only by their verb.
const MOST_SERIES: usize = 20_000;

/// After this number of responses without room for a series, unserved resources are dropped.
const FORGET_EACH: usize = 1_000;

/// The verbs that are labels; every other HTTP method is `other`. In Kubernetes: `validRequestMethods`.
const VERBS: [&str; 12] = [
    "CONNECT",
    "CREATE",
    "DELETE",
    "DELETECOLLECTION",
    "GET",
    "LIST",
    "PATCH",
    "POST",
    "PROXY",
    "PUT",
    "UPDATE",
    "WATCH",
];

/// The metrics of requests, with Kubernetes' names. A client cannot choose labels: verbs are from a fixed list, and
/// resources are those that are served.
///
/// In Kubernetes: `endpoints/metrics`.
#[derive(Debug, Default)]
pub(crate) struct RequestMetrics {
    requests: Mutex<BTreeMap<Label, Series>>,
    /// How many responses were counted only by their verb, because there was no room for another series.
    turned_away: AtomicUsize,
    /// The number of open streams.
    streams: Arc<Mutex<BTreeMap<Label, u64>>>,
}

/// A stream that counts as open until this value is dropped.
#[derive(Debug)]
pub(crate) struct OpenStream {
    streams: Arc<Mutex<BTreeMap<Label, u64>>>,
    label: Label,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut streams = self.streams.lock();
        if let Some(count) = streams.get_mut(&self.label) {
            *count -= 1;
        }
    }
}

/// The labels of a series of requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Label {
    verb: &'static str,
    resource: GroupVersionResource,
    subresource: String,
    scope: &'static str,
}

#[derive(Clone, Debug, Default)]
struct Series {
    by_code: BTreeMap<u16, u64>,
    buckets: [u64; BUCKETS.len()],
    count: u64,
    seconds: f64,
}

impl Label {
    /// The label of a request; `kind` is its kind, if that is served.
    pub(crate) fn of(info: &RequestInfo, kind: Option<&Kind>) -> Self {
        let verb = known_verb(&info.verb);
        match &info.resource {
            Some(asked) => Self::of_resource(verb, asked, kind),
            None => Self { verb, ..Self::default() },
        }
    }

    /// The label of a request for a resource. If the resource is not served, the label has only the scope.
    pub(crate) fn of_resource(verb: &'static str, asked: &ResourceRequest, kind: Option<&Kind>) -> Self {
        let scope = match (asked.is_item, asked.at.namespace.is_empty()) {
            (true, _) => "resource",
            (false, false) => "namespace",
            (false, true) => "cluster",
        };
        let Some(kind) = kind else { return Self { verb, scope, ..Self::default() } };
        let is_served = asked.at.subresource == "status" || kind.subresource(&asked.at.subresource).is_some();
        let subresource = if is_served { asked.at.subresource.clone() } else { String::new() };
        Self { verb, resource: asked.at.resource.clone(), subresource, scope }
    }

    /// The label for another count in `all`: only the verb if `all` is full. Also returns whether it is full.
    fn within<V>(self, all: &BTreeMap<Self, V>) -> (Self, bool) {
        if all.len() >= MOST_SERIES && !all.contains_key(&self) {
            (Self { verb: self.verb, ..Self::default() }, true)
        } else {
            (self, false)
        }
    }

    fn is_about(&self, is_served: &impl Fn(&GroupVersionResource) -> bool) -> bool {
        self.resource.resource.is_empty() || is_served(&self.resource)
    }

    fn pairs(&self) -> [(&str, &str); 8] {
        let Self { verb, resource: GroupVersionResource { group, version, resource }, subresource, scope } = self;
        [
            ("component", "apiserver"),
            ("dry_run", ""),
            ("group", group),
            ("resource", resource),
            ("scope", scope),
            ("subresource", subresource),
            ("verb", verb),
            ("version", version),
        ]
    }

    fn pairs_with_code<'a>(&'a self, code: &'a str) -> Vec<(&'a str, &'a str)> {
        [&[("code", code)], &self.pairs()[..]].concat()
    }
}

fn known_verb(verb: &str) -> &'static str {
    VERBS.into_iter().find(|known| known.eq_ignore_ascii_case(verb)).unwrap_or("other")
}

impl RequestMetrics {
    /// Counts a response. Paths that are not served share one series, so that they use no memory. Returns whether it is
    /// time to [`forget`](Self::forget) resources, because there is no room for others.
    pub(crate) fn count(&self, label: Label, method: &Method, code: u16, took: Duration) -> bool {
        let label = match code {
            404 | 405 if label.scope != "resource" => Label { verb: known_verb(method.as_str()), ..Label::default() },
            401 | 403 => Label { verb: label.verb, ..Label::default() },
            404 | 405 => Label { subresource: String::new(), scope: "resource", ..Label::default() },
            _ => label,
        };
        let mut requests = self.requests.lock();
        let (label, is_one_more) = label.within(&requests);
        let series = requests.entry(label).or_default();
        let seconds = took.as_secs_f64();
        *series.by_code.entry(code).or_default() += 1;
        series.count += 1;
        series.seconds += seconds;
        if let Some(bucket) = BUCKETS.iter().position(|bound| seconds <= *bound) {
            series.buckets[bucket] += 1;
        }
        // Not each time, because there may be nothing to drop.
        is_one_more && self.turned_away.fetch_add(1, Ordering::Relaxed).is_multiple_of(FORGET_EACH)
    }

    /// Counts a stream until the returned value is dropped.
    pub(crate) fn open_stream(&self, label: Label) -> OpenStream {
        let mut streams = self.streams.lock();
        if streams.len() >= MOST_SERIES {
            streams.retain(|_, count| *count > 0);
        }
        let (label, _) = label.within(&streams);
        *streams.entry(label.clone()).or_default() += 1;
        drop(streams);
        OpenStream { streams: Arc::clone(&self.streams), label }
    }

    /// Drops the counts of resources that are not served any more, such as those of deleted CustomResourceDefinitions.
    pub(crate) fn forget(&self, is_served: impl Fn(&GroupVersionResource) -> bool) {
        self.requests.lock().retain(|label, _| label.is_about(&is_served));
        self.streams.lock().retain(|label, count| *count > 0 || label.is_about(&is_served));
    }

    /// All counts in the text format of Prometheus.
    pub(crate) fn exposition(&self, release: &Release, in_flight: &InFlight, audit: Option<&Audit>) -> String {
        let requests = self.requests.lock().clone();
        let mut out = Exposition::default();
        let name = "apiserver_request_total";
        stable(&mut out, name, MetricKind::Counter, "Requests by verb, resource and HTTP response code.");
        let ended =
            || requests.iter().flat_map(|(label, series)| series.by_code.iter().map(move |(code, n)| (label, code, n)));
        for (label, code, count) in ended() {
            out.sample(name, &label.pairs_with_code(&code.to_string()), count);
        }
        let name = "apiserver_request_terminations_total";
        let help = "Requests that the server gave up: too many at once, or out of time.";
        stable(&mut out, name, MetricKind::Counter, help);
        for (label, code, count) in ended().filter(|(_, code, _)| matches!(code, 429 | 504)) {
            out.sample(name, &label.pairs_with_code(&code.to_string()), count);
        }
        let all = requests.iter();
        histogram(&mut out, "apiserver_request_duration_seconds", "How long requests took, by verb and resource.", all);
        // No component waits for another one here, so the two metrics differ only by the streams.
        let answered = requests.iter().filter(|(label, _)| !matches!(label.verb, "WATCH" | "CONNECT"));
        let help = "How long requests took, streams and the time of others aside.";
        histogram(&mut out, "apiserver_request_sli_duration_seconds", help, answered);
        let name = "apiserver_longrunning_requests";
        stable(&mut out, name, MetricKind::Gauge, "Streams that are open, by verb and resource.");
        for (label, count) in self.streams.lock().iter() {
            out.sample(name, &label.pairs(), count);
        }
        let name = "apiserver_current_inflight_requests";
        stable(&mut out, name, MetricKind::Gauge, "Requests that are being answered, streams aside.");
        let (reads, writes) = in_flight.taken();
        out.sample(name, &[("request_kind", "mutating")], writes);
        out.sample(name, &[("request_kind", "readOnly")], reads);
        if let Some(audit) = audit {
            lost_events(&mut out, audit);
        }
        build_info(&mut out, release);
        out.into_text()
    }
}

fn stable(out: &mut Exposition, name: &str, kind: MetricKind, help: &str) {
    out.metric(name, kind, &format!("[STABLE] {help}"));
}

/// In Kubernetes: `audit.HandlePluginError`.
fn lost_events(out: &mut Exposition, audit: &Audit) {
    let name = "apiserver_audit_error_total";
    let help = "[ALPHA] Audit events that were lost, by the plug-in that lost them.";
    out.metric(name, MetricKind::Counter, help);
    for (plugin, count) in audit.sink.lost() {
        out.sample(name, &[("plugin", plugin)], count);
    }
}

/// The version as a metric, with which dashboards identify servers.
fn build_info(out: &mut Exposition, release: &Release) {
    let (major, minor) = release.major_minor();
    let name = "kubernetes_build_info";
    out.metric(name, MetricKind::Gauge, "[ALPHA] What this server speaks.");
    let labels = [("compiler", "rustc"), ("git_version", release.git_version()), ("major", major), ("minor", minor)];
    out.sample(name, &labels, 1);
}

fn histogram<'a>(out: &mut Exposition, name: &str, help: &str, all: impl Iterator<Item = (&'a Label, &'a Series)>) {
    stable(out, name, MetricKind::Histogram, help);
    for (label, series) in all {
        let mut up_to = 0;
        let cumulative = BUCKETS.iter().zip(series.buckets).map(|(bound, count)| {
            up_to += count;
            (*bound, up_to)
        });
        out.histogram(name, &label.pairs(), Observations { cumulative, count: series.count, sum: series.seconds });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::query::Query;

    #[test]
    fn requests_are_counted_by_code_and_duration() {
        let metrics = RequestMetrics::default();
        let resource = GroupVersionResource::new("", "v1", "pods");
        let label = Label { verb: "GET", resource, scope: "resource", ..Label::default() };
        metrics.count(label.clone(), &Method::GET, 200, Duration::from_millis(30));
        metrics.count(label, &Method::GET, 200, Duration::from_secs(90));
        let text = metrics.exposition(&Release::default(), &InFlight::new(Limits::default()), None);
        assert!(text.contains("apiserver_request_total{code=\"200\","), "{text}");
        assert!(
            text.contains("le=\"0.05\"} 1\n") && text.contains("le=\"60\"} 1\n") && text.contains("le=\"+Inf\"} 2\n")
        );
    }

    /// An audit log that has lost events.
    struct Losing;

    impl crate::AuditSink for Losing {
        fn take(&self, _: Vec<u8>) {}

        fn lost(&self) -> Vec<(&'static str, u64)> {
            vec![("buffered", 7)]
        }
    }

    #[test]
    fn audit_events_that_were_lost_are_counted_by_plug_in() {
        let policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n";
        let policy = Arc::new(crate::AuditPolicy::parse(policy).unwrap());
        let audit = Audit { policy, sink: Arc::new(Losing) };
        let text =
            RequestMetrics::default().exposition(&Release::default(), &InFlight::new(Limits::default()), Some(&audit));
        assert!(text.contains("apiserver_audit_error_total{plugin=\"buffered\"} 7\n"), "{text}");
    }

    #[test]
    fn a_stream_is_counted_while_it_is_open() {
        let metrics = RequestMetrics::default();
        let open = metrics.open_stream(Label { verb: "WATCH", ..Label::default() });
        let counted = |number: u8| {
            let text = metrics.exposition(&Release::default(), &InFlight::new(Limits::default()), None);
            text.lines().any(|line| {
                line.starts_with("apiserver_longrunning_requests{") && line.ends_with(&format!(" {number}"))
            })
        };
        assert!(counted(1));
        drop(open);
        assert!(counted(0));
    }

    #[test]
    fn unknown_paths_share_one_series() {
        let metrics = RequestMetrics::default();
        for number in 0..100 {
            let resource = GroupVersionResource::new("", "v1", format!("x{number}"));
            let label = Label { resource, scope: "cluster", ..Label::default() };
            metrics.count(label, &Method::GET, 404, Duration::ZERO);
        }
        assert_eq!(metrics.requests.lock().len(), 1);
    }

    #[test]
    fn no_method_and_no_resource_of_a_client_becomes_a_label() {
        let metrics = RequestMetrics::default();
        for number in 0..1_000 {
            let method = Method::from_bytes(format!("M{number}").as_bytes()).unwrap();
            for (path, code) in [("/nowhere", 403), ("/nowhere", 404), ("/api/v1/namespaces/a/pods", 405)] {
                let path = format!("{path}{number}");
                let info = RequestInfo::parse(&method, &path, &Query::default()).unwrap();
                metrics.count(Label::of(&info, None), &method, code, Duration::ZERO);
            }
            let path = format!("/apis/g{number}/v1/namespaces/a/things/x/part{number}");
            let info = RequestInfo::parse(&Method::POST, &path, &Query::default()).unwrap();
            for code in [200, 400, 429, 504] {
                metrics.count(Label::of(&info, None), &Method::POST, code, Duration::ZERO);
            }
        }
        let labels: Vec<Label> = metrics.requests.lock().keys().cloned().collect();
        assert!(labels.len() <= 4, "{labels:?}");
        let text = metrics.exposition(&Release::default(), &InFlight::new(Limits::default()), None);
        assert!(text.contains("verb=\"other\"") && !text.contains("M99") && !text.contains("part"), "{text}");
    }

    #[test]
    fn series_of_what_is_not_served_any_more_are_forgotten_and_there_are_so_many_at_most() {
        let metrics = RequestMetrics::default();
        let label = |number: usize| {
            let resource = GroupVersionResource::new("example.com", "v1", format!("x{number}"));
            Label { verb: "LIST", resource, scope: "cluster", ..Label::default() }
        };
        let mut due = 0;
        for number in 0..MOST_SERIES + 2 * FORGET_EACH {
            due += usize::from(metrics.count(label(number), &Method::GET, 200, Duration::ZERO));
            drop(metrics.open_stream(label(number)));
        }
        assert_eq!(due, 2);
        let sizes = || (metrics.requests.lock().len(), metrics.streams.lock().len());
        assert_eq!(sizes().0, MOST_SERIES + 1, "the others share one");
        assert!(sizes().1 <= MOST_SERIES);
        let _open = metrics.open_stream(label(1));
        metrics.forget(|resource| resource.resource == "x7");
        assert_eq!(sizes(), (2, 1), "the one that is served, those without a resource, and what is open");
    }
}
