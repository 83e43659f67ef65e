//! `create namespace`, `create serviceaccount` and `create cronjob`.

use serde_json::json;

use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::{CREATE, Making, command_words, make, metadata, name_argument};
use crate::session::CommandSession;
use crate::verb::{OUTPUT, VALIDATE, Verb, WRITE};

const CRON_JOB_FLAGS: &[Flag] = &[
    Flag::text("image", "The image of the container"),
    Flag::text("schedule", "When it runs, in the format of cron"),
    Flag::text("restart", "Never or OnFailure"),
];

pub(super) const NAMESPACE: Verb = Verb {
    words: &["create", "namespace"],
    aliases: &["ns"],
    flags: &[CREATE, OUTPUT, WRITE, VALIDATE],
    required: &[],
    about: "Create a namespace with the specified name",
    run: |session| Box::pin(namespace(session)),
};

pub(super) const SERVICE_ACCOUNT: Verb = Verb {
    words: &["create", "serviceaccount"],
    aliases: &["sa"],
    flags: &[CREATE, OUTPUT, WRITE, VALIDATE],
    required: &[],
    about: "Create a service account with the specified name",
    run: |session| Box::pin(service_account(session)),
};

pub(super) const CRON_JOB: Verb = Verb {
    words: &["create", "cronjob"],
    aliases: &["cj"],
    flags: &[CRON_JOB_FLAGS, CREATE, OUTPUT, WRITE, VALIDATE],
    required: &["image", "schedule"],
    about: "Create a cron job with the specified name",
    run: |session| Box::pin(cron_job(session)),
};

async fn namespace(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let name = name_argument(session)?;
    let object = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"creationTimestamp": null, "name": name},
        "spec": {}, "status": {},
    });
    make(session, object, Making::new("", "Namespace")).await
}

async fn service_account(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let name = name_argument(session)?;
    let object = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(session, &name)});
    make(session, object, Making::new("", "ServiceAccount").or("failed to create serviceaccount: ")).await
}

async fn cron_job(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let name = name_argument(session)?;
    let command = command_words(session);
    let restart = session.flags.text_or("restart", "OnFailure");
    let mut container = json!({"image": session.flags.text("image"), "name": name, "resources": {}});
    if !command.is_empty() {
        container["command"] = json!(command);
    }
    let template = json!({
        "metadata": {"creationTimestamp": null},
        "spec": {"containers": [container], "restartPolicy": restart},
    });
    let object = json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": metadata(session, &name),
        "spec": {
            "jobTemplate": {
                "metadata": {"creationTimestamp": null, "name": name},
                "spec": {"template": template},
            },
            "schedule": session.flags.text("schedule"),
        },
        "status": {},
    });
    make(session, object, Making::new("batch", "CronJob").or("failed to create cronjob: ")).await
}
