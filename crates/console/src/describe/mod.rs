//! Descriptions of objects: the texts of `describe`.
//!
//! ```text
//! object --of_kind: one function a kind--> Description: lines whose cells end with tabs --align--> text
//! ```
//! In Kubernetes: `kubectl/pkg/describe`.

mod config;
mod containers;
mod description;
mod events;
mod generic;
mod jobs;
mod labels;
mod namespace;
mod node;
mod pod;
mod rbac;
mod service;
mod storage;
mod times;
mod volumes;
mod workloads;

use coracle_ambient::Timestamp;
use futures_util::future::BoxFuture;
use serde_json::Value;

pub(crate) use self::description::Description;
pub(crate) use self::labels::selector;
pub(crate) use self::workloads::{newest, replica_sets, without_hash};
use crate::failure::Failure;
use crate::manifests::Info;
use crate::session::CommandSession;
use crate::tabs::DESCRIPTION;

/// What a description needs besides the object.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) now: Timestamp,
    /// The events of the object; `None` if they are not shown.
    pub(crate) events: Option<Vec<Value>>,
}

/// Reads what belongs to an object, and describes both.
type Describe =
    for<'s> fn(&'s mut CommandSession<'_>, &'s Info, &'s Facts) -> BoxFuture<'s, Result<Description, Failure>>;

/// The descriptions by group and kind.
const ALL: &[(&str, &str, Describe)] = &[
    ("", "ConfigMap", |_, info, facts| Box::pin(async { Ok(config::config_map(&info.object, facts)) })),
    ("", "Namespace", |session, info, _| Box::pin(namespace::namespace(session, &info.object))),
    ("", "Node", |session, info, facts| Box::pin(node::node(session, &info.object, facts))),
    ("", "PersistentVolumeClaim", |session, info, facts| Box::pin(storage::claim(session, &info.object, facts))),
    ("", "Pod", |_, info, facts| Box::pin(async { Ok(pod::pod(&info.object, facts)) })),
    ("", "Secret", |_, info, _| Box::pin(async { Ok(config::secret(&info.object)) })),
    ("", "Service", |session, info, facts| Box::pin(service::service(session, &info.object, facts))),
    ("", "ServiceAccount", |session, info, facts| Box::pin(rbac::service_account(session, &info.object, facts))),
    ("apps", "DaemonSet", |session, info, facts| Box::pin(workloads::daemon_set(session, &info.object, facts))),
    ("apps", "Deployment", |session, info, facts| Box::pin(workloads::deployment(session, &info.object, facts))),
    ("apps", "ReplicaSet", |session, info, facts| Box::pin(workloads::replica_set(session, &info.object, facts))),
    ("apps", "StatefulSet", |session, info, facts| Box::pin(workloads::stateful_set(session, &info.object, facts))),
    ("batch", "CronJob", |_, info, facts| Box::pin(async { Ok(jobs::cron_job(&info.object, facts)) })),
    ("batch", "Job", |_, info, facts| Box::pin(async { Ok(jobs::job(&info.object, facts)) })),
    ("rbac.authorization.k8s.io", "ClusterRole", |_, info, _| Box::pin(async { Ok(rbac::role(&info.object)) })),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", |_, info, _| {
        Box::pin(async { Ok(rbac::binding(&info.object)) })
    }),
    ("rbac.authorization.k8s.io", "Role", |_, info, _| Box::pin(async { Ok(rbac::role(&info.object)) })),
    ("rbac.authorization.k8s.io", "RoleBinding", |_, info, _| Box::pin(async { Ok(rbac::binding(&info.object)) })),
];

/// The description of a template of pods, whose cells are not aligned.
pub(crate) fn template(template: &Value) -> String {
    let mut out = Description::default();
    pod::template(&mut out, template);
    out.text
}

/// The description of an object.
pub(crate) async fn describe(
    session: &mut CommandSession<'_>,
    info: &Info,
    shows_events: bool,
) -> Result<String, Failure> {
    let events = if shows_events { Some(events::of_object(session, info).await) } else { None };
    let facts = Facts { now: session.setting.clock.now(), events };
    let known = ALL.iter().find(|(group, kind, _)| info.kind.is_named(group, kind));
    let description = match known {
        Some((.., describe)) => describe(session, info, &facts).await?,
        None => generic::generic(&info.object, &facts),
    };
    Ok(DESCRIPTION.align(&description.text))
}
