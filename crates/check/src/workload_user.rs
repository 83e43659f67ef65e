use std::fmt;

use coracle_client::Client;
use coracle_meta::Object;

use crate::acts::Acts;
use crate::user_work::{Part, UserWork};
use crate::{Error, given};

/// The user whose wishes a controller carries out, in a [workload](crate::ControllerCheck::workload).
///
/// Each text is YAML or JSON with one or more objects. An object without a namespace is in `default`.
pub struct WorkloadUser<'t> {
    work: UserWork<'t>,
    acts: &'t Acts<'t>,
}

impl fmt::Debug for WorkloadUser<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WorkloadUser")
    }
}

/// The objects of a text.
fn objects(text: &str) -> Result<Vec<Object>, Error> {
    given::objects("the workload", text)
}

impl<'t> WorkloadUser<'t> {
    pub(crate) fn new(work: UserWork<'t>, acts: &'t Acts<'t>) -> Self {
        Self { work, acts }
    }

    /// Creates objects. If a name is still taken by an object that terminates, the user waits for it.
    ///
    /// # Errors
    /// If the API server refuses an object.
    pub async fn create(&self, text: &str) -> Result<(), Error> {
        for object in objects(text)? {
            self.twice(async || self.work.create(&object).await.map(drop)).await?;
        }
        Ok(())
    }

    /// Applies objects: creates them, or merges them into those that exist (server-side apply).
    ///
    /// # Errors
    /// If the API server refuses an object.
    pub async fn apply(&self, text: &str) -> Result<(), Error> {
        for object in objects(text)? {
            self.twice(async || self.work.apply(&object).await).await?;
        }
        Ok(())
    }

    /// Merges these fields into objects that exist; `null` removes a field.
    ///
    /// # Errors
    /// If an object does not exist, or the API server refuses the change.
    pub async fn patch(&self, text: &str) -> Result<(), Error> {
        for object in objects(text)? {
            self.twice(async || self.work.merge(&object, Part::Whole).await).await?;
        }
        Ok(())
    }

    /// Merges these fields into the status of objects that exist.
    ///
    /// # Errors
    /// As for [`patch`](Self::patch).
    pub async fn patch_status(&self, text: &str) -> Result<(), Error> {
        for object in objects(text)? {
            self.twice(async || self.work.merge(&object, Part::Status).await).await?;
        }
        Ok(())
    }

    /// Deletes objects. Only their kinds and names are read; one that does not exist is left alone.
    ///
    /// # Errors
    /// If the API server refuses a deletion.
    pub async fn delete(&self, text: &str) -> Result<(), Error> {
        for object in objects(text)? {
            self.twice(async || self.work.delete(&object).await).await?;
        }
        Ok(())
    }

    /// An act that is tried again without the faults if it fails.
    async fn twice(&self, act: impl AsyncFn() -> Result<(), Error>) -> Result<(), Error> {
        match act().await {
            Err(_) if self.acts.tries_again().await => act().await,
            ended => ended,
        }
    }

    /// Waits until the cluster has settled. While faults last, a cluster that does not settle is left after ten minutes.
    ///
    /// # Errors
    /// If the cluster does not settle without a fault, or changes without end.
    pub async fn settled(&self) -> Result<(), Error> {
        let settles = self.acts.settle().await;
        if settles { Ok(()) } else { Err(Error::Work("the cluster does not settle".to_owned())) }
    }

    /// A client with the identity of the user, for everything else.
    pub fn client(&self) -> &Client {
        self.work.client()
    }
}
