use async_trait::async_trait;
use tonic::{Request, Response, Status};

use super::Shared;
use crate::proto::etcdserverpb::{self as pb, auth_server::Auth};

type Answer = Result<Response<pb::AuthResponse>, Status>;

/// What etcd says while authentication is off. The store keeps no users: whoever may connect may do everything, and
/// client certificates decide who may connect.
fn off() -> Answer {
    Err(Status::failed_precondition("etcdserver: authentication is not enabled"))
}

#[async_trait]
impl Auth for Shared {
    async fn auth_status(&self, _: Request<pb::AuthRequest>) -> Result<Response<pb::AuthStatusResponse>, Status> {
        let header = Some(self.current_header().await?);
        Ok(Response::new(pb::AuthStatusResponse { header, enabled: false, auth_revision: 1 }))
    }

    async fn auth_disable(&self, _: Request<pb::AuthRequest>) -> Answer {
        Ok(Response::new(pb::AuthResponse { header: Some(self.current_header().await?) }))
    }

    async fn auth_enable(&self, _: Request<pb::AuthRequest>) -> Answer {
        off()
    }

    async fn authenticate(&self, _: Request<pb::AuthRequest>) -> Answer {
        off()
    }

    async fn user_add(&self, _: Request<pb::AuthRequest>) -> Answer {
        off()
    }

    async fn user_get(&self, _: Request<pb::AuthRequest>) -> Answer {
        off()
    }

    async fn user_list(&self, _: Request<pb::AuthRequest>) -> Answer {
        off()
    }

    async fn user_delete(&self, _: Request<pb::AuthRequest>) -> Answer {
        off()
    }

    async fn user_change_password(&self, _: Request<pb::AuthRequest>) -> Answer {
        off()
    }

    async fn user_grant_role(&self, _: Request<pb::AuthRequest>) -> Answer {
        off()
    }

    async fn user_revoke_role(&self, _: Request<pb::AuthRequest>) -> Answer {
        off()
    }

    async fn role_add(&self, _: Request<pb::AuthRequest>) -> Answer {
        off()
    }

    async fn role_get(&self, _: Request<pb::AuthRequest>) -> Answer {
        off()
    }

    async fn role_list(&self, _: Request<pb::AuthRequest>) -> Answer {
        off()
    }

    async fn role_delete(&self, _: Request<pb::AuthRequest>) -> Answer {
        off()
    }

    async fn role_grant_permission(&self, _: Request<pb::AuthRequest>) -> Answer {
        off()
    }

    async fn role_revoke_permission(&self, _: Request<pb::AuthRequest>) -> Answer {
        off()
    }
}
