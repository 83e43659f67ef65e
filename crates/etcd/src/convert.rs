//! Converts between the messages of the protocol and the types of the store. A plain list, without decisions.

use bytes::Bytes;
use coracle_store::{
    Compare, CompareOperator, CompareTarget, Error, Event, EventKind, KeyRange, KeyValue, Operation, OperationResult,
    RangeRequest, RangeResponse, Revision, SortField, SortOrder, Txn, TxnResponse,
};

use crate::proto::etcdserverpb::range_request::{SortOrder as PbSortOrder, SortTarget as PbSortTarget};
use crate::proto::etcdserverpb::request_op::Request;
use crate::proto::etcdserverpb::response_op::Response;
use crate::proto::etcdserverpb::{
    self as pb, compare::CompareResult, compare::CompareTarget as Target, compare::TargetUnion,
};
use crate::proto::mvccpb;

const INVALID_SORT: Error = Error::Invalid("etcdserver: invalid sort option");
const NO_REQUEST: Error = Error::Invalid("etcdserver: key not found");

/// Copies bytes. A decoder returns slices of the whole received buffer, which would stay in memory as long as the
/// store keeps the slice.
fn own(bytes: &Bytes) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

pub(crate) fn key_range(key: Bytes, range_end: Bytes) -> KeyRange {
    KeyRange { start: key, end: range_end }
}

// Requests to the server.

pub(crate) fn range_request(request: pb::RangeRequest) -> Result<RangeRequest, Error> {
    let sort_order = match PbSortOrder::try_from(request.sort_order).map_err(|_| INVALID_SORT)? {
        PbSortOrder::None => SortOrder::None,
        PbSortOrder::Ascend => SortOrder::Ascend,
        PbSortOrder::Descend => SortOrder::Descend,
    };
    let sort_field = match PbSortTarget::try_from(request.sort_target).map_err(|_| INVALID_SORT)? {
        PbSortTarget::Key => SortField::Key,
        PbSortTarget::Version => SortField::Version,
        PbSortTarget::Create => SortField::Create,
        PbSortTarget::Mod => SortField::Mod,
        PbSortTarget::Value => SortField::Value,
    };
    Ok(RangeRequest {
        range: key_range(request.key, request.range_end),
        revision: request.revision,
        limit: request.limit,
        keys_only: request.keys_only,
        count_only: request.count_only,
        sort_field,
        sort_order,
        min_mod_revision: request.min_mod_revision,
        max_mod_revision: request.max_mod_revision,
        min_create_revision: request.min_create_revision,
        max_create_revision: request.max_create_revision,
    })
}

pub(crate) fn put_operation(request: &pb::PutRequest) -> Operation {
    Operation::Put {
        key: own(&request.key),
        value: own(&request.value),
        lease: request.lease,
        prev_kv: request.prev_kv,
        ignore_value: request.ignore_value,
        ignore_lease: request.ignore_lease,
    }
}

pub(crate) fn delete_operation(request: pb::DeleteRangeRequest) -> Operation {
    Operation::Delete { range: key_range(request.key, request.range_end), prev_kv: request.prev_kv }
}

pub(crate) fn txn(request: pb::TxnRequest) -> Result<Txn, Error> {
    Ok(Txn {
        compare: request.compare.into_iter().map(compare).collect::<Result<_, _>>()?,
        success: request.success.into_iter().map(operation).collect::<Result<_, _>>()?,
        failure: request.failure.into_iter().map(operation).collect::<Result<_, _>>()?,
        cause: None,
    })
}

fn operation(operation: pb::RequestOp) -> Result<Operation, Error> {
    Ok(match operation.request.ok_or(NO_REQUEST)? {
        Request::RequestRange(request) => Operation::Range(range_request(request)?),
        Request::RequestPut(request) => put_operation(&request),
        Request::RequestDeleteRange(request) => delete_operation(request),
        Request::RequestTxn(request) => Operation::Txn(Box::new(txn(request)?)),
    })
}

