use super::unused::{UnusedFlag, UnusedFlags, changes_nothing};

const LOG: &str = "Coracle writes no log in the format of etcd";
const MEMBER: &str = "the store is a cluster of one member";

/// The flags of etcd that the store does not obey. Test tools pass many of them.
#[derive(Debug)]
pub(crate) struct EtcdUnused;

impl UnusedFlags for EtcdUnused {
    const ROWS: &'static [&'static [UnusedFlag]] = &[ROWS];
}

const ROWS: &[UnusedFlag] = &[
    changes_nothing("election-timeout", "MILLISECONDS", MEMBER),
    changes_nothing("heartbeat-interval", "MILLISECONDS", MEMBER),
    changes_nothing("initial-advertise-peer-urls", "URLS", MEMBER),
    changes_nothing("initial-cluster", "MEMBERS", MEMBER),
    changes_nothing("initial-cluster-state", "STATE", MEMBER),
    changes_nothing("initial-cluster-token", "TOKEN", MEMBER),
    changes_nothing("listen-peer-urls", "URLS", MEMBER),
    changes_nothing("log-level", "LEVEL", LOG),
    changes_nothing("log-outputs", "LIST", LOG),
    changes_nothing("logger", "NAME", LOG),
    changes_nothing("peer-cert-file", "FILE", MEMBER),
    changes_nothing("peer-client-cert-auth", "BOOL", MEMBER),
    changes_nothing("peer-key-file", "FILE", MEMBER),
    changes_nothing("peer-trusted-ca-file", "FILE", MEMBER),
    changes_nothing("quota-backend-bytes", "BYTES", "the store has no quota"),
    changes_nothing("snapshot-count", "COUNT", "the store has no write-ahead log of etcd"),
];
