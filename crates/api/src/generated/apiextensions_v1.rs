// Written by `cargo xtask api`.

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `apiextensions.v1.CustomResourceColumnDefinition`.
    pub struct CustomResourceColumnDefinition {
        description: String = "description" if nonzero,
        format: String = "format" if nonzero,
        json_path: String = "jsonPath",
        name: String = "name",
        priority: i32 = "priority" if nonzero,
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `apiextensions.v1.CustomResourceConversion`.
    pub struct CustomResourceConversion {
        strategy: String = "strategy",
        webhook: Option<Box<WebhookConversion>> = "webhook",
    }
}

lean_struct! {
    /// In Kubernetes: `apiextensions.v1.CustomResourceDefinition`.
    pub struct CustomResourceDefinition("apiextensions.k8s.io/v1", "CustomResourceDefinition") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: CustomResourceDefinitionSpec = "spec",
        status: CustomResourceDefinitionStatus = "status",
    }
}
resource!(
    CustomResourceDefinition,
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    Cluster
);

lean_struct! {
    /// In Kubernetes: `apiextensions.v1.CustomResourceDefinitionCondition`.
    pub struct CustomResourceDefinitionCondition {
        last_transition_time: Option<String> = "lastTransitionTime",
        message: String = "message" if nonzero,
        observed_generation: i64 = "observedGeneration" if nonzero,
        reason: String = "reason" if nonzero,
        status: String = "status",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `apiextensions.v1.CustomResourceDefinitionNames`.
    pub struct CustomResourceDefinitionNames {
        categories: Vec<String> = "categories",
        kind: String = "kind",
        list_kind: String = "listKind" if nonzero,
        plural: String = "plural",
        short_names: Vec<String> = "shortNames",
        singular: String = "singular" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `apiextensions.v1.CustomResourceDefinitionSpec`.
    pub struct CustomResourceDefinitionSpec {
        conversion: Option<Box<CustomResourceConversion>> = "conversion",
        group: String = "group",
        names: CustomResourceDefinitionNames = "names",
        preserve_unknown_fields: bool = "preserveUnknownFields" if nonzero,
        scope: String = "scope",
        versions: Vec<CustomResourceDefinitionVersion> = "versions",
    }
}

lean_struct! {
    /// In Kubernetes: `apiextensions.v1.CustomResourceDefinitionStatus`.
    pub struct CustomResourceDefinitionStatus {
        accepted_names: CustomResourceDefinitionNames = "acceptedNames",
        conditions: Vec<CustomResourceDefinitionCondition> = "conditions",
        observed_generation: i64 = "observedGeneration" if nonzero,
        stored_versions: Vec<String> = "storedVersions",
    }
}

lean_struct! {
    /// In Kubernetes: `apiextensions.v1.CustomResourceDefinitionVersion`.
    pub struct CustomResourceDefinitionVersion {
        additional_printer_columns: Vec<CustomResourceColumnDefinition> = "additionalPrinterColumns",
        deprecated: bool = "deprecated" if nonzero,
        deprecation_warning: Option<String> = "deprecationWarning",
        name: String = "name",
        schema: Option<Box<CustomResourceValidation>> = "schema",
        selectable_fields: Vec<SelectableField> = "selectableFields",
        served: bool = "served",
        storage: bool = "storage",
        subresources: Option<Box<CustomResourceSubresources>> = "subresources",
    }
}

lean_struct! {
    /// In Kubernetes: `apiextensions.v1.CustomResourceSubresourceScale`.
    pub struct CustomResourceSubresourceScale {
        label_selector_path: Option<String> = "labelSelectorPath",
        spec_replicas_path: String = "specReplicasPath",
        status_replicas_path: String = "statusReplicasPath",
    }
}

lean_struct! {
    /// In Kubernetes: `apiextensions.v1.CustomResourceSubresourceStatus`.
    pub struct CustomResourceSubresourceStatus {
    }
}

lean_struct! {
    /// In Kubernetes: `apiextensions.v1.CustomResourceSubresources`.
    pub struct CustomResourceSubresources {
        scale: Option<Box<CustomResourceSubresourceScale>> = "scale",
        status: Option<Box<CustomResourceSubresourceStatus>> = "status",
    }
}

lean_struct! {
    /// In Kubernetes: `apiextensions.v1.CustomResourceValidation`.
    pub struct CustomResourceValidation {
        open_apiv3_schema: Option<serde_json::Value> = "openAPIV3Schema",
    }
}

lean_struct! {
    /// In Kubernetes: `apiextensions.v1.SelectableField`.
    pub struct SelectableField {
        json_path: String = "jsonPath",
    }
}

lean_struct! {
    /// In Kubernetes: `apiextensions.v1.ServiceReference`.
    pub struct ServiceReference {
        name: String = "name",
        namespace: String = "namespace",
        path: Option<String> = "path",
        port: Option<i32> = "port",
    }
}

lean_struct! {
    /// In Kubernetes: `apiextensions.v1.WebhookClientConfig`.
    pub struct WebhookClientConfig {
        ca_bundle: String = "caBundle" if nonzero,
        service: Option<Box<ServiceReference>> = "service",
        url: Option<String> = "url",
    }
}

lean_struct! {
    /// In Kubernetes: `apiextensions.v1.WebhookConversion`.
    pub struct WebhookConversion {
        client_config: Option<Box<WebhookClientConfig>> = "clientConfig",
        conversion_review_versions: Vec<String> = "conversionReviewVersions",
    }
}