fn compare(compare: pb::Compare) -> Result<Compare, Error> {
    const UNKNOWN: Error = Error::Invalid("etcdserver: the comparison is of an unknown kind");
    let operator = match CompareResult::try_from(compare.result).map_err(|_| UNKNOWN)? {
        CompareResult::Equal => CompareOperator::Equal,
        CompareResult::NotEqual => CompareOperator::NotEqual,
        CompareResult::Less => CompareOperator::Less,
        CompareResult::Greater => CompareOperator::Greater,
    };
    // A number that is missing, or of another type than the comparison, counts as zero.
    let union = compare.target_union;
    let number = |wanted: Target| match (wanted, &union) {
        (Target::Version, Some(TargetUnion::Version(number)))
        | (Target::Create, Some(TargetUnion::CreateRevision(number)))
        | (Target::Mod, Some(TargetUnion::ModRevision(number)))
        | (Target::Lease, Some(TargetUnion::Lease(number))) => *number,
        _ => 0,
    };
    let target = match Target::try_from(compare.target).map_err(|_| UNKNOWN)? {
        Target::Version => CompareTarget::Version(number(Target::Version)),
        Target::Create => CompareTarget::Create(number(Target::Create)),
        Target::Mod => CompareTarget::Mod(number(Target::Mod)),
        Target::Lease => CompareTarget::Lease(number(Target::Lease)),
        Target::Value => CompareTarget::Value(match union {
            Some(TargetUnion::Value(value)) => value,
            _ => Bytes::new(),
        }),
    };
    Ok(Compare { range: key_range(compare.key, compare.range_end), operator, target })
}

// Responses of the server.

pub(crate) fn to_kv(kv: KeyValue) -> mvccpb::KeyValue {
    mvccpb::KeyValue {
        key: kv.key,
        create_revision: kv.create_revision,
        mod_revision: kv.mod_revision,
        version: kv.version,
        value: kv.value,
        lease: kv.lease,
    }
}

