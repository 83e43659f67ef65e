use coracle_registry::{KindSpec, TableColumn};

use super::GROUP;
use crate::built_in::built_in;

/// `resourceclaimtemplates`.
pub(crate) fn kind() -> KindSpec {
    KindSpec { columns: columns(), ..built_in(GROUP, "v1", "resourceclaimtemplates") }
}

fn columns() -> Vec<TableColumn> {
    vec![TableColumn::name(), TableColumn::age()]
}
