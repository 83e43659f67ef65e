//! Migrations to a storage version.

use coracle_api::core_v1::ConfigMap;
use coracle_api::storagemigration_v1::StorageVersionMigration;
use coracle_client::{Api, Client};
use coracle_cluster::{Cluster, Release};
use coracle_meta::ObjectKey;
use serde_json::json;

use crate::world::until;

fn migration(name: &str, resource: &str) -> StorageVersionMigration {
    let migration = json!({"metadata": {"name": name}, "spec": {"resource": {"group": "", "resource": resource}}});
    serde_json::from_value(migration).unwrap()
}

/// The condition with which a migration ends: its type, and its message.
async fn end_of(migrations: &Api<StorageVersionMigration>, name: &str) -> Option<(String, String)> {
    let migration = migrations.get(&ObjectKey::cluster(name)).await.unwrap();
    let end = migration.status.conditions.into_iter().find(|condition| condition.type_ != "Running");
    end.map(|end| (end.type_, end.message))
}

#[tokio::test(start_paused = true)]
async fn a_migration_names_the_version_of_its_list_and_succeeds_when_every_object_is_written() {
    let cluster = Cluster::builder().kubernetes(Release::newest()).start().await.unwrap();
    let client = Client::new(cluster.service(), cluster.ambient());
    let maps: Api<ConfigMap> = Api::of(&client);
    let map = json!({"metadata": {"name": "a", "namespace": "default"}, "data": {"k": "v"}});
    maps.create(&serde_json::from_value(map).unwrap()).await.unwrap();
    let migrations: Api<StorageVersionMigration> = Api::of(&client);
    migrations.create(&migration("maps", "configmaps")).await.unwrap();
    migrations.create(&migration("boats", "boats")).await.unwrap();
    until("the migration succeeds", async || {
        end_of(&migrations, "maps").await == Some(("Succeeded".to_owned(), "Migration completed".to_owned()))
    })
    .await;
    let done = migrations.get(&ObjectKey::cluster("maps")).await.unwrap();
    assert!(done.status.resource_version.parse::<u64>().is_ok(), "{:?}", done.status);
    let running = done.status.conditions.iter().find(|condition| condition.type_ == "Running").unwrap();
    assert!(running.message.ends_with("objects verified migrated"), "{running:?}");
    until("a migration of what does not exist fails", async || {
        let why = "migration encountered unhandled error: unable to obtain GVR from discovery";
        end_of(&migrations, "boats").await == Some(("Failed".to_owned(), why.to_owned()))
    })
    .await;
}
