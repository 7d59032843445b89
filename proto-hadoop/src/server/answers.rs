//! What servers write: plain types as wire messages. The other direction stands beside each type.

use crate::wire::{token, yarn};
use crate::yarn::{
    AllocateResponse, AmCommand, ApplicationReport, ApplicationUsage, ClusterMetrics, Container,
    ContainerFailure, Counted, HeartbeatAnswer, NmToken, NodeRegistered, NodeReport, QueueInfo,
    QueueState, Registration, ResourceType,
};

use super::services::AllocateAnswer;

fn signed(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

fn long(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl From<&ApplicationUsage> for yarn::ApplicationResourceUsageReportProto {
    fn from(usage: &ApplicationUsage) -> Self {
        Self {
            num_used_containers: Some(signed(usage.containers)),
            num_reserved_containers: Some(signed(usage.reserved_containers)),
            used_resources: Some((&usage.used).into()),
            reserved_resources: Some((&usage.reserved).into()),
            needed_resources: Some((&usage.needed).into()),
            memory_seconds: Some(long(usage.memory_mib_seconds)),
            vcore_seconds: Some(long(usage.vcore_seconds)),
            ..Self::default()
        }
    }
}

impl From<&ApplicationReport> for yarn::ApplicationReportProto {
    fn from(report: &ApplicationReport) -> Self {
        Self {
            application_id: Some(report.id.into()),
            user: Some(report.user.clone()),
            queue: Some(report.queue.clone()),
            name: Some(report.name.clone()),
            host: Some(report.host.clone()),
            rpc_port: Some(report.rpc_port.map_or(-1, i32::from)),
            yarn_application_state: report.state.number(),
            tracking_url: Some(report.tracking_url.clone()),
            diagnostics: Some(report.diagnostics.clone()),
            start_time: Some(report.start_time_ms),
            finish_time: Some(report.finish_time_ms),
            final_application_status: Some(report.final_status.number()),
            app_resource_usage: Some((&report.usage).into()),
            original_tracking_url: Some(report.original_tracking_url.clone()),
            current_application_attempt_id: report.current_attempt.map(Into::into),
            progress: Some(report.progress),
            application_type: Some(report.application_type.clone()),
            am_rm_token: report.am_rm_token.as_ref().map(token),
            application_tags: report.tags.clone(),
            unmanaged_application: Some(report.unmanaged),
            priority: Some(yarn::PriorityProto {
                priority: Some(report.priority),
            }),
            ..Self::default()
        }
    }
}

fn attribute((name, value): (&String, &String)) -> yarn::NodeAttributeProto {
    let (prefix, name) = name.split_once('/').unwrap_or(("", name));
    yarn::NodeAttributeProto {
        attribute_key: Some(yarn::NodeAttributeKeyProto {
            attribute_prefix: Some(prefix.to_owned()),
            attribute_name: Some(name.to_owned()),
        }),
        attribute_value: Some(value.clone()),
    }
}

impl From<&NodeReport> for yarn::NodeReportProto {
    fn from(report: &NodeReport) -> Self {
        Self {
            node_id: Some((&report.id).into()),
            http_address: Some(report.http_address.clone()),
            rack_name: Some(report.rack.clone()),
            used: Some((&report.used).into()),
            capability: Some((&report.capability).into()),
            num_containers: Some(signed(report.containers)),
            node_state: report.state.number(),
            health_report: Some(report.health_report.clone()),
            last_health_report_time: Some(report.last_health_report_ms),
            node_labels: report.labels.clone(),
            node_attributes: report.attributes.iter().map(attribute).collect(),
            decommissioning_timeout: report.decommissioning_timeout,
            ..Self::default()
        }
    }
}

impl From<&ClusterMetrics> for yarn::YarnClusterMetricsProto {
    fn from(metrics: &ClusterMetrics) -> Self {
        Self {
            num_node_managers: Some(signed(metrics.nodes)),
            num_active_nms: Some(signed(metrics.active)),
            num_lost_nms: Some(signed(metrics.lost)),
            num_unhealthy_nms: Some(signed(metrics.unhealthy)),
            num_decommissioned_nms: Some(signed(metrics.decommissioned)),
            ..Self::default()
        }
    }
}

impl From<&QueueInfo> for yarn::QueueInfoProto {
    fn from(queue: &QueueInfo) -> Self {
        use yarn::QueueStateProto as Wire;
        let state = match queue.state {
            QueueState::Stopped => Some(Wire::QStopped),
            QueueState::Running => Some(Wire::QRunning),
            QueueState::Draining => Some(Wire::QDraining),
            QueueState::Unknown => None,
        };
        Self {
            queue_name: Some(queue.name.clone()),
            capacity: Some(queue.capacity),
            maximum_capacity: Some(queue.maximum_capacity),
            current_capacity: Some(queue.current_capacity),
            state: state.map(Into::into),
            child_queues: queue.children.iter().map(Into::into).collect(),
            applications: queue.applications.iter().map(Into::into).collect(),
            accessible_node_labels: queue.accessible_node_labels.clone(),
            default_node_label_expression: queue.default_node_label.clone(),
            queue_path: queue.path.clone(),
            ..Self::default()
        }
    }
}

impl From<&ResourceType> for yarn::ResourceTypeInfoProto {
    fn from(kind: &ResourceType) -> Self {
        Self {
            name: kind.name.clone(),
            units: Some(kind.units.clone()),
            r#type: Some(yarn::ResourceTypesProto::Countable.into()),
        }
    }
}

impl From<&Container> for yarn::ContainerProto {
    fn from(container: &Container) -> Self {
        Self {
            id: Some(container.id.into()),
            node_id: Some((&container.node).into()),
            node_http_address: Some(container.http_address.clone()),
            resource: Some((&container.resource).into()),
            priority: Some(yarn::PriorityProto {
                priority: Some(container.priority),
            }),
            container_token: container.token.as_ref().map(token),
            allocation_request_id: Some(container.allocation_request_id),
            ..Self::default()
        }
    }
}

impl From<&NmToken> for yarn::NmTokenProto {
    fn from(login: &NmToken) -> Self {
        Self {
            node_id: Some((&login.node).into()),
            token: Some(token(&login.token)),
        }
    }
}

impl From<&Registration> for yarn::RegisterApplicationMasterResponseProto {
    fn from(registration: &Registration) -> Self {
        use yarn::SchedulerResourceTypes as Wire;
        let counted = match registration.counted {
            Counted::Memory => vec![Wire::Memory.into()],
            Counted::MemoryAndCpu => vec![Wire::Memory.into(), Wire::Cpu.into()],
        };
        let containers = registration.previous_containers.iter();
        Self {
            maximum_capability: Some((&registration.maximum).into()),
            containers_from_previous_attempts: containers.map(Into::into).collect(),
            queue: Some(registration.queue.clone()),
            nm_tokens_from_previous_attempts: registration
                .nm_tokens
                .iter()
                .map(Into::into)
                .collect(),
            scheduler_resource_types: counted,
            resource_types: registration.resource_types.iter().map(Into::into).collect(),
            ..Self::default()
        }
    }
}

impl From<&AllocateAnswer> for yarn::AllocateResponseProto {
    fn from(answer: &AllocateAnswer) -> Self {
        let AllocateResponse {
            allocated,
            completed,
            updated_nodes,
            headroom,
            cluster_nodes,
            preempted,
            nm_tokens,
            previous_containers,
            command,
        } = &answer.response;
        let contract = |strict: bool| {
            let of_sort = preempted.iter().filter(|one| one.strict == strict);
            let rows = of_sort.map(|one| yarn::PreemptionContainerProto {
                id: Some(one.id.into()),
            });
            rows.collect::<Vec<_>>()
        };
        let preempt = (!preempted.is_empty()).then(|| yarn::PreemptionMessageProto {
            strict_contract: Some(yarn::StrictPreemptionContractProto {
                container: contract(true),
            }),
            contract: Some(yarn::PreemptionContractProto {
                resource: Vec::new(),
                container: contract(false),
            }),
        });
        let command = command.map(|command| match command {
            AmCommand::Resync => yarn::AmCommandProto::AmResync.into(),
            AmCommand::Shutdown => yarn::AmCommandProto::AmShutdown.into(),
        });
        Self {
            a_m_command: command,
            response_id: Some(answer.response_id),
            allocated_containers: allocated.iter().map(Into::into).collect(),
            completed_container_statuses: completed.iter().map(Into::into).collect(),
            limit: Some(headroom.into()),
            updated_nodes: updated_nodes.iter().map(Into::into).collect(),
            num_cluster_nodes: Some(signed(*cluster_nodes)),
            preempt,
            nm_tokens: nm_tokens.iter().map(Into::into).collect(),
            am_rm_token: answer.token.as_ref().map(token),
            containers_from_previous_attempts: previous_containers.iter().map(Into::into).collect(),
            ..Self::default()
        }
    }
}

impl From<&ContainerFailure> for yarn::ContainerExceptionMapProto {
    fn from(failure: &ContainerFailure) -> Self {
        Self {
            container_id: Some(failure.id.into()),
            exception: Some(yarn::SerializedExceptionProto {
                message: Some(failure.message.clone()),
                trace: None,
                class_name: Some(failure.class.clone()),
                cause: None,
            }),
        }
    }
}

impl From<&NodeRegistered> for yarn::RegisterNodeManagerResponseProto {
    fn from(answer: &NodeRegistered) -> Self {
        Self {
            container_token_master_key: answer.container_key.as_ref().map(Into::into),
            nm_token_master_key: answer.nm_key.as_ref().map(Into::into),
            node_action: Some(answer.action.number()),
            rm_identifier: Some(answer.resource_manager),
            diagnostics_message: Some(answer.diagnostics.clone()),
            rm_version: None,
        }
    }
}

impl From<&HeartbeatAnswer> for yarn::NodeHeartbeatResponseProto {
    fn from(answer: &HeartbeatAnswer) -> Self {
        let interval = i64::try_from(answer.interval.as_millis()).unwrap_or(i64::MAX);
        let containers = |list: &[crate::ContainerId]| list.iter().map(|&id| id.into()).collect();
        Self {
            response_id: Some(answer.response_id),
            container_token_master_key: answer.container_key.as_ref().map(Into::into),
            nm_token_master_key: answer.nm_key.as_ref().map(Into::into),
            node_action: Some(answer.action.number()),
            containers_to_cleanup: containers(&answer.containers_to_end),
            applications_to_cleanup: answer
                .applications_over
                .iter()
                .map(|&id| id.into())
                .collect(),
            next_heart_beat_interval: Some(interval),
            diagnostics_message: Some(answer.diagnostics.clone()),
            containers_to_be_removed_from_nm: containers(&answer.containers_heard),
        }
    }
}
