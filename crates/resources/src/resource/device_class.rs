use coracle_registry::{KindSpec, TableColumn};

use super::GROUP;
use crate::built_in::built_in;

/// `deviceclasses`.
pub(crate) fn kind() -> KindSpec {
    KindSpec { columns: columns(), ..built_in(GROUP, "v1", "deviceclasses") }
}

fn columns() -> Vec<TableColumn> {
    vec![TableColumn::name(), TableColumn::age()]
}
