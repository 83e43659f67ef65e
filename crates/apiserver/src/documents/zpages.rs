//! `/statusz` and `/flagz`: what runs here, for a person who looks for the cause of a problem.

use axum::body::Body;
use coracle_ambient::Timestamp;
use coracle_meta::{Status, format_time, reason};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use serde_json::{Map, Value, json};

use crate::answer::negotiate::{Format, Negotiated};
use crate::answer::respond;

const COMPONENT: &str = "kube-apiserver";
const WARNING: &str = "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.";
/// The first steps of paths that are no help with problems.
const PLAIN: [&str; 5] = ["/apis", "/api", "/openid", "/openapi", "/.well-known"];

/// The two pages. In Kubernetes: `server/statusz`, `server/flagz`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zpage {
    Statusz,
    Flagz,
}

/// What a page is made of.
#[derive(Debug)]
pub(crate) struct ZpageFacts {
    /// When the server started.
    pub(crate) started: Timestamp,
    /// The time of the request.
    pub(crate) now: Timestamp,
    /// The minor version of Kubernetes, such as `1.0`.
    pub(crate) version: String,
    /// The paths that `/` lists.
    pub(crate) paths: Vec<String>,
}

/// The form of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Json { version: &'static str },
    Yaml { version: &'static str },
}

impl Zpage {
    /// The page at a path.
    pub(crate) fn at(path: &str) -> Option<Self> {
        match path {
            "/statusz" => Some(Self::Statusz),
            "/flagz" => Some(Self::Flagz),
            _ => None,
        }
    }

    /// The feature that adds the page.
    pub(crate) fn feature(self) -> &'static str {
        match self {
            Self::Statusz => "ComponentStatusz",
            Self::Flagz => "ComponentFlagz",
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Statusz => "Statusz",
            Self::Flagz => "Flagz",
        }
    }

    /// The page in the form that the client accepts.
    ///
    /// # Errors
    /// 406 if it accepts none of the forms.
    pub(crate) fn answer(self, facts: &ZpageFacts, headers: &HeaderMap) -> Result<Response<Body>, Status> {
        let accepted: Vec<&str> = headers.get_all("accept").iter().filter_map(|value| value.to_str().ok()).collect();
        let form = self.form(&accepted.join(","))?;
        let (format, media_type, version) = match form {
            Form::Text => return Ok(respond::text(StatusCode::OK, self.text(facts))),
            Form::Json { version } => (Format::Json, "application/json", version),
            Form::Yaml { version } => (Format::Yaml, "application/yaml", version),
        };
        let negotiated = Negotiated { format, ..Negotiated::JSON };
        let mut response = respond::value(StatusCode::OK, &self.document(facts, version), negotiated);
        let media_type = format!("{media_type};g=config.k8s.io;v={version};as={}", self.kind());
        if let Ok(value) = HeaderValue::from_str(&media_type) {
            response.headers_mut().insert(http::header::CONTENT_TYPE, value);
        }
        if version == "v1alpha1" {
            let page = self.kind().to_lowercase();
            let warning =
                format!("299 - \"This version of the {page} endpoint is deprecated. Please use a newer version.\"");
            if let Ok(value) = HeaderValue::from_str(&warning) {
                response.headers_mut().insert(http::header::WARNING, value);
            }
        }
        Ok(response)
    }

    /// The first form of a list of media types that the page has: text only plainly, JSON and YAML only as its kind.
    fn form(self, accepted: &str) -> Result<Form, Status> {
        if accepted.trim().is_empty() {
            return Ok(Form::Text);
        }
        let mut clauses: Vec<(f32, Vec<&str>)> = Vec::new();
        for clause in accepted.split(',') {
            let words: Vec<&str> = clause.split(';').map(str::trim).collect();
            let quality = words.iter().find_map(|word| word.strip_prefix("q=")?.parse().ok());
            clauses.push((quality.unwrap_or(1.0), words));
        }
        clauses.sort_by(|left, right| right.0.total_cmp(&left.0));
        let found = clauses.iter().find_map(|(_, words)| self.form_of(words));
        found.ok_or_else(|| {
            let what = "only the following media types are accepted: application/json, application/yaml, text/plain";
            Status::failure(406, reason::NOT_ACCEPTABLE, what)
        })
    }

    fn form_of(self, words: &[&str]) -> Option<Form> {
        let (media_type, parameters) = words.split_first()?;
        let parameter = |name: &str| parameters.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let version = match (parameter("g"), parameter("v"), parameter("as")) {
            (None, None, None) => None,
            (Some("config.k8s.io"), Some("v1beta1"), Some(kind)) if kind == self.kind() => Some("v1beta1"),
            (Some("config.k8s.io"), Some("v1alpha1"), Some(kind)) if kind == self.kind() => Some("v1alpha1"),
            _ => return None,
        };
        match (*media_type, version) {
            ("text/plain" | "text/*" | "*/*", None) => Some(Form::Text),
            ("application/json" | "application/*" | "*/*", Some(version)) => Some(Form::Json { version }),
            ("application/yaml", Some(version)) => Some(Form::Yaml { version }),
            _ => None,
        }
    }

    fn document(self, facts: &ZpageFacts, version: &str) -> Value {
        let mut document = json!({
            "kind": self.kind(),
            "apiVersion": format!("config.k8s.io/{version}"),
            "metadata": {"name": COMPONENT},
        });
        if self == Self::Statusz {
            let own = json!({
                "startTime": format_time(facts.started),
                "uptimeSeconds": facts.uptime(),
                "goVersion": "",
                "binaryVersion": facts.version,
                "emulationVersion": facts.version,
                "paths": facts.first_steps(),
            });
            let fields = own.as_object().cloned().unwrap_or_else(Map::new);
            fields.into_iter().for_each(|(name, value)| document[name] = value);
        }
        document
    }

    fn text(self, facts: &ZpageFacts) -> String {
        let head = format!("\n{COMPONENT} {}\n{WARNING}\n", self.kind().to_lowercase());
        if self == Self::Flagz {
            return head;
        }
        let up = facts.uptime();
        let up = format!("{} hr {:02} min {:02} sec", up / 3600, up / 60 % 60, up % 60);
        let started = facts.started.strftime("%a %b %e %H:%M:%S UTC %Y");
        let (version, paths) = (&facts.version, facts.first_steps().join(" "));
        format!(
            "{head}\nStarted: {started}\nUp: {up}\nGo version: \nBinary version: {version}\n\
             Emulation version: {version}\nPaths: {paths}\n"
        )
    }
}

