use coracle_meta::Cidr;

/// Settings of the controllers that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Nodes are to get pod CIDRs, and the cluster has none.
    #[error("--allocate-node-cidrs needs --cluster-cidr: one CIDR, or one for IPv4 and one for IPv6")]
    NoClusterCidr,
    /// The cluster has two CIDRs of one family, or more than two.
    #[error("--cluster-cidr takes one CIDR, or one for IPv4 and one for IPv6")]
    ClusterCidrs,
    /// The cluster CIDR cannot be split into blocks of this size.
    #[error(
        "--node-cidr-mask-size: /{mask} cannot split the cluster CIDR {cluster_cidr} into blocks, or splits an IPv6 CIDR into more than 65536"
    )]
    NodeCidrMask {
        /// The prefix length of a node's block.
        mask: u8,
        /// The cluster CIDR.
        cluster_cidr: Cidr,
    },
}
