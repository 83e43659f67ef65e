use crate::{ApiObject, Object, Resource};

/// A kind whose objects run on nodes: pods. They can be bound and evicted, and have logs.
pub trait RunsOnNode: Resource {}

/// A kind whose objects have a `scale`.
pub trait Scalable: ApiObject {}

/// Of some kinds; the server refuses the others.
impl Scalable for Object {}
