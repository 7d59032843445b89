//! `ContainerManagementProtocol`: what ApplicationMasters order.

use std::time::{SystemTime, UNIX_EPOCH};

use proto_hadoop::ContainerId;
use proto_hadoop::server::{
    ContainerIdentifier, ContainerManagementService, Keyring, NmIdentifier, Refusal, StartCall,
};
use proto_hadoop::yarn::{ContainerFailure, ContainerStatus, ContainersAnswer, exit_status};

use super::containers::Desk;

/// Knows the passwords of NM tokens.
impl Keyring for Desk {
    fn password(&self, identifier: &[u8]) -> Result<Vec<u8>, Refusal> {
        let token = bearer(identifier)?;
        if token.node != self.id {
            let words = format!("NMToken for {} shown to {}", token.node, self.id);
            return Err(Refusal::invalid_token(words));
        }
        let key = self.nm_key(Some(token.key)).ok_or_else(|| {
            Refusal::invalid_token(format!(
                "Given NMToken for application : {} seems to have been generated illegally.",
                token.attempt
            ))
        })?;
        Ok(key.sign(identifier))
    }
}

fn bearer(identifier: &[u8]) -> Result<NmIdentifier, Refusal> {
    NmIdentifier::read(identifier).map_err(|error| Refusal::invalid_token(error.to_string()))
}

fn failure(id: ContainerId, refusal: Refusal) -> ContainerFailure {
    ContainerFailure {
        id,
        class: refusal.class,
        message: refusal.message,
    }
}

fn unknown(id: ContainerId) -> Refusal {
    let words = format!("Container {id} is not handled by this NodeManager");
    Refusal::yarn("YarnException", words)
}

/// A container of another application than the caller's.
fn check_owner(caller: &NmIdentifier, id: ContainerId) -> Result<(), Refusal> {
    if caller.attempt.application == id.attempt.application {
        return Ok(());
    }
    let words = format!(
        "{} attempted to reach non-application container : {id}",
        caller.attempt
    );
    Err(Refusal::yarn("YarnException", words))
}

impl Desk {
    fn start_one(
        &self,
        caller: &NmIdentifier,
        call: StartCall,
    ) -> Result<ContainerId, (Option<ContainerId>, Refusal)> {
        let identifier = ContainerIdentifier::read(&call.token.identifier)
            .map_err(|error| (None, Refusal::invalid_token(error.to_string())))?;
        let id = identifier.container;
        self.check(caller, &call, &identifier)
            .and_then(|()| {
                let taken = self.accept(identifier, call.launch);
                taken.map_err(|(class, words)| Refusal::yarn(class, words))
            })
            .map(|()| id)
            .map_err(|refusal| (Some(id), refusal))
    }

    /// Whether the grant is real, for this node, and still good.
    fn check(
        &self,
        caller: &NmIdentifier,
        call: &StartCall,
        identifier: &ContainerIdentifier,
    ) -> Result<(), Refusal> {
        let id = identifier.container;
        let signed = self.container_key().is_some_and(|key| {
            key.id == identifier.key && key.verifies(&call.token.identifier, &call.token.password)
        });
        if !signed {
            let words = format!("Invalid ContainerToken for {id}: its signature is not right");
            return Err(Refusal::invalid_token(words));
        }
        check_owner(caller, id)?;
        if identifier.node != self.id.to_string() {
            let words = format!(
                "Unauthorized request to start container. The container {id} is for {}, this is {}",
                identifier.node, self.id
            );
            return Err(Refusal::yarn("YarnException", words));
        }
        if identifier.resource_manager != self.resource_manager() {
            let words = format!("Container {id} rejected as it is allocated by a previous RM");
            return Err(Refusal::yarn("InvalidContainerException", words));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_ms = i64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(i64::MAX);
        if identifier.expires_ms < now_ms {
            let words = format!(
                "Unauthorized request to start container. This token is expired. current time is \
                 {now_ms} found {}",
                identifier.expires_ms
            );
            return Err(Refusal::yarn("YarnException", words));
        }
        Ok(())
    }
}

impl ContainerManagementService for Desk {
    fn start(
        &self,
        token: &[u8],
        calls: Vec<StartCall>,
    ) -> Result<ContainersAnswer<ContainerId>, Refusal> {
        let caller = bearer(token)?;
        let mut outcome = ContainersAnswer {
            succeeded: Vec::new(),
            failed: Vec::new(),
        };
        for call in calls {
            match self.start_one(&caller, call) {
                Ok(id) => outcome.succeeded.push(id),
                Err((Some(id), refusal)) => outcome.failed.push(failure(id, refusal)),
                Err((None, refusal)) => return Err(refusal),
            }
        }
        Ok(outcome)
    }

    fn stop(
        &self,
        token: &[u8],
        ids: Vec<ContainerId>,
    ) -> Result<ContainersAnswer<ContainerId>, Refusal> {
        let caller = bearer(token)?;
        let by = (
            exit_status::KILLED_BY_APPLICATION_MASTER,
            "Container killed by the ApplicationMaster.",
        );
        Ok(sort(ids, |id| {
            check_owner(&caller, id)?;
            match self.stop_container(id, by) {
                true => Ok(id),
                false => Err(unknown(id)),
            }
        }))
    }

    fn statuses(
        &self,
        token: &[u8],
        ids: Vec<ContainerId>,
    ) -> Result<ContainersAnswer<ContainerStatus>, Refusal> {
        let caller = bearer(token)?;
        Ok(sort(ids, |id| {
            check_owner(&caller, id)?;
            self.status(id).ok_or_else(|| unknown(id))
        }))
    }
}

fn sort<T>(
    ids: Vec<ContainerId>,
    each: impl Fn(ContainerId) -> Result<T, Refusal>,
) -> ContainersAnswer<T> {
    let mut outcome = ContainersAnswer {
        succeeded: Vec::new(),
        failed: Vec::new(),
    };
    for id in ids {
        match each(id) {
            Ok(done) => outcome.succeeded.push(done),
            Err(refusal) => outcome.failed.push(failure(id, refusal)),
        }
    }
    outcome
}
