//! Waiting for a state of an object, by watches: the time that passes is that of tokio.
//!
//! In Kubernetes: `kubectl/pkg/cmd/wait`.

use coracle_meta::{ObjectKey, WatchEvent};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::failure::Failure;
use crate::kinds::ServedKind;
use crate::session::CommandSession;
use crate::values::text;

/// The object that is awaited, and until when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Awaited<'a> {
    pub(crate) kind: &'a ServedKind,
    pub(crate) key: &'a ObjectKey,
    /// The uid of the object; empty for any.
    pub(crate) uid: &'a str,
    pub(crate) deadline: Instant,
}

impl Awaited<'_> {
    /// `pods/web`, `deployments.apps/web`.
    fn title(&self) -> String {
        format!("{}/{}", self.kind.plural, self.key.name)
    }

    fn timed_out(&self) -> Failure {
        Failure::text(format!("timed out waiting for the condition on {}", self.title()))
    }
}

/// Waits until the object is gone, or replaced by another one of the same name.
pub(crate) async fn until_gone(session: &mut CommandSession<'_>, awaited: &Awaited<'_>) -> Result<(), Failure> {
    let is_gone = |object: Option<&Value>| match object {
        None => true,
        Some(object) => !awaited.uid.is_empty() && text(object, "/metadata/uid") != awaited.uid,
    };
    until(session, awaited, |object| Ok(is_gone(object).then_some(()))).await
}

/// Waits until `decide` returns a value for the object, or for its absence.
pub(crate) async fn until<T>(
    session: &mut CommandSession<'_>,
    awaited: &Awaited<'_>,
    mut decide: impl FnMut(Option<&Value>) -> Result<Option<T>, Failure>,
) -> Result<T, Failure> {
    loop {
        let current = session.find(awaited.kind, &awaited.key.namespace, &awaited.key.name).await?;
        if let Some(decided) = decide(current.as_ref())? {
            return Ok(decided);
        }
        let version = current.as_ref().map(|object| text(object, "/metadata/resourceVersion").to_owned());
        let mut watch = session.watch_one(awaited.kind, awaited.key, &version.unwrap_or_default()).await?;
        loop {
            let event = timeout_at(awaited.deadline, watch.next()).await.map_err(|_| awaited.timed_out())?;
            let decided = match event? {
                Some(WatchEvent::Added(object) | WatchEvent::Modified(object)) => decide(Some(object.as_value()))?,
                Some(WatchEvent::Deleted(_)) => decide(None)?,
                Some(WatchEvent::Bookmark { .. }) => None,
                // The watch expired: it starts again after a read.
                Some(WatchEvent::Error(_)) | None => break,
            };
            if let Some(decided) = decided {
                return Ok(decided);
            }
        }
    }
}
