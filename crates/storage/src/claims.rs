use coracle_meta::Status;
use coracle_store::{Compare, KeyRange, Operation, RangeRequest, Revision, Txn};

use crate::{Storage, errors};

/// A key that one server has written, and holds as long as it needs what the key represents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    key: String,
    revision: Revision,
}

impl Storage {
    /// Writes a key that is not an object, unless another server holds it: an existing value is replaced if `is_void`
    /// returns true for it. `None` if another server holds it.
    /// # Errors
    /// If the store does not answer; the key may have been written nevertheless.
    pub async fn claim(&self, key: &str, value: &str, is_void: impl Fn(&str) -> bool) -> Result<Option<Claim>, Status> {
        let asked = RangeRequest { range: KeyRange::key(key.to_owned()), ..RangeRequest::default() };
        let found = self.store().range(asked).await.map_err(errors::status)?;
        let before = match found.kvs.first() {
            None => 0,
            Some(kv) if is_void(&String::from_utf8_lossy(&kv.value)) => kv.mod_revision,
            Some(_) => return Ok(None),
        };
        let txn = Txn {
            compare: vec![Compare::mod_revision(key.to_owned(), before)],
            success: vec![Operation::put(key.to_owned(), value.to_owned())],
            ..Txn::default()
        };
        let written = self.store().txn(txn).await.map_err(errors::status)?;
        Ok(written.succeeded.then(|| Claim { key: key.to_owned(), revision: written.revision }))
    }

    /// Removes a claimed key, unless another server holds it by now.
    ///
    /// # Errors
    /// If the store does not answer.
    pub async fn unclaim(&self, claim: &Claim) -> Result<(), Status> {
        let txn = Txn {
            compare: vec![Compare::mod_revision(claim.key.clone(), claim.revision)],
            success: vec![Operation::delete(claim.key.clone())],
            ..Txn::default()
        };
        self.store().txn(txn).await.map(drop).map_err(errors::status)
    }
}