pub(crate) fn to_event(event: Event) -> mvccpb::Event {
    let kind = match event.kind {
        EventKind::Put => mvccpb::event::EventType::Put,
        EventKind::Delete => mvccpb::event::EventType::Delete,
    };
    mvccpb::Event { r#type: kind.into(), kv: Some(to_kv(event.kv)), prev_kv: event.prev_kv.map(to_kv) }
}

pub(crate) fn to_range_response(response: RangeResponse, header: pb::ResponseHeader) -> pb::RangeResponse {
    pb::RangeResponse {
        header: Some(header),
        kvs: response.kvs.into_iter().map(to_kv).collect(),
        more: response.more,
        count: response.count,
    }
}

/// The responses to the operations of a transaction that left the store at `revision`. Each has the revision of the
/// store after it, as in etcd.
pub(crate) fn to_response_ops(response: TxnResponse, revision: Revision) -> Vec<pb::ResponseOp> {
    response.results.into_iter().map(|result| to_response_op(result, revision)).collect()
}

fn to_response_op(result: OperationResult, revision: Revision) -> pb::ResponseOp {
    let header = |revision| Some(pb::ResponseHeader { revision, ..pb::ResponseHeader::default() });
    let response = match result {
        OperationResult::Range(response) => {
            let at = pb::ResponseHeader { revision: response.revision, ..pb::ResponseHeader::default() };
            Response::ResponseRange(to_range_response(response, at))
        }
        OperationResult::Put { prev_kv } => {
            Response::ResponsePut(pb::PutResponse { header: header(revision), prev_kv: prev_kv.map(to_kv) })
        }
        OperationResult::Delete { deleted, prev_kvs } => Response::ResponseDeleteRange(pb::DeleteRangeResponse {
            header: header(revision),
            deleted,
            prev_kvs: prev_kvs.into_iter().map(to_kv).collect(),
        }),
        OperationResult::Txn(inner) => Response::ResponseTxn(pb::TxnResponse {
            header: Some(pb::ResponseHeader::default()),
            succeeded: inner.succeeded,
            responses: to_response_ops(inner, revision),
        }),
    };
    pb::ResponseOp { response: Some(response) }
}

// Requests of the client.

pub(crate) fn to_range_request(request: RangeRequest) -> pb::RangeRequest {
    let sort_order = match request.sort_order {
        SortOrder::None => PbSortOrder::None,
        SortOrder::Ascend => PbSortOrder::Ascend,
        SortOrder::Descend => PbSortOrder::Descend,
    };
    let sort_target = match request.sort_field {
        SortField::Key => PbSortTarget::Key,
        SortField::Version => PbSortTarget::Version,
        SortField::Create => PbSortTarget::Create,
        SortField::Mod => PbSortTarget::Mod,
        SortField::Value => PbSortTarget::Value,
    };
    pb::RangeRequest {
        key: request.range.start,
        range_end: request.range.end,
        limit: request.limit,
        revision: request.revision,
        sort_order: sort_order.into(),
        sort_target: sort_target.into(),
        serializable: false,
        keys_only: request.keys_only,
        count_only: request.count_only,
        min_mod_revision: request.min_mod_revision,
        max_mod_revision: request.max_mod_revision,
        min_create_revision: request.min_create_revision,
        max_create_revision: request.max_create_revision,
    }
}

pub(crate) fn to_txn(txn: Txn) -> pb::TxnRequest {
    let operations = |operations: Vec<Operation>| operations.into_iter().map(to_request_op).collect();
    pb::TxnRequest {
        compare: txn.compare.into_iter().map(to_compare).collect(),
        success: operations(txn.success),
        failure: operations(txn.failure),
    }
}

fn to_request_op(operation: Operation) -> pb::RequestOp {
    let request = match operation {
        Operation::Range(request) => Request::RequestRange(to_range_request(request)),
        Operation::Put { key, value, lease, prev_kv, ignore_value, ignore_lease } => {
            Request::RequestPut(pb::PutRequest { key, value, lease, prev_kv, ignore_value, ignore_lease })
        }
        Operation::Delete { range, prev_kv } => {
            Request::RequestDeleteRange(pb::DeleteRangeRequest { key: range.start, range_end: range.end, prev_kv })
        }
        Operation::Txn(txn) => Request::RequestTxn(to_txn(*txn)),
    };
    pb::RequestOp { request: Some(request) }
}

fn to_compare(compare: Compare) -> pb::Compare {
    let result = match compare.operator {
        CompareOperator::Equal => CompareResult::Equal,
        CompareOperator::NotEqual => CompareResult::NotEqual,
        CompareOperator::Less => CompareResult::Less,
        CompareOperator::Greater => CompareResult::Greater,
    };
    let (target, union) = match compare.target {
        CompareTarget::Value(value) => (Target::Value, TargetUnion::Value(value)),
        CompareTarget::Version(version) => (Target::Version, TargetUnion::Version(version)),
        CompareTarget::Create(revision) => (Target::Create, TargetUnion::CreateRevision(revision)),
        CompareTarget::Mod(revision) => (Target::Mod, TargetUnion::ModRevision(revision)),
        CompareTarget::Lease(lease) => (Target::Lease, TargetUnion::Lease(lease)),
    };
    pb::Compare {
        result: result.into(),
        target: target.into(),
        key: compare.range.start,
        target_union: Some(union),
        range_end: compare.range.end,
    }
}

// Responses to the client.

/// A key-value with its own buffers, for callers that keep it.
pub(crate) fn kv(kv: &mvccpb::KeyValue) -> KeyValue {
    KeyValue {
        key: own(&kv.key),
        value: own(&kv.value),
        create_revision: kv.create_revision,
        mod_revision: kv.mod_revision,
        version: kv.version,
        lease: kv.lease,
    }
}

pub(crate) fn event(event: &mvccpb::Event) -> Event {
    let kind =
        if event.r#type == i32::from(mvccpb::event::EventType::Delete) { EventKind::Delete } else { EventKind::Put };
    Event { kind, kv: event.kv.as_ref().map(kv).unwrap_or_default(), prev_kv: event.prev_kv.as_ref().map(kv) }
}

pub(crate) fn revision(header: Option<&pb::ResponseHeader>) -> Revision {
    header.map_or(0, |header| header.revision)
}

pub(crate) fn range_response(response: &pb::RangeResponse) -> RangeResponse {
    RangeResponse {
        revision: revision(response.header.as_ref()),
        kvs: response.kvs.iter().map(kv).collect(),
        more: response.more,
        count: response.count,
    }
}

pub(crate) fn txn_response(response: &pb::TxnResponse) -> TxnResponse {
    TxnResponse {
        revision: revision(response.header.as_ref()),
        succeeded: response.succeeded,
        results: response.responses.iter().filter_map(|operation| operation.response.as_ref()).map(result).collect(),
    }
}

fn result(response: &Response) -> OperationResult {
    match response {
        Response::ResponseRange(response) => OperationResult::Range(range_response(response)),
        Response::ResponsePut(response) => OperationResult::Put { prev_kv: response.prev_kv.as_ref().map(kv) },
        Response::ResponseDeleteRange(response) => {
            OperationResult::Delete { deleted: response.deleted, prev_kvs: response.prev_kvs.iter().map(kv).collect() }
        }
        Response::ResponseTxn(response) => OperationResult::Txn(txn_response(response)),
    }
}
