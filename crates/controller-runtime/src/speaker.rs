use std::sync::Arc;

use coracle_client::Client;

/// The identity of a write, where one program acts for many, as one process does for the nodes that it simulates.
///
/// ```
/// # coracle::run_virtual(1, async |cluster| {
/// use coracle::api::core_v1::{Event, Namespace};
/// use coracle::journal::Recorder;
/// use coracle::meta::ObjectKey;
/// use coracle::runtime::controller::{EventRecorder, EventType, Process, Speaker};
/// use coracle::runtime::{Api, ListParams};
///
/// let client = cluster.api_client();
/// let process = Process::new("gardeners", &client, cluster.ambient(), &Recorder::off());
/// let ann = Speaker { actor: "gardeners/ann".into(), client: client.clone().with_user_agent("ann/1.0") };
/// let events = EventRecorder::new(&process, "gardener").on_host("ann").speaking_as(&ann);
/// tokio::spawn(async move { process.run().await });
/// let namespace = Api::<Namespace>::of(&client).get(&ObjectKey::cluster("default")).await.unwrap();
/// events.event(&namespace, EventType::Normal, "Watered", "it was dry");
///
/// tokio::time::sleep(std::time::Duration::from_secs(1)).await;
/// let found = Api::<Event>::of(&client).list(&ListParams::fields("reason=Watered")).await.unwrap();
/// assert_eq!(found.items[0].metadata.managed_fields[0].manager.as_deref(), Some("ann"), "who wrote it");
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Speaker {
    /// The name in the event log.
    pub actor: Arc<str>,
    /// The API client with that identity.
    pub client: Client,
}
