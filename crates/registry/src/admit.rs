use std::sync::Arc;

use coracle_meta::{Object, Status};

use crate::{Admission, DeleteOptions, Kind, Operation, Registry, Request, Review};

impl Registry {
    /// The plug-ins that care for an operation, in their order.
    fn plugins(&self, operation: Operation) -> impl Iterator<Item = &Arc<dyn Admission>> {
        self.inner.admission.iter().filter(move |plugin| plugin.handles(operation))
    }

    /// Lets every plug-in change the object.
    pub(crate) async fn mutate(
        &self,
        request: &Request,
        kind: &Kind,
        operation: Operation,
        object: Object,
        old: Option<&Object>,
    ) -> Result<Object, Status> {
        let strategy = &**kind.strategy();
        let object = Some(object);
        let mut review = Review { registry: self, request, operation, strategy, object, old, delete_options: None };
        for plugin in self.plugins(operation) {
            plugin.mutate(&mut review).await?;
        }
        review.object.ok_or_else(|| Status::internal("an admission plug-in took the object away"))
    }

    /// Lets every plug-in refuse the object as it will be stored; gives it back.
    pub(crate) async fn admit_stored(
        &self,
        request: &Request,
        kind: &Kind,
        operation: Operation,
        object: Object,
        old: Option<&Object>,
    ) -> Result<Object, Status> {
        if !kind.is_converted() {
            return self.admit(request, kind, operation, object, old).await;
        }
        self.admit(request, kind, operation, kind.from_hub(object.clone())?, old).await?;
        Ok(object)
    }

    /// Lets every plug-in refuse the object, which is of the request's version; gives it back.
    pub(crate) async fn admit(
        &self,
        request: &Request,
        kind: &Kind,
        operation: Operation,
        object: Object,
        old: Option<&Object>,
    ) -> Result<Object, Status> {
        let strategy = &**kind.strategy();
        let object = Some(object);
        let review = Review { registry: self, request, operation, strategy, object, old, delete_options: None };
        for plugin in self.plugins(operation) {
            plugin.validate(&review).await?;
        }
        Ok(review.object.unwrap_or_default())
    }

    /// Lets every plug-in refuse a deletion.
    pub(crate) async fn admit_delete(
        &self,
        request: &Request,
        kind: &Kind,
        options: &DeleteOptions,
        old: &Object,
    ) -> Result<(), Status> {
        let operation = Operation::Delete;
        let mut review = Review {
            registry: self,
            request,
            operation,
            strategy: &**kind.strategy(),
            object: None,
            old: Some(old),
            delete_options: Some(options),
        };
        for plugin in self.plugins(operation) {
            plugin.mutate(&mut review).await?;
        }
        for plugin in self.plugins(operation) {
            plugin.validate(&review).await?;
        }
        Ok(())
    }
}
