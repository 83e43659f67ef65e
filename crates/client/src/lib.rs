//! The verbs and watches of the Kubernetes API over any tower service.
