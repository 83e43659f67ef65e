//! The traits that extend [`Cluster`](crate::Cluster) and [`Builder`](crate::Builder): `use coracle::prelude::*;`.

pub use crate::{BuilderExt, ClusterExt};
