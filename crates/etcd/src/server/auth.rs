use async_trait::async_trait;
use tonic::{Request, Response, Status};

use super::Shared;
use crate::proto::etcdserverpb::{self as pb, auth_server::Auth};

type Answer = Result<Response<pb::AuthResponse>, Status>;

/// The Auth service of an etcd with authentication disabled. The store has no users: every client that can connect
/// has all permissions, and client certificates restrict who can connect.
fn refused(why: &str) -> Answer {
    Err(Status::failed_precondition(format!("etcdserver: {why}")))
}

fn no_users() -> Answer {
    Err(Status::unimplemented("this store keeps no users and roles: client certificates decide who may connect"))
}

impl Shared {
    /// A response without content: success, or an empty list.
    async fn nobody(&self) -> Answer {
        Ok(Response::new(pb::AuthResponse { header: Some(self.current_header().await?) }))
    }
}

#[async_trait]
impl Auth for Shared {
    async fn auth_status(&self, _: Request<pb::AuthRequest>) -> Result<Response<pb::AuthStatusResponse>, Status> {
        let header = Some(self.current_header().await?);
        Ok(Response::new(pb::AuthStatusResponse { header, enabled: false, auth_revision: 1 }))
    }

    async fn auth_disable(&self, _: Request<pb::AuthRequest>) -> Answer {
        self.nobody().await
    }

    async fn auth_enable(&self, _: Request<pb::AuthRequest>) -> Answer {
        refused("root user does not exist")
    }

    async fn authenticate(&self, _: Request<pb::AuthRequest>) -> Answer {
        refused("authentication is not enabled")
    }

    async fn user_list(&self, _: Request<pb::AuthRequest>) -> Answer {
        self.nobody().await
    }

    async fn role_list(&self, _: Request<pb::AuthRequest>) -> Answer {
        self.nobody().await
    }

    async fn user_add(&self, _: Request<pb::AuthRequest>) -> Answer {
        no_users()
    }

    async fn role_add(&self, _: Request<pb::AuthRequest>) -> Answer {
        no_users()
    }

    async fn user_get(&self, _: Request<pb::AuthRequest>) -> Answer {
        refused("user name not found")
    }

    async fn user_delete(&self, _: Request<pb::AuthRequest>) -> Answer {
        refused("user name not found")
    }

    async fn user_change_password(&self, _: Request<pb::AuthRequest>) -> Answer {
        refused("user name not found")
    }

    async fn user_grant_role(&self, _: Request<pb::AuthRequest>) -> Answer {
        refused("user name not found")
    }

    async fn user_revoke_role(&self, _: Request<pb::AuthRequest>) -> Answer {
        refused("user name not found")
    }

    async fn role_get(&self, _: Request<pb::AuthRequest>) -> Answer {
        refused("role name not found")
    }

    async fn role_delete(&self, _: Request<pb::AuthRequest>) -> Answer {
        refused("role name not found")
    }

    async fn role_grant_permission(&self, _: Request<pb::AuthRequest>) -> Answer {
        refused("role name not found")
    }

    async fn role_revoke_permission(&self, _: Request<pb::AuthRequest>) -> Answer {
        refused("role name not found")
    }
}
