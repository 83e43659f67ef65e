use async_trait::async_trait;
use coracle_store::{Operation, OperationResult, Txn, TxnResponse};
use futures_util::stream::{self, BoxStream};
use tonic::{Request, Response, Status};

use super::{Shared, header};
use crate::convert;
use crate::proto::etcdserverpb::{self as pb, kv_server::Kv};
use crate::status::to_status;

/// The number of keys in a part of a streamed range.
const STREAM_PAGE: i64 = 1000;

impl Shared {
    async fn perform(&self, operation: Operation) -> Result<(TxnResponse, OperationResult), Status> {
        let txn = Txn { success: vec![operation], ..Txn::default() };
        let mut response = self.store.txn(txn).await.map_err(|error| to_status(&error))?;
        let result = response.results.pop().ok_or_else(|| Status::internal("a transaction without an answer"))?;
        Ok((response, result))
    }

    async fn answer_range(&self, request: pb::RangeRequest) -> Result<pb::RangeResponse, Status> {
        let request = convert::range_request(request).map_err(|error| to_status(&error))?;
        let response = self.store.range(request).await.map_err(|error| to_status(&error))?;
        let header = header(response.revision);
        Ok(convert::to_range_response(response, header))
    }
}

#[async_trait]
impl Kv for Shared {
    async fn range(&self, request: Request<pb::RangeRequest>) -> Result<Response<pb::RangeResponse>, Status> {
        self.answer_range(request.into_inner()).await.map(Response::new)
    }

    type RangeStreamStream = BoxStream<'static, Result<pb::RangeStreamResponse, Status>>;

    /// The range at one revision, in parts. Only the last part has a header, the count, and whether the limit left out
    /// keys.
    async fn range_stream(
        &self,
        request: Request<pb::RangeRequest>,
    ) -> Result<Response<Self::RangeStreamStream>, Status> {
        let request = request.into_inner();
        if request.sort_order != 0 || request.sort_target != 0 {
            let whole = self.answer_range(request).await?;
            return Ok(Response::new(Box::pin(stream::iter([Ok(part(whole))]))));
        }
        let pinned = request.revision > 0;
        let limit = request.limit;
        let size = move |sent: i64| if limit > 0 { (limit - sent).min(STREAM_PAGE) } else { STREAM_PAGE };
        let first = Some((pb::RangeRequest { limit: size(0), ..request }, 0));
        let shared = self.clone();
        let parts = stream::try_unfold(first, move |page| {
            let shared = shared.clone();
            async move {
                let Some((request, before)) = page else { return Ok(None) };
                let mut response = shared.answer_range(request.clone()).await?;
                let sent = before + i64::try_from(response.kvs.len()).unwrap_or(i64::MAX);
                let continues = response.more && (limit <= 0 || sent < limit);
                let next = response.kvs.last().filter(|_| continues).map(|last| {
                    let key = [&last.key[..], &[0]].concat().into();
                    let revision = if request.revision > 0 {
                        request.revision
                    } else {
                        convert::revision(response.header.as_ref())
                    };
                    (pb::RangeRequest { key, revision, limit: size(sent), ..request }, sent)
                });
                if next.is_some() {
                    response.more = false;
                    response.count = 0;
                    response.header = None;
                } else {
                    response.count += before;
                    // Without a requested revision, the header has that of the first part, at which all were read.
                    if !pinned && request.revision > 0 {
                        response.header = Some(header(request.revision));
                    }
                }
                Ok(Some((part(response), next)))
            }
        });
        Ok(Response::new(Box::pin(parts)))
    }

    async fn put(&self, request: Request<pb::PutRequest>) -> Result<Response<pb::PutResponse>, Status> {
        let (response, result) = self.perform(convert::put_operation(request.get_ref())).await?;
        let prev_kv = match result {
            OperationResult::Put { prev_kv } => prev_kv.map(convert::to_kv),
            _ => None,
        };
        Ok(Response::new(pb::PutResponse { header: Some(header(response.revision)), prev_kv }))
    }

    async fn delete_range(
        &self,
        request: Request<pb::DeleteRangeRequest>,
    ) -> Result<Response<pb::DeleteRangeResponse>, Status> {
        let (response, result) = self.perform(convert::delete_operation(request.into_inner())).await?;
        let (deleted, prev_kvs) = match result {
            OperationResult::Delete { deleted, prev_kvs } => (deleted, prev_kvs),
            _ => (0, Vec::new()),
        };
        let prev_kvs = prev_kvs.into_iter().map(convert::to_kv).collect();
        Ok(Response::new(pb::DeleteRangeResponse { header: Some(header(response.revision)), deleted, prev_kvs }))
    }

    async fn txn(&self, request: Request<pb::TxnRequest>) -> Result<Response<pb::TxnResponse>, Status> {
        let txn = convert::txn(request.into_inner()).map_err(|error| to_status(&error))?;
        let response = self.store.txn(txn).await.map_err(|error| to_status(&error))?;
        let (revision, succeeded) = (response.revision, response.succeeded);
        let responses = convert::to_response_ops(response, revision);
        Ok(Response::new(pb::TxnResponse { header: Some(header(revision)), succeeded, responses }))
    }

    async fn compact(
        &self,
        request: Request<pb::CompactionRequest>,
    ) -> Result<Response<pb::CompactionResponse>, Status> {
        self.store.compact(request.get_ref().revision).await.map_err(|error| to_status(&error))?;
        Ok(Response::new(pb::CompactionResponse { header: Some(self.current_header().await?) }))
    }
}

fn part(range_response: pb::RangeResponse) -> pb::RangeStreamResponse {
    pb::RangeStreamResponse { range_response: Some(range_response) }
}
