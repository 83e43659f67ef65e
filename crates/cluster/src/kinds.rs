use coracle_meta::GroupVersionKind;
use coracle_schema::Table;

/// Every kind that a fresh cluster serves, with its plural.
pub fn built_in_kinds() -> impl Iterator<Item = (GroupVersionKind, String)> {
    Table::newest().resources().iter().map(|row| (row.kind.clone(), row.plural.clone()))
}
