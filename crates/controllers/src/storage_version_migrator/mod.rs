//! Rewrites all objects of a resource, so that the store has them in the current version.
//!
//! ```text
//! StorageVersionMigration --Running, resourceVersion of a list--> a patch of each older object --> Succeeded | Failed
//! ```
//! In Kubernetes: `pkg/controller/storageversionmigrator`. Unlike Kubernetes: one controller sets the resource version and
//! migrates, it reads the objects from the API server and not from the garbage collector's cache, two migrations of one
//! resource do not wait for each other, and the stored versions of a definition are left alone. Coracle's store has every
//! object in its served version, so that a migration rewrites what is equal.

mod conditions;

use coracle_ambient::Clock;
use coracle_api::storagemigration_v1::StorageVersionMigration;
use coracle_client::{Api, ApiResource, ListParams, Patch};
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of, unless_gone};
use coracle_informer::Lister;
use coracle_meta::{Object, ObjectKey};
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::Config;
use conditions::{MigrationProgress, set_failed, set_running, set_succeeded};

/// What a resource must support to be migrated.
const VERBS: [&str; 6] = ["create", "delete", "get", "list", "patch", "update"];

/// The controller.
pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let migrations = process.informers.informer::<StorageVersionMigration>();
    let migrator = Migrator { migrations: migrations.lister(), clock: process.ambient.clock.clone() };
    let controller = Controller::new(process, "storage-version-migrator", migrator)
        .client(config.client(process))
        .watches(&migrations, key_of);
    Box::pin(controller.run())
}

struct Migrator {
    migrations: Lister<StorageVersionMigration>,
    clock: Clock,
}

impl Reconciler for Migrator {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(migration) = self.migrations.get(key) else { return pass.gone() };
        if conditions::has_ended(&migration) {
            return pass.done(|| "it has ended: nothing to do");
        }
        let mut migration = StorageVersionMigration::clone(&migration);
        let (group, resource) = (&migration.spec.resource.group, &migration.spec.resource.resource);
        let served = pass.client().discover().await?;
        let found = served
            .iter()
            .filter(|known| known.resource.group == *group && known.resource.resource == *resource)
            .max_by_key(|known| known.preferred);
        let Some(found) = found else {
            pass.decided(|| "no such resource is served: it fails");
            return self.fail(pass, migration, "unable to obtain GVR from discovery").await;
        };
        if !found.supports(&VERBS) {
            let why = format!("resource {resource:?} does not support discovery operations: {VERBS:?}");
            pass.decided(|| "the resource cannot be migrated: it fails");
            return self.fail(pass, migration, &why).await;
        }
        self.migrate(pass, &mut migration, found).await
    }
}

impl Migrator {
    async fn migrate(
        &self,
        pass: &Pass,
        migration: &mut StorageVersionMigration,
        resource: &ApiResource,
    ) -> Result<Action, ReconcileError> {
        let api: Api<Object> = Api::dynamic(pass.client(), resource.resource.clone());
        let list = api.list_all(&ListParams::default()).await?;
        let all = list.items.len();
        pass.decided(|| format!("migrate {all} objects"));
        if migration.status.resource_version.is_empty() {
            migration.status.resource_version.clone_from(&list.metadata.resource_version);
        }
        set_running(migration, MigrationProgress::default(), self.clock.now());
        match pass.api().update_status(&*migration).await {
            Ok(running) => *migration = running,
            Err(error) if error.is_not_found() => return Ok(Action::Done),
            Err(error) => return Err(error.into()),
        }
        for object in &list.items {
            let patch = json!({
                "apiVersion": resource.kind.api_version(),
                "kind": resource.kind.kind,
                "metadata": {"resourceVersion": object.text("metadata.resourceVersion")},
            });
            let key = ObjectKey::new(object.namespace(), object.name());
            match api.patch(&key, &Patch::Merge(patch)).await {
                // Who wrote or deleted it meanwhile has migrated it.
                Err(error) if error.is_conflict() || error.is_not_found() => {}
                Err(error) if error.status().is_none_or(|status| status.code >= 500 || status.code == 429) => {
                    return Err(error.into());
                }
                Err(error) => return self.fail(pass, migration.clone(), &error.to_string()).await,
                Ok(_) => {}
            }
        }
        set_running(migration, MigrationProgress { left: 0, all }, self.clock.now());
        set_succeeded(migration, self.clock.now());
        unless_gone(pass.api().update_status(&*migration).await)?;
        Ok(Action::Done)
    }

    async fn fail(
        &self,
        pass: &Pass,
        mut migration: StorageVersionMigration,
        why: &str,
    ) -> Result<Action, ReconcileError> {
        set_failed(&mut migration, why, self.clock.now());
        unless_gone(pass.api().update_status(&migration).await)?;
        Ok(Action::Done)
    }
}