impl ZpageFacts {
    /// The seconds since the start.
    fn uptime(&self) -> i64 {
        (self.now.as_second() - self.started.as_second()).max(0)
    }

    /// The first steps of the paths that help with problems.
    fn first_steps(&self) -> Vec<String> {
        let first =
            |path: &String| path.split('/').nth(1).filter(|step| !step.is_empty()).map(|step| format!("/{step}"));
        let mut steps: Vec<String> = self.paths.iter().filter_map(first).collect();
        steps.retain(|step| !PLAIN.contains(&step.as_str()));
        steps.sort_unstable();
        steps.dedup();
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> ZpageFacts {
        let time = |text: &str| text.parse().unwrap();
        ZpageFacts {
            started: time("2026-01-02T03:04:05Z"),
            now: time("2026-01-02T04:05:06Z"),
            version: "1.0".to_owned(),
            paths: ["/api", "/apis/apps", "/healthz/ping", "/healthz", "/metrics"].map(str::to_owned).to_vec(),
        }
    }

    #[test]
    fn text_is_plain_and_json_and_yaml_are_a_kind() {
        let form = |accepted: &str| Zpage::Statusz.form(accepted).ok();
        let beta = "v=v1beta1;g=config.k8s.io;as=Statusz";
        for accepted in ["", "text/plain", "*/*", "application/xml, text/plain;q=0.5"] {
            assert_eq!(form(accepted), Some(Form::Text), "{accepted}");
        }
        assert_eq!(form(&format!("application/json;{beta}")), Some(Form::Json { version: "v1beta1" }));
        assert_eq!(
            form(&format!("text/plain;q=0.1, application/yaml;{beta}")),
            Some(Form::Yaml { version: "v1beta1" })
        );
        for accepted in ["application/json", "application/xml", "application/json;v=v1beta1;g=config.k8s.io;as=Flagz"] {
            assert_eq!(form(accepted), None, "{accepted}");
        }
    }

    #[test]
    fn the_status_says_since_when_the_server_runs() {
        let text = Zpage::Statusz.text(&facts());
        assert!(text.contains("Started: Fri Jan  2 03:04:05 UTC 2026\nUp: 1 hr 01 min 01 sec\n"), "{text}");
        assert!(text.ends_with("Paths: /healthz /metrics\n"), "{text}");
        let document = Zpage::Statusz.document(&facts(), "v1beta1");
        assert_eq!(document["uptimeSeconds"], 3661);
        assert_eq!(document["paths"], json!(["/healthz", "/metrics"]));
    }
}
