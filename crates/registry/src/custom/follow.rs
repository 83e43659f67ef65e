use std::collections::BTreeMap;
use std::time::Duration;

use coracle_meta::{Object, Status, WatchEvent};

use super::definition::Definition;
use super::definitions::{is_established, resource};
use crate::{GetOptions, ListOptions, Registry, Request, Verb, Watch};

/// How long to wait before a watch that has ended is opened again.
const PAUSE: Duration = Duration::from_secs(1);

/// What is known of the definitions that others wrote: those that are served, by name.
type Followed = BTreeMap<String, Definition>;

impl Registry {
    /// Serves the kinds that API servers beside this one define in the same store, and no longer those that they
    /// delete. Goes on until it is dropped. In Kubernetes: the informer of `customresource_handler.go`.
    pub async fn follow_custom_kinds(&self) {
        let mut followed = Followed::new();
        loop {
            if let Ok(mut watch) = self.watch_definitions(&mut followed).await {
                while let Some(event) = watch.next().await {
                    self.take_over(&mut followed, &event).await;
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn about_definition(&self, verb: Verb, name: &str) -> Request {
        Request::new(verb, resource(), self.ambient().clock.now()).object("", name)
    }

    /// Opens a watch that begins with all definitions; those that went unseen are served no longer.
    async fn watch_definitions(&self, followed: &mut Followed) -> Result<Watch, Status> {
        let list = self.list(&self.about_definition(Verb::List, ""), &ListOptions::default()).await?;
        followed.retain(|name, definition| {
            let stays = list.items.iter().any(|stored| stored.object().name() == name);
            if !stays {
                self.stop_serving(definition);
            }
            stays
        });
        self.watch(&self.about_definition(Verb::Watch, ""), &ListOptions::default()).await
    }

    async fn take_over(&self, followed: &mut Followed, event: &WatchEvent<coracle_storage::Stored>) {
        let Some(stored) = event.object() else { return };
        let name = stored.object().name().to_owned();
        // An event may be older than what this server has written and serves meanwhile.
        let read = self.about_definition(Verb::Get, &name);
        match self.get(&read, &GetOptions::default()).await {
            Ok(stored) => self.serve_followed(followed, &stored.object()),
            Err(status) if status.is_not_found() => {
                let definition = followed.remove(&name).unwrap_or_else(|| Definition::read(&stored.object()));
                self.stop_serving(&definition);
            }
            // The next event, or the next watch, tells again.
            Err(_) => {}
        }
    }

    fn serve_followed(&self, followed: &mut Followed, object: &Object) {
        if is_established(object) {
            let definition = Definition::read(object);
            self.serve(&definition);
            followed.insert(object.name().to_owned(), definition);
        }
    }
}
