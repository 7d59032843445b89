//! `ApplicationMasterProtocol`: what ApplicationMasters ask.

use proto_hadoop::server::{
    AllocateAnswer, AllocateCall, AmRmIdentifier, ApplicationMasterService, FinishCall, Keyring,
    Refusal, RegisterCall,
};
use proto_hadoop::yarn::{
    AllocateRequest, AllocateResponse, ContainerState, ContainerStatus, NodeState, Registration,
    Resource, ResourceRequest, YarnApplicationState,
};
use proto_hadoop::{AppAttemptId, ContainerId};
use tokio::time::Instant;

use super::Desk;
use super::books::{ABORTED, ApplicationRecord, Books};

/// `response_id` counts up to here and begins anew.
const RESPONSE_MASK: i32 = i32::MAX;

/// Knows the passwords of AMRM tokens.
impl Keyring for Desk {
    fn password(&self, identifier: &[u8]) -> Result<Vec<u8>, Refusal> {
        let token = AmRmIdentifier::read(identifier);
        let token = token.map_err(|error| Refusal::invalid_token(error.to_string()))?;
        let books = self.books();
        let application = books.applications.get(&token.attempt.application);
        let lives = application.is_some_and(|application| {
            application.attempt() == token.attempt && !application.state.is_final()
        });
        if !lives {
            let words = format!("{} not found in AMRMTokenSecretManager.", token.attempt);
            return Err(Refusal::invalid_token(words));
        }
        let key = books.keys.am.iter().find(|key| key.id == token.key);
        let key = key.ok_or_else(|| {
            Refusal::invalid_token(format!("Invalid AMRMToken from {}", token.attempt))
        })?;
        Ok(key.sign(identifier))
    }
}

fn gone(attempt: AppAttemptId) -> Refusal {
    Refusal::yarn(
        "ApplicationAttemptNotFoundException",
        format!("Application attempt {attempt} doesn't exist in ApplicationMasterService cache."),
    )
}

fn unregistered(attempt: AppAttemptId, method: &str) -> Refusal {
    Refusal::yarn(
        "ApplicationMasterNotRegisteredException",
        format!("AM is not registered for known application attempt: {attempt} ({method})"),
    )
}

fn bearer(identifier: &[u8]) -> Result<AmRmIdentifier, Refusal> {
    AmRmIdentifier::read(identifier).map_err(|error| Refusal::invalid_token(error.to_string()))
}

/// The application whose attempt calls, which is thereby heard of.
fn caller(books: &mut Books, attempt: AppAttemptId) -> Result<&mut ApplicationRecord, Refusal> {
    let application = books.applications.get_mut(&attempt.application);
    let application = application
        .filter(|application| application.attempt() == attempt)
        .filter(|application| !application.state.is_final())
        .ok_or_else(|| gone(attempt))?;
    application.heard = Some(Instant::now());
    Ok(application)
}

impl ApplicationMasterService for Desk {
    fn register(&self, token: &[u8], call: RegisterCall) -> Result<Registration, Refusal> {
        let attempt = bearer(token)?.attempt;
        let mut books = self.books();
        let maximum = books.maximum();
        let counted = books.options.counted;
        let application = caller(&mut books, attempt)?;
        if application.registered {
            return Err(Refusal::yarn(
                "InvalidApplicationMasterRequestException",
                format!(
                    "Application Master is already registered : {}",
                    attempt.application
                ),
            ));
        }
        application.registered = true;
        application.response_id = 0;
        application.last_answer = None;
        application.state = YarnApplicationState::Running;
        application.host = call.host;
        application.port = call.port;
        application.tracking_url = call.tracking_url;
        let queue = application.submission.queue.clone();
        drop(books);
        Ok(Registration {
            maximum,
            queue,
            counted,
            resource_types: proto_hadoop::server::ApplicationClientService::resource_types(self)?,
            previous_containers: Vec::new(),
            nm_tokens: Vec::new(),
        })
    }

