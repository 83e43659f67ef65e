// Written by `cargo xtask api`.

use std::collections::BTreeMap;

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `authentication.v1.BoundObjectReference`.
    pub struct BoundObjectReference {
        api_version: String = "apiVersion" if nonzero,
        kind: String = "kind" if nonzero,
        name: String = "name" if nonzero,
        uid: String = "uid" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `authentication.v1.SelfSubjectReview`.
    pub struct SelfSubjectReview("authentication.k8s.io/v1", "SelfSubjectReview") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        status: SelfSubjectReviewStatus = "status",
    }
}
resource!(SelfSubjectReview, "authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", Cluster);

lean_struct! {
    /// In Kubernetes: `authentication.v1.SelfSubjectReviewStatus`.
    pub struct SelfSubjectReviewStatus {
        user_info: UserInfo = "userInfo",
    }
}

lean_struct! {
    /// In Kubernetes: `authentication.v1.TokenRequest`.
    pub struct TokenRequest("authentication.k8s.io/v1", "TokenRequest") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: TokenRequestSpec = "spec",
        status: TokenRequestStatus = "status",
    }
}

lean_struct! {
    /// In Kubernetes: `authentication.v1.TokenRequestSpec`.
    pub struct TokenRequestSpec {
        attestations: BTreeMap<String, Vec<String>> = "attestations",
        audiences: Vec<String> = "audiences",
        bound_object_ref: Option<Box<BoundObjectReference>> = "boundObjectRef",
        expiration_seconds: Option<i64> = "expirationSeconds",
    }
}

lean_struct! {
    /// In Kubernetes: `authentication.v1.TokenRequestStatus`.
    pub struct TokenRequestStatus {
        expiration_timestamp: Option<String> = "expirationTimestamp",
        token: String = "token",
    }
}

lean_struct! {
    /// In Kubernetes: `authentication.v1.TokenReview`.
    pub struct TokenReview("authentication.k8s.io/v1", "TokenReview") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: TokenReviewSpec = "spec",
        status: TokenReviewStatus = "status",
    }
}
resource!(TokenReview, "authentication.k8s.io", "v1", "TokenReview", "tokenreviews", Cluster);

lean_struct! {
    /// In Kubernetes: `authentication.v1.TokenReviewSpec`.
    pub struct TokenReviewSpec {
        audiences: Vec<String> = "audiences",
        token: String = "token" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `authentication.v1.TokenReviewStatus`.
    pub struct TokenReviewStatus {
        audiences: Vec<String> = "audiences",
        authenticated: bool = "authenticated" if nonzero,
        error: String = "error" if nonzero,
        user: UserInfo = "user",
    }
}

lean_struct! {
    /// In Kubernetes: `authentication.v1.UserInfo`.
    pub struct UserInfo {
        extra: BTreeMap<String, Vec<String>> = "extra",
        groups: Vec<String> = "groups",
        uid: String = "uid" if nonzero,
        username: String = "username" if nonzero,
    }
}
