//! `ApplicationClientProtocol`: what users ask.

use proto_hadoop::ApplicationId;
use proto_hadoop::server::{ApplicationClientService, Refusal};
use proto_hadoop::yarn::{
    ApplicationFilter, ApplicationReport, ApplicationSubmission, ClusterMetrics,
    FinalApplicationStatus, NewApplication, NodeReport, NodeState, QueueInfo, QueueState,
    ResourceType, YarnApplicationState,
};

use super::Desk;
use super::books::ApplicationRecord;

/// The one queue, and its parent.
const QUEUE: &str = "default";
const ROOT: &str = "root";

fn unknown(id: ApplicationId) -> Refusal {
    let words = format!("Application with id '{id}' doesn't exist in RM.");
    Refusal::yarn("ApplicationNotFoundException", words)
}

fn leaf() -> QueueInfo {
    QueueInfo {
        name: QUEUE.to_owned(),
        path: Some(format!("{ROOT}.{QUEUE}")),
        state: QueueState::Running,
        capacity: 1.0,
        maximum_capacity: 1.0,
        current_capacity: 0.0,
        children: Vec::new(),
        applications: Vec::new(),
        accessible_node_labels: Vec::new(),
        default_node_label: None,
    }
}

impl ApplicationClientService for Desk {
    fn new_application(&self) -> Result<NewApplication, Refusal> {
        let mut books = self.books();
        books.next_application += 1;
        Ok(NewApplication {
            id: ApplicationId {
                cluster_timestamp: books.epoch_ns,
                id: books.next_application,
            },
            maximum: books.maximum(),
        })
    }

    fn submit(&self, user: &str, mut submission: ApplicationSubmission) -> Result<(), Refusal> {
        let mut books = self.books();
        let id = submission.id;
        if books.applications.contains_key(&id) {
            // A repeated submission is the first one again.
            return Ok(());
        }
        let (maximum, wanted) = (books.maximum(), books.normalized(&submission.resource));
        if !books.nodes.is_empty() && wanted.memory_mib > maximum.memory_mib {
            let words = format!(
                "Invalid resource request! Cannot allocate containers as requested resource is \
                 greater than maximum allowed allocation. Requested resource type=[memory-mb], \
                 Requested resource=<{wanted}>, maximum allowed allocation=<{maximum}>"
            );
            return Err(Refusal::yarn("InvalidResourceRequestException", words));
        }
        let known = [QUEUE, "root.default"].contains(&submission.queue.as_str());
        let queue = std::mem::replace(&mut submission.queue, QUEUE.to_owned());
        let mut application = ApplicationRecord::new(submission, user);
        if !known {
            let words =
                format!("Application {id} submitted by user {user} to unknown queue: {queue}");
            application.end(
                YarnApplicationState::Failed,
                FinalApplicationStatus::Failed,
                words,
            );
        }
        books.applications.insert(id, application);
        self.schedule(books);
        Ok(())
    }

    fn report(&self, user: &str, id: ApplicationId) -> Result<ApplicationReport, Refusal> {
        let books = self.books();
        let application = books.applications.get(&id).ok_or_else(|| unknown(id))?;
        Ok(books.report(application, user))
    }

    fn kill(&self, user: &str, id: ApplicationId, reason: &str) -> Result<bool, Refusal> {
        let mut books = self.books();
        if !books.applications.contains_key(&id) {
            return Err(unknown(id));
        }
        let reason = match reason {
            "" => String::new(),
            words => format!("{words} "),
        };
        books.end_application(
            id,
            YarnApplicationState::Killed,
            FinalApplicationStatus::Killed,
            format!("{reason}Application {id} was killed by user {user}"),
        );
        self.schedule(books);
        Ok(true)
    }

    fn applications(&self, filter: &ApplicationFilter) -> Result<Vec<ApplicationReport>, Refusal> {
        let books = self.books();
        let all = books.applications.values();
        let wanted =
            |list: &[String], value: &str| list.is_empty() || list.iter().any(|one| one == value);
        let passing = all.filter(|application| {
            let submission = &application.submission;
            let tags = &filter.tags;
            (filter.states.is_empty() || filter.states.contains(&application.state))
                && wanted(&filter.users, &application.user)
                && wanted(&filter.queues, &submission.queue)
                && wanted(&filter.types, &submission.application_type)
                && (tags.is_empty() || tags.iter().any(|tag| submission.tags.contains(tag)))
        });
        let limit = filter.limit.and_then(|limit| usize::try_from(limit).ok());
        let reports = passing.map(|application| books.report(application, ""));
        Ok(reports.take(limit.unwrap_or(usize::MAX)).collect())
    }

    fn metrics(&self) -> Result<ClusterMetrics, Refusal> {
        let books = self.books();
        let count = |wanted: &[NodeState]| {
            let nodes = books.nodes.values();
            let found = nodes.filter(|node| wanted.is_empty() || wanted.contains(&node.state));
            u32::try_from(found.count()).unwrap_or(u32::MAX)
        };
        Ok(ClusterMetrics {
            nodes: count(&[]),
            active: count(&[NodeState::Running]),
            lost: count(&[NodeState::Lost]),
            unhealthy: count(&[NodeState::Unhealthy]),
            decommissioned: 0,
        })
    }

    fn nodes(&self, states: &[NodeState]) -> Result<Vec<NodeReport>, Refusal> {
        let books = self.books();
        let nodes = books.nodes.iter();
        let wanted = nodes.filter(|(_, node)| states.is_empty() || states.contains(&node.state));
        Ok(wanted.map(|(id, node)| node.report(id)).collect())
    }

    fn queue(&self, name: &str) -> Result<Option<QueueInfo>, Refusal> {
        Ok(match name {
            QUEUE | "root.default" => Some(leaf()),
            ROOT => Some(QueueInfo {
                name: ROOT.to_owned(),
                path: Some(ROOT.to_owned()),
                children: vec![leaf()],
                ..leaf()
            }),
            _ => None,
        })
    }

    fn resource_types(&self) -> Result<Vec<ResourceType>, Refusal> {
        let kind = |name: &str, units: &str| ResourceType {
            name: name.to_owned(),
            units: units.to_owned(),
        };
        Ok(vec![kind("memory-mb", "Mi"), kind("vcores", "")])
    }
}