    fn allocate(&self, token: &[u8], call: AllocateCall) -> Result<AllocateAnswer, Refusal> {
        let identifier = bearer(token)?;
        let attempt = identifier.attempt;
        let mut books = self.books();
        let application = caller(&mut books, attempt)?;
        if !application.registered {
            return Err(unregistered(attempt, "allocate"));
        }
        if let Some(answer) = &application.last_answer
            && next(call.response_id) == application.response_id
        {
            // Its answer was lost: the same again.
            return Ok(answer.clone());
        }
        if call.response_id != application.response_id {
            return Err(Refusal::yarn(
                "InvalidApplicationMasterRequestException",
                format!(
                    "Invalid responseId in AllocateRequest from application attempt: {attempt}, \
                     expect responseId to be {}, but get {}",
                    application.response_id, call.response_id
                ),
            ));
        }
        check(&books, &call.request)?;
        take_in(&mut books, attempt, call.request);
        self.schedule(books);

        let mut books = self.books();
        let (headroom, cluster_nodes) = room(&books);
        let newest = books.keys.am.last().map(|key| key.id);
        let renewed = match newest == Some(identifier.key) {
            true => None,
            false => books.am_token(attempt),
        };
        let application = caller(&mut books, attempt)?;
        application.response_id = next(application.response_id);
        let answer = AllocateAnswer {
            response_id: application.response_id,
            response: AllocateResponse {
                allocated: std::mem::take(&mut application.granted),
                completed: std::mem::take(&mut application.completed),
                nm_tokens: std::mem::take(&mut application.nm_tokens),
                headroom,
                cluster_nodes,
                ..AllocateResponse::default()
            },
            token: renewed,
        };
        application.last_answer = Some(answer.clone());
        Ok(answer)
    }

    fn finish(&self, token: &[u8], call: FinishCall) -> Result<bool, Refusal> {
        let attempt = bearer(token)?.attempt;
        let id = attempt.application;
        let mut books = self.books();
        if let Some(over) = books.applications.get(&id)
            && over.state == YarnApplicationState::Finished
        {
            return Ok(true);
        }
        let application = caller(&mut books, attempt)?;
        if !application.registered {
            return Err(unregistered(attempt, "finishApplicationMaster"));
        }
        application.tracking_url = call.tracking_url;
        application.end(
            YarnApplicationState::Finished,
            call.status,
            call.diagnostics,
        );
        // The ApplicationMaster leaves by itself.
        books.clear(id, true);
        self.schedule(books);
        Ok(true)
    }
}

fn next(response_id: i32) -> i32 {
    response_id.wrapping_add(1) & RESPONSE_MASK
}

/// Whether every row could ever be served.
fn check(books: &Books, request: &AllocateRequest) -> Result<(), Refusal> {
    let maximum = books.maximum();
    for row in &request.asks {
        let ResourceRequest { capability, .. } = row;
        if row.node_label.is_some() {
            return Err(Refusal::yarn(
                "InvalidLabelResourceRequestException",
                "Invalid resource request, node label not enabled but request contains label \
                 expression",
            ));
        }
        let wanted = books.normalized(capability);
        if row.containers > 0
            && (capability.memory_mib > maximum.memory_mib || wanted.vcores > maximum.vcores)
        {
            return Err(Refusal::yarn(
                "InvalidResourceRequestException",
                format!(
                    "Invalid resource request! Cannot allocate containers as requested resource is \
                     greater than maximum allowed allocation. Requested resource=<{capability}>, \
                     maximum allowed allocation=<{maximum}>"
                ),
            ));
        }
    }
    Ok(())
}

fn take_in(books: &mut Books, attempt: AppAttemptId, request: AllocateRequest) {
    let Some(application) = books.applications.get_mut(&attempt.application) else {
        return;
    };
    application.progress = request.progress;
    for row in request.asks {
        let key = (row.priority, row.allocation_request_id);
        let rows = application.asks.entry(key).or_default();
        match row.containers {
            0 => drop(rows.remove(&row.resource_name)),
            _ => drop(rows.insert(row.resource_name.clone(), row)),
        }
    }
    application.asks.retain(|_, rows| !rows.is_empty());
    application.blacklist.extend(request.blacklist_additions);
    for host in request.blacklist_removals {
        application.blacklist.remove(&host);
    }
    for container in request.releases {
        release(books, container);
    }
}

fn release(books: &mut Books, container: ContainerId) {
    let application = books.applications.get(&container.attempt.application);
    let Some(held) = application.and_then(|application| application.held.get(&container)) else {
        return;
    };
    if let Some(node) = books.nodes.get_mut(&held.node) {
        node.to_end.insert(container);
    }
    books.end_container(ContainerStatus {
        id: container,
        state: ContainerState::Complete,
        is_localizing: false,
        exit_status: ABORTED,
        diagnostics: "Container released by application".to_owned(),
    });
}

/// What is free on all running nodes together, and how many there are.
fn room(books: &Books) -> (Resource, u32) {
    let running = books
        .nodes
        .values()
        .filter(|node| node.state == NodeState::Running);
    let mut free = Resource::default();
    let mut count = 0;
    for node in running {
        count += 1;
        free.memory_mib += node.free_mib();
        free.vcores += node.capability.vcores.saturating_sub(node.used.vcores);
    }
    (free, count)
}
