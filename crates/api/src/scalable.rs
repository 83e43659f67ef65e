use coracle_meta::Scalable;

use crate::apps_v1::{Deployment, ReplicaSet, StatefulSet};
use crate::core_v1::ReplicationController;

impl Scalable for Deployment {}
impl Scalable for ReplicaSet {}
impl Scalable for ReplicationController {}
impl Scalable for StatefulSet {}
