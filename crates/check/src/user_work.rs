use std::time::Duration;

use coracle_client::{Api, Client, DeleteParams, Patch, WriteParams};
use coracle_cluster::{Cluster, User};
use coracle_meta::{GroupVersion, GroupVersionResource, Object, Scope};
use serde_json::Value;
use tokio::time::sleep;

use crate::Error;
use crate::change::{back, changes};
use crate::webhook_hint::with_hint;

/// The user whose wishes the controller carries out.
pub(crate) const USER: &str = "user";
/// The namespace of objects without one.
pub(crate) const NAMESPACE: &str = "default";
/// After how long a refused act is repeated at first; the pause doubles.
const AGAIN: Duration = Duration::from_millis(20);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(1);
/// How long an act is repeated: for a definition that is not served yet, and for a name that is still taken. It is longer
/// than each delay that a fault causes.
const PATIENCE: Duration = Duration::from_secs(1200);

/// A sample, and how it is changed.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// The object.
    pub(crate) object: Object,
    /// The merge patch that changes it.
    pub(crate) change: Value,
}

/// The part of an object that a request changes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// The object without its status, if the status is a subresource.
    Whole,
    /// The status.
    Status,
}

/// The acts of the user on a cluster.
pub(crate) struct UserWork<'c> {
    cluster: &'c Cluster,
    client: Client,
}

impl<'c> UserWork<'c> {
    pub(crate) fn new(cluster: &'c Cluster) -> Self {
        let client = cluster.client_as(User::new(USER, ["system:masters"])).with_user_agent(USER);
        Self { cluster, client }
    }

    /// Creates an object. A kind that is not served yet and a name that is still taken are awaited.
    pub(crate) async fn create(&self, object: &Object) -> Result<Object, Error> {
        let (mut waited, mut pause) = (Duration::ZERO, AGAIN);
        loop {
            let refused = match self.api(object) {
                Some((api, object)) => match api.create(&object).await {
                    Ok(created) => return Ok(created),
                    Err(error) if error.is_already_exists() || error.is_not_found() => error.to_string(),
                    Err(error) => return Err(refusal(&object, error)),
                },
                None => not_served(object),
            };
            if waited >= PATIENCE {
                return Err(refusal(object, refused));
            }
            sleep(pause).await;
            waited += pause;
            pause = (2 * pause).min(LONGEST);
        }
    }

    /// Deletes an object, and creates it again as soon as its name is free. If the old one never goes, no other exists.
    pub(crate) async fn replace(&self, object: &Object) -> Result<(), Error> {
        self.delete(object).await?;
        match self.create(object).await {
            Err(error) if !self.exists(object).await => Err(error),
            _ => Ok(()),
        }
    }

    async fn exists(&self, object: &Object) -> bool {
        match self.api(object) {
            Some((api, object)) => matches!(api.find(&object.key()).await, Ok(Some(_))),
            None => false,
        }
    }

    /// Changes an object with a merge patch.
    pub(crate) async fn patch(&self, object: &Object, patch: &Value) -> Result<(), Error> {
        self.patch_as(object, patch, WriteParams::default()).await
    }

    async fn patch_as(&self, object: &Object, patch: &Value, params: WriteParams) -> Result<(), Error> {
        let Some((api, object)) = self.api(object) else { return Ok(()) };
        match api.writing(params).patch(&object.key(), &Patch::Merge(patch.clone())).await {
            // A controller may have removed it.
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(refusal(&object, error)),
            Ok(_) => Ok(()),
        }
    }

    /// Creates an object, or merges it into the one that exists.
    pub(crate) async fn apply(&self, object: &Object) -> Result<(), Error> {
        let (api, object) = self.api(object).ok_or_else(|| unserved(object))?;
        let params = WriteParams { field_manager: USER.to_owned(), ..WriteParams::default() };
        let patch = Patch::Apply { object: object.to_value(), force: true };
        let applied = api.writing(params).patch(&object.key(), &patch).await;
        applied.map(drop).map_err(|error| refusal(&object, error))
    }

    /// Merges fields into this part of an object that exists.
    pub(crate) async fn merge(&self, fields: &Object, part: Part) -> Result<(), Error> {
        let (api, object) = self.api(fields).ok_or_else(|| unserved(fields))?;
        let (key, patch) = (object.key(), Patch::Merge(object.to_value()));
        let merged = match part {
            Part::Whole => api.patch(&key, &patch).await,
            Part::Status => api.patch_status(&key, &patch).await,
        };
        merged.map(drop).map_err(|error| refusal(&object, error))
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Takes the change of a sample back.
    pub(crate) async fn change_back(&self, sample: &Sample) -> Result<(), Error> {
        self.patch(&sample.object, &back(&sample.object, &sample.change)).await
    }

    /// Deletes an object; one that does not exist is left alone.
    pub(crate) async fn delete(&self, object: &Object) -> Result<(), Error> {
        let Some((api, object)) = self.api(object) else { return Ok(()) };
        match api.delete(&object.key(), &DeleteParams::default()).await {
            Err(error) if !error.is_not_found() => Err(refusal(&object, error)),
            _ => Ok(()),
        }
    }

    /// The sample with the first change that the API server accepts.
    pub(crate) async fn sample(&self, object: &Object) -> Result<Sample, Error> {
        self.create(object).await?;
        let trying = WriteParams { dry_run: true, ..WriteParams::default() };
        // The sample itself may have fields that its definition does not know.
        let strictly = WriteParams { field_validation: "Strict".to_owned(), ..trying.clone() };
        for change in changes(object) {
            let accepted = self.patch_as(object, &change, strictly.clone()).await;
            if accepted.is_ok() && self.patch_as(object, &back(object, &change), trying.clone()).await.is_ok() {
                return Ok(Sample { object: object.clone(), change });
            }
        }
        Err(refusal(object, "no change of it is accepted"))
    }

    /// The objects of the kind, and the object with its namespace; `None` if the kind is not served.
    fn api(&self, object: &Object) -> Option<(Api<Object>, Object)> {
        let GroupVersion { group, version } = GroupVersion::parse(object.api_version())?;
        let kinds = self.cluster.registry().kinds();
        let kind = kinds.kind(&GroupVersion::parse(object.api_version())?.kind(object.kind()))?;
        let api = Api::dynamic(&self.client, GroupVersionResource::new(group, version, &kind.row().plural));
        let mut object = object.clone();
        if kind.row().scope != Scope::Namespaced {
            return Some((api, object));
        }
        if object.namespace().is_empty() {
            object.set("metadata.namespace", NAMESPACE);
        }
        Some((api.within(object.namespace()), object))
    }
}

fn not_served(object: &Object) -> String {
    format!("the cluster serves no kind `{}` in `{}`", object.kind(), object.api_version())
}

fn unserved(object: &Object) -> Error {
    refusal(object, not_served(object))
}

fn refusal(object: &Object, why: impl ToString) -> Error {
    Error::Refused { object: format!("{} {}", object.kind(), object.name()), why: with_hint(why.to_string()) }
}
