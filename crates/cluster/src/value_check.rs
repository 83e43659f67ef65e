use std::pin::pin;
use std::sync::Arc;

use coracle_ambient::Ambient;
use coracle_journal::Recorder;
use coracle_registry::{Registry, UnreadableValue};
use coracle_resources::Config;
use coracle_storage::Storage;
use coracle_store::Store;
use futures_util::future::{Either, select};

use crate::Error;

/// The values of a store that an API server cannot decode as objects of their kinds, including custom ones. The status
/// of definitions is completed in the store.
///
/// # Errors
/// The store does not respond.
pub async fn unreadable_values(store: Arc<dyn Store>, ambient: &Ambient) -> Result<Vec<UnreadableValue>, Error> {
    let storage = Storage::new(store);
    let feeding = storage.run();
    let kinds = coracle_resources::kinds(&Config::default());
    let registry = Registry::builder(storage, ambient.clone(), Recorder::off()).kinds(kinds).build();
    let check = async {
        registry.load_custom_kinds().await?;
        registry.unreadable_values().await
    };
    match select(pin!(check), pin!(feeding)).await {
        Either::Left((found, _)) => Ok(found?),
        Either::Right((never, _)) => match never {},
    }
}
