// Written by `cargo xtask api`.

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `networking.v1.HTTPIngressPath`.
    pub struct HTTPIngressPath {
        backend: IngressBackend = "backend",
        path: String = "path" if nonzero,
        path_type: Option<String> = "pathType",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.HTTPIngressRuleValue`.
    pub struct HTTPIngressRuleValue {
        paths: Vec<HTTPIngressPath> = "paths",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.IPAddress`.
    pub struct IPAddress("networking.k8s.io/v1", "IPAddress") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: IPAddressSpec = "spec",
    }
}
resource!(IPAddress, "networking.k8s.io", "v1", "IPAddress", "ipaddresses", Cluster);

lean_struct! {
    /// In Kubernetes: `networking.v1.IPAddressSpec`.
    pub struct IPAddressSpec {
        parent_ref: Option<Box<ParentReference>> = "parentRef",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.IPBlock`.
    pub struct IPBlock {
        cidr: String = "cidr",
        except: Vec<String> = "except",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.Ingress`.
    pub struct Ingress("networking.k8s.io/v1", "Ingress") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: IngressSpec = "spec",
        status: IngressStatus = "status",
    }
}
resource!(Ingress, "networking.k8s.io", "v1", "Ingress", "ingresses", Namespaced);

lean_struct! {
    /// In Kubernetes: `networking.v1.IngressBackend`.
    pub struct IngressBackend {
        resource: Option<Box<super::core_v1::TypedLocalObjectReference>> = "resource",
        service: Option<Box<IngressServiceBackend>> = "service",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.IngressClass`.
    pub struct IngressClass("networking.k8s.io/v1", "IngressClass") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: IngressClassSpec = "spec",
    }
}
resource!(IngressClass, "networking.k8s.io", "v1", "IngressClass", "ingressclasses", Cluster);

lean_struct! {
    /// In Kubernetes: `networking.v1.IngressClassParametersReference`.
    pub struct IngressClassParametersReference {
        api_group: Option<String> = "apiGroup",
        kind: String = "kind",
        name: String = "name",
        namespace: Option<String> = "namespace",
        scope: Option<String> = "scope",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.IngressClassSpec`.
    pub struct IngressClassSpec {
        controller: String = "controller" if nonzero,
        parameters: Option<Box<IngressClassParametersReference>> = "parameters",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.IngressLoadBalancerIngress`.
    pub struct IngressLoadBalancerIngress {
        hostname: String = "hostname" if nonzero,
        ip: String = "ip" if nonzero,
        ports: Vec<IngressPortStatus> = "ports",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.IngressLoadBalancerStatus`.
    pub struct IngressLoadBalancerStatus {
        ingress: Vec<IngressLoadBalancerIngress> = "ingress",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.IngressPortStatus`.
    pub struct IngressPortStatus {
        error: Option<String> = "error",
        port: i32 = "port",
        protocol: String = "protocol",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.IngressRule`.
    pub struct IngressRule {
        host: String = "host" if nonzero,
        http: Option<Box<HTTPIngressRuleValue>> = "http",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.IngressServiceBackend`.
    pub struct IngressServiceBackend {
        name: String = "name",
        port: ServiceBackendPort = "port",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.IngressSpec`.
    pub struct IngressSpec {
        default_backend: Option<Box<IngressBackend>> = "defaultBackend",
        ingress_class_name: Option<String> = "ingressClassName",
        rules: Vec<IngressRule> = "rules",
        tls: Vec<IngressTLS> = "tls",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.IngressStatus`.
    pub struct IngressStatus {
        load_balancer: IngressLoadBalancerStatus = "loadBalancer",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.IngressTLS`.
    pub struct IngressTLS {
        hosts: Vec<String> = "hosts",
        secret_name: String = "secretName" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.NetworkPolicy`.
    pub struct NetworkPolicy("networking.k8s.io/v1", "NetworkPolicy") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: NetworkPolicySpec = "spec",
    }
}
resource!(NetworkPolicy, "networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", Namespaced);

lean_struct! {
    /// In Kubernetes: `networking.v1.NetworkPolicyEgressRule`.
    pub struct NetworkPolicyEgressRule {
        ports: Vec<NetworkPolicyPort> = "ports",
        to: Vec<NetworkPolicyPeer> = "to",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.NetworkPolicyIngressRule`.
    pub struct NetworkPolicyIngressRule {
        from: Vec<NetworkPolicyPeer> = "from",
        ports: Vec<NetworkPolicyPort> = "ports",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.NetworkPolicyPeer`.
    pub struct NetworkPolicyPeer {
        ip_block: Option<Box<IPBlock>> = "ipBlock",
        namespace_selector: Option<Box<super::meta_v1::LabelSelector>> = "namespaceSelector",
        pod_selector: Option<Box<super::meta_v1::LabelSelector>> = "podSelector",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.NetworkPolicyPort`.
    pub struct NetworkPolicyPort {
        end_port: Option<i32> = "endPort",
        port: Option<coracle_meta::IntOrString> = "port",
        protocol: Option<String> = "protocol",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.NetworkPolicySpec`.
    pub struct NetworkPolicySpec {
        egress: Vec<NetworkPolicyEgressRule> = "egress",
        ingress: Vec<NetworkPolicyIngressRule> = "ingress",
        pod_selector: super::meta_v1::LabelSelector = "podSelector",
        policy_types: Vec<String> = "policyTypes",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.ParentReference`.
    pub struct ParentReference {
        group: String = "group" if nonzero,
        name: String = "name" if nonzero,
        namespace: String = "namespace" if nonzero,
        resource: String = "resource" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.ServiceBackendPort`.
    pub struct ServiceBackendPort {
        name: String = "name" if nonzero,
        number: i32 = "number" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.ServiceCIDR`.
    pub struct ServiceCIDR("networking.k8s.io/v1", "ServiceCIDR") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: ServiceCIDRSpec = "spec",
        status: ServiceCIDRStatus = "status",
    }
}
resource!(ServiceCIDR, "networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs", Cluster);

lean_struct! {
    /// In Kubernetes: `networking.v1.ServiceCIDRSpec`.
    pub struct ServiceCIDRSpec {
        cidrs: Vec<String> = "cidrs",
    }
}

lean_struct! {
    /// In Kubernetes: `networking.v1.ServiceCIDRStatus`.
    pub struct ServiceCIDRStatus {
        conditions: Vec<super::meta_v1::Condition> = "conditions",
    }
}
