//! `create deployment`.

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::{CREATE, Making, command_words, make, metadata, name_argument};
use crate::session::CommandSession;
use crate::verb::{OUTPUT, VALIDATE, Verb, WRITE};

const FLAGS: &[Flag] = &[
    Flag::list("image", "The images of the containers"),
    Flag::number("port", "The port of the container"),
    Flag::number("replicas", "The number of pods").or('r'),
];

pub(super) const VERB: Verb = Verb {
    words: &["create", "deployment"],
    aliases: &["deploy"],
    flags: &[FLAGS, CREATE, OUTPUT, WRITE, VALIDATE],
    required: &["image"],
    about: "Create a deployment with the specified name",
    run: |session| Box::pin(run(session)),
};

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let name = name_argument(session)?;
    let command = command_words(session);
    let images = session.flags.texts("image").to_vec();
    if images.len() > 1 && !command.is_empty() {
        return Err(Failure::text("cannot specify multiple --image options and command"));
    }
    let mut containers: Vec<Value> = images.iter().map(|image| container(session, image)).collect();
    if let Some(first) = containers.first_mut() {
        if !command.is_empty() {
            first["command"] = json!(command);
        }
        if let Some(port) = session.flags.number("port").filter(|port| *port >= 0) {
            first["ports"] = json!([{"containerPort": port}]);
        }
    }
    let labels = json!({"app": name});
    let mut own = metadata(session, &name);
    own["labels"] = labels.clone();
    let deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": own,
        "spec": {
            "replicas": session.flags.number("replicas").unwrap_or(1),
            "selector": {"matchLabels": labels},
            "strategy": {},
            "template": {
                "metadata": {"creationTimestamp": null, "labels": labels},
                "spec": {"containers": containers},
            },
        },
        "status": {},
    });
    make(session, deployment, Making::new("apps", "Deployment").or("failed to create deployment: ")).await
}

fn container(session: &CommandSession<'_>, image: &str) -> Value {
    let name = image.rsplit('/').next().unwrap_or_default();
    let name = name.split([':', '@']).next().unwrap_or_default();
    let name = if name.contains(['_', '.']) {
        // kubectl adds random letters; here the same image always has the same name.
        format!("{}-{}", name.replace(['_', '.'], "-"), letters(session, image))
    } else {
        name.to_owned()
    };
    json!({"image": image, "name": name, "resources": {}})
}

/// Five letters that follow from the image.
fn letters(session: &CommandSession<'_>, image: &str) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut hash = session
        .namespace()
        .bytes()
        .chain(image.bytes())
        .fold(5381_usize, |hash, byte| hash.wrapping_mul(33) ^ usize::from(byte));
    let mut next = || {
        let letter = LETTERS[hash % LETTERS.len()];
        hash /= LETTERS.len();
        char::from(letter)
    };
    (0..5).map(|_| next()).collect()
}
