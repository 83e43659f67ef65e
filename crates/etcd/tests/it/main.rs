//! Our face of etcd's protocol and our client of it, beside a real etcd where there is one.

mod clients;
mod common;
mod differential;
mod etcdctl;
mod fuzzed;
mod linearizability;
mod live_backup;
mod members;
mod messages;
mod range_stream;
mod stores;
