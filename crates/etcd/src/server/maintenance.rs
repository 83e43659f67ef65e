use async_trait::async_trait;
use futures_util::stream::BoxStream;
use tonic::{Request, Response, Status};

use super::{MEMBER_ID, RAFT_TERM, Shared, header};
use crate::proto::etcdserverpb::{self as pb, maintenance_server::Maintenance};
use crate::status::to_status;

impl Shared {
    async fn alarms(&self) -> Result<Vec<pb::AlarmMember>, Status> {
        let status = self.store.status().await.map_err(|error| to_status(&error))?;
        let alarm = pb::AlarmMember { member_id: MEMBER_ID, alarm: pb::AlarmType::Nospace.into() };
        Ok(status.no_space.then_some(alarm).into_iter().collect())
    }
}

#[async_trait]
impl Maintenance for Shared {
    /// Alarms depend on the disk: the store raises one when it cannot write, and clears it when it can again.
    async fn alarm(&self, request: Request<pb::AlarmRequest>) -> Result<Response<pb::AlarmResponse>, Status> {
        if request.get_ref().action == i32::from(pb::alarm_request::AlarmAction::Activate) {
            return Err(Status::unimplemented("an alarm is raised by the store alone"));
        }
        let alarms = self.alarms().await?;
        Ok(Response::new(pb::AlarmResponse { header: Some(self.current_header().await?), alarms }))
    }

    async fn status(&self, _: Request<pb::StatusRequest>) -> Result<Response<pb::StatusResponse>, Status> {
        let status = self.store.status().await.map_err(|error| to_status(&error))?;
        let index = status.revision.unsigned_abs();
        let errors = if status.no_space { vec![format!("memberID:{MEMBER_ID} alarm:NOSPACE ")] } else { Vec::new() };
        Ok(Response::new(pb::StatusResponse {
            header: Some(header(status.revision)),
            storage_version: status.version.rsplit_once('.').map(|(minor, _)| format!("{minor}.0")).unwrap_or_default(),
            version: status.version,
            db_size: status.size_bytes,
            leader: MEMBER_ID,
            raft_index: index,
            raft_term: RAFT_TERM,
            raft_applied_index: index,
            errors,
            db_size_in_use: status.size_in_use_bytes,
            is_learner: false,
            db_size_quota: 0,
        }))
    }

    async fn defragment(&self, _: Request<pb::DefragmentRequest>) -> Result<Response<pb::DefragmentResponse>, Status> {
        self.store.defragment().await.map_err(|error| to_status(&error))?;
        Ok(Response::new(pb::DefragmentResponse { header: Some(self.current_header().await?) }))
    }

    async fn hash(&self, _: Request<pb::HashRequest>) -> Result<Response<pb::HashResponse>, Status> {
        let hash = self.store.history_hash(0).await.map_err(|error| to_status(&error))?;
        Ok(Response::new(pb::HashResponse { header: Some(header(hash.revision)), hash: hash.hash }))
    }

    async fn hash_kv(&self, request: Request<pb::HashKvRequest>) -> Result<Response<pb::HashKvResponse>, Status> {
        let hash = self.store.history_hash(request.get_ref().revision).await.map_err(|error| to_status(&error))?;
        Ok(Response::new(pb::HashKvResponse {
            header: Some(header(hash.revision)),
            hash: hash.hash,
            compact_revision: hash.compacted,
            hash_revision: hash.hash_revision,
        }))
    }

    type SnapshotStream = BoxStream<'static, Result<pb::SnapshotResponse, Status>>;

    async fn snapshot(&self, _: Request<pb::SnapshotRequest>) -> Result<Response<Self::SnapshotStream>, Status> {
        Err(Status::unimplemented(
            "this store has no bbolt file to send: `coracle store backup --endpoints` makes a backup, and `etcdctl \
             make-mirror` copies everything to an etcd",
        ))
    }

    async fn move_leader(&self, _: Request<pb::MoveLeaderRequest>) -> Result<Response<pb::MoveLeaderResponse>, Status> {
        Err(Status::failed_precondition("etcdserver: bad leader transferee"))
    }

    async fn downgrade(&self, _: Request<pb::DowngradeRequest>) -> Result<Response<pb::DowngradeResponse>, Status> {
        Err(Status::unimplemented("this store has one version of its format"))
    }
}
