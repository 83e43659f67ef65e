//! `run`: a pod of an image.
//!
//! In Kubernetes: `kubectl/pkg/cmd/run`.

use coracle_meta::go_quote;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::{CREATE, Making, created, environment, label_pairs, make, metadata, print};
use crate::session::CommandSession;
use crate::verb::{OUTPUT, Verb, WRITE};

const FLAGS: &[Flag] = &[
    Flag::text("image", "The image of the container"),
    Flag::text("image-pull-policy", "When the image is pulled"),
    Flag::texts("env", "Variables, as NAME=VALUE"),
    Flag::text("port", "The port of the container"),
    Flag::text("labels", "Labels of the pod, as KEY=VALUE,KEY=VALUE").or('l'),
    Flag::texts("annotations", "Annotations of the pod, as KEY=VALUE"),
    Flag::text("restart", "Always, OnFailure or Never"),
    Flag::bool("command", "The words after -- are the command, not its arguments"),
    Flag::bool("expose", "Create a service for the pod"),
    Flag::bool("privileged", "A privileged container"),
    Flag::bool("stdin", "Not supported").or('i'),
    Flag::bool("tty", "Not supported").or('t'),
    Flag::bool("attach", "Not supported"),
    Flag::bool("rm", "Not supported"),
    Flag::bool("quiet", "Without effect").or('q'),
    Flag::text("overrides", "Not supported"),
];

pub(super) const VERB: Verb = Verb {
    words: &["run"],
    aliases: &[],
    flags: &[FLAGS, CREATE, OUTPUT, WRITE],
    required: &["image"],
    about: "Run a particular image on the cluster",
    run: |session| Box::pin(run(session)),
};

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    if session.args().is_empty() || session.flags.dash == Some(0) {
        return Err(Failure::usage("NAME is required for run", "run"));
    }
    let image = session.flags.text("image").to_owned();
    if image.is_empty() {
        return Err(Failure::text("--image is required"));
    }
    if !is_image(&image) {
        return Err(Failure::text(format!("Invalid image name {}: invalid reference format", go_quote(&image))));
    }
    if session.flags.is("expose") && session.flags.text("port").is_empty() {
        return Err(Failure::usage("--port must be set when exposing a service", "run"));
    }
    let restart = session.flags.text_or("restart", "Always").to_owned();
    if !["Always", "OnFailure", "Never", ""].contains(&restart.as_str()) {
        return Err(Failure::usage(&format!("invalid restart policy: {restart}"), "run"));
    }
    let policy = session.flags.text("image-pull-policy").to_owned();
    if !["Always", "IfNotPresent", "Never", ""].contains(&policy.as_str()) {
        return Err(Failure::usage(&format!("invalid image pull policy: {policy}"), "run"));
    }
    for flag in ["stdin", "tty", "attach", "rm"] {
        if session.flags.is(flag) {
            return Err(Failure::text(format!("the console is not interactive: run --{flag} is not supported")));
        }
    }
    if session.flags.has("overrides") {
        return Err(Failure::text("the console has no run --overrides"));
    }
    let pod = pod(session, &image, &restart)?;
    let making = Making { manager: "kubectl-run", ..Making::new("", "Pod") };
    let labels = pod["metadata"]["labels"].clone();
    let service = service(session, &labels)?;
    let pod = created(session, pod, making).await?;
    if session.flags.is("expose") {
        make(session, service, Making { manager: "kubectl-run", ..Making::new("", "Service") }).await?;
    }
    print(session, &pod, "created")
}

fn pod(session: &CommandSession<'_>, image: &str, restart: &str) -> Result<Value, Failure> {
    let (name, flags) = (session.args()[0].clone(), &session.flags);
    let mut container = json!({"image": image, "name": name, "resources": {}});
    let words = &session.args()[1..];
    if !words.is_empty() {
        container[if flags.is("command") { "command" } else { "args" }] = json!(words);
    }
    let variables = environment(flags.texts("env"))?;
    if !variables.is_empty() {
        container["env"] = variables.into();
    }
    if flags.has("image-pull-policy") {
        container["imagePullPolicy"] = flags.text("image-pull-policy").into();
    }
    if flags.is("privileged") {
        container["securityContext"] = json!({"privileged": true});
    }
    if flags.has("port") {
        container["ports"] = json!([{"containerPort": port(session)?}]);
    }
    let mut own = metadata(session, &name);
    own["labels"] = match flags.text("labels") {
        "" => json!({"run": name}),
        labels => label_pairs(labels)?,
    };
    for pair in flags.texts("annotations") {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(Failure::text(format!("invalid annotations format: {pair}")));
        };
        own["annotations"][key] = value.into();
    }
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": own,
        "spec": {
            "containers": [container],
            "dnsPolicy": "ClusterFirst",
            "restartPolicy": if restart.is_empty() { "Always" } else { restart },
        },
        "status": {},
    }))
}

fn port(session: &CommandSession<'_>) -> Result<i64, Failure> {
    let text = session.flags.text("port");
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|_| Failure::text(format!("strconv.Atoi: parsing {}: invalid syntax", go_quote(text))))
}

fn service(session: &CommandSession<'_>, labels: &Value) -> Result<Value, Failure> {
    let port = port(session)?;
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(session, &session.args()[0]),
        "spec": {"ports": [{"port": port, "protocol": "TCP", "targetPort": port}], "selector": labels},
        "status": {"loadBalancer": {}},
    }))
}

/// Whether a text can name an image. In Go: `distribution/reference`, `ReferenceRegexp`.
fn is_image(image: &str) -> bool {
    let (rest, digest) = image.split_once('@').map_or((image, None), |(rest, digest)| (rest, Some(digest)));
    let slash = rest.rfind('/').map_or(0, |at| at + 1);
    let (path, tag) = match rest[slash..].find(':') {
        Some(at) => (&rest[..slash + at], Some(&rest[slash + at + 1..])),
        None => (rest, None),
    };
    let is_word = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    let is_tag = |tag: &str| {
        tag.starts_with(is_word)
            && tag.len() <= 128
            && tag.chars().all(|sign| is_word(sign) || sign == '.' || sign == '-')
    };
    let parts: Vec<&str> = path.split('/').collect();
    let is_host = |part: &str| {
        part.contains(['.', ':']) || part == "localhost" || part.chars().any(|sign| sign.is_ascii_uppercase())
    };
    let first = usize::from(parts.len() > 1 && is_host(parts[0]));
    parts[first..].iter().all(|part| is_component(part))
        && tag.is_none_or(is_tag)
        && digest.is_none_or(|digest| digest.contains(':'))
}

fn is_component(part: &str) -> bool {
    let is_letter = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit();
    part.starts_with(is_letter)
        && part.ends_with(is_letter)
        && part.chars().all(|sign| is_letter(sign) || matches!(sign, '.' | '_' | '-'))
        && !part.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_images_have_lower_case_paths() {
        for image in ["nginx", "nginx:1.27", "docker.io/library/nginx:latest", "a/b@sha256:0", "localhost:5000/x:Y"] {
            assert!(is_image(image), "{image}");
        }
        for image in ["UP", "nginx:", "a//b", "", "a:b:c", "-a", "a..b"] {
            assert!(!is_image(image), "{image}");
        }
    }
}
