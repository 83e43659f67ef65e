use async_trait::async_trait;
use tonic::{Request, Response, Status};

use super::{MEMBER_ID, Shared};
use crate::proto::etcdserverpb::{self as pb, cluster_server::Cluster};

/// The error of a change of the only member.
fn unchanged<R>(id: u64) -> Result<R, Status> {
    if id == MEMBER_ID { refused() } else { Err(Status::not_found("etcdserver: member not found")) }
}

fn refused<R>() -> Result<R, Status> {
    Err(Status::unimplemented("this store is a cluster of one member; run an etcd cluster where more are needed"))
}

#[async_trait]
impl Cluster for Shared {
    async fn member_list(&self, _: Request<pb::MemberListRequest>) -> Result<Response<pb::MemberListResponse>, Status> {
        let member = pb::Member {
            id: MEMBER_ID,
            name: self.options.name.clone(),
            peer_ur_ls: Vec::new(),
            client_ur_ls: self.options.client_urls.clone(),
            is_learner: false,
        };
        // Clients read only the members' ids and URLs; etcd's response has no revision here.
        let header = pb::ResponseHeader { revision: 0, ..self.current_header().await? };
        Ok(Response::new(pb::MemberListResponse { header: Some(header), members: vec![member] }))
    }

    async fn member_add(&self, _: Request<pb::MemberAddRequest>) -> Result<Response<pb::MemberAddResponse>, Status> {
        refused()
    }

    async fn member_remove(
        &self,
        request: Request<pb::MemberRemoveRequest>,
    ) -> Result<Response<pb::MemberRemoveResponse>, Status> {
        unchanged(request.get_ref().id)
    }

    async fn member_update(
        &self,
        request: Request<pb::MemberUpdateRequest>,
    ) -> Result<Response<pb::MemberUpdateResponse>, Status> {
        unchanged(request.get_ref().id)
    }

    async fn member_promote(
        &self,
        request: Request<pb::MemberPromoteRequest>,
    ) -> Result<Response<pb::MemberPromoteResponse>, Status> {
        unchanged(request.get_ref().id)
    }
}
