//! `create job`: from an image, or from a CronJob.

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::{CREATE, Making, command_words, make, metadata, name_argument};
use crate::selection::{Wanted, select};
use crate::session::CommandSession;
use crate::values::{name, text};
use crate::verb::{OUTPUT, VALIDATE, Verb, WRITE};

const FLAGS: &[Flag] =
    &[Flag::text("image", "The image of the container"), Flag::text("from", "The CronJob to create a Job from")];

pub(super) const VERB: Verb = Verb {
    words: &["create", "job"],
    aliases: &[],
    flags: &[FLAGS, CREATE, OUTPUT, WRITE, VALIDATE],
    required: &[],
    about: "Create a job with the specified name",
    run: |session| Box::pin(run(session)),
};

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let job = name_argument(session)?;
    let command = command_words(session);
    let (image, from) = (session.flags.text("image").to_owned(), session.flags.text("from").to_owned());
    if image.is_empty() == from.is_empty() {
        return Err(Failure::text("either --image or --from must be specified"));
    }
    if !command.is_empty() && !from.is_empty() {
        return Err(Failure::text("cannot specify --from and command"));
    }
    let object = match from.as_str() {
        "" => of_image(session, &job, &image, &command),
        _ => of_cron_job(session, &job, &from).await?,
    };
    make(session, object, Making::new("batch", "Job").or("failed to create job: ")).await
}

fn of_image(session: &CommandSession<'_>, job: &str, image: &str, command: &[String]) -> Value {
    let mut container = json!({"image": image, "name": job, "resources": {}});
    if !command.is_empty() {
        container["command"] = json!(command);
    }
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(session, job),
        "spec": {"template": {
            "metadata": {"creationTimestamp": null},
            "spec": {"containers": [container], "restartPolicy": "Never"},
        }},
        "status": {},
    })
}

async fn of_cron_job(session: &mut CommandSession<'_>, job: &str, from: &str) -> Result<Value, Failure> {
    let wanted = Wanted { args: vec![from.to_owned()], ..Wanted::default() };
    let infos = select(session, &wanted).await?.fetch_all(session).await?;
    let [info] = infos.as_slice() else { return Err(Failure::text("from must be an existing cronjob")) };
    if !info.kind.is_named("batch", "CronJob") {
        return Err(Failure::text(format!("unknown object type *v1.{}", info.kind.kind)));
    }
    let template = &info.object["spec"]["jobTemplate"];
    let mut own = metadata(session, job);
    own["annotations"] = template["metadata"]["annotations"].as_object().cloned().unwrap_or_default().into();
    own["annotations"]["cronjob.kubernetes.io/instantiate"] = "manual".into();
    if template["metadata"]["labels"].is_object() {
        own["labels"] = template["metadata"]["labels"].clone();
    }
    own["ownerReferences"] = json!([{
        "apiVersion": "batch/v1", "controller": true, "kind": "CronJob", "name": name(&info.object),
        "uid": text(&info.object, "/metadata/uid"),
    }]);
    Ok(json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": own, "spec": template["spec"], "status": {}}))
}
