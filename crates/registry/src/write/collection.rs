use coracle_meta::Status;
use coracle_storage::StoredList;

use super::delete::validate_options;
use crate::{DeleteOptions, ListOptions, Registry, Request};

/// The page size of a deletion of a collection. In Kubernetes: `deleteCollectionPageSize`.
const COLLECTION_PAGE: i64 = 10_000;

impl Registry {
    /// Deletes all selected objects, and returns them.
    ///
    /// In Kubernetes: `Store.DeleteCollection`.
    pub async fn delete_collection(
        &self,
        request: &Request,
        options: &DeleteOptions,
        selection: &ListOptions,
    ) -> Result<StoredList, Status> {
        validate_options(options)?;
        let mut page_options = ListOptions { allow_watch_bookmarks: false, ..selection.clone() };
        if selection.limit == 0 {
            page_options.limit = COLLECTION_PAGE;
        }
        let mut all: Option<StoredList> = None;
        loop {
            let page = self.list(request, &page_options).await?;
            for stored in &page.items {
                let object = stored.object();
                let one = request.clone().object(object.namespace(), object.name());
                match self.delete(&one, options).await {
                    Err(status) if !status.is_not_found() => return Err(status),
                    _ => {}
                }
            }
            let token = page.continue_token.clone();
            match &mut all {
                None => all = Some(page),
                Some(all) => all.items.extend(page.items),
            }
            if selection.limit > 0 || token.is_empty() {
                let mut all = all.unwrap_or_default();
                if selection.limit == 0 {
                    (all.continue_token, all.remaining) = (String::new(), None);
                }
                return Ok(all);
            }
            page_options.continue_token = token;
            page_options.resource_version = String::new();
            page_options.resource_version_match = String::new();
        }
    }
}
