//! The name service of a job: ports by name, for all its ranks on all nodes.

use std::collections::BTreeMap;

use job::wire;
use job::wire::mpi_order::Order as ToLauncher;
use policy::ContainerId;

use crate::mpi::Mpi;

/// Most bytes of names and ports. A port is some hundred bytes.
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// What is published.
#[derive(Debug, Default)]
pub(crate) struct PublishedNames {
    ports: BTreeMap<String, String>,
    bytes: usize,
}

impl PublishedNames {
    /// The port of a look-up, nothing of others; or why not, in the words of MPICH's own process
    /// manager where it has them.
    fn answer(&mut self, request: wire::NameRequest) -> Result<String, &'static str> {
        use wire::name_request::Kind;
        match request.kind() {
            Kind::Publish => self.publish(request.service, request.port),
            Kind::Lookup => match self.ports.get(&request.service) {
                Some(port) => Ok(port.clone()),
                None => Err("service_not_found"),
            },
            Kind::Unpublish => match self.ports.remove_entry(&request.service) {
                Some((name, port)) => {
                    self.bytes = self.bytes.saturating_sub(name.len() + port.len());
                    Ok(String::new())
                }
                None => Err("service_not_found"),
            },
        }
    }

    fn publish(&mut self, service: String, port: String) -> Result<String, &'static str> {
        if self.ports.contains_key(&service) {
            return Err("key_already_present");
        }
        let bytes = self
            .bytes
            .saturating_add(service.len())
            .saturating_add(port.len());
        if bytes > BYTES_MAX {
            return Err("the_job_has_published_4_MiB_of_names_already");
        }
        self.bytes = bytes;
        self.ports.insert(service, port);
        Ok(String::new())
    }
}

impl Mpi {
    /// Answers a rank of this container.
    pub(crate) fn on_name(&mut self, container: &ContainerId, request: wire::NameRequest) {
        let rank = request.rank;
        let (port, refusal) = match self.names.answer(request) {
            Ok(port) => (port, String::new()),
            Err(why) => (String::new(), why.to_owned()),
        };
        let answer = wire::NameAnswer {
            rank,
            refusal,
            port,
        };
        self.order(container, ToLauncher::Name(answer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_there_until_they_are_taken_back() {
        use wire::name_request::Kind;
        let mut names = PublishedNames::default();
        let mut ask = |kind: Kind, service: &str, port: &str| {
            names.answer(wire::NameRequest {
                rank: 0,
                kind: kind.into(),
                service: service.to_owned(),
                port: port.to_owned(),
            })
        };
        assert_eq!(ask(Kind::Lookup, "a", ""), Err("service_not_found"));
        assert_eq!(ask(Kind::Publish, "a", "port"), Ok(String::new()));
        assert_eq!(ask(Kind::Publish, "a", "else"), Err("key_already_present"));
        assert_eq!(ask(Kind::Lookup, "a", ""), Ok("port".to_owned()));
        assert_eq!(ask(Kind::Unpublish, "a", ""), Ok(String::new()));
        assert_eq!(ask(Kind::Unpublish, "a", ""), Err("service_not_found"));
        let long = "p".repeat(BYTES_MAX);
        assert!(
            ask(Kind::Publish, "a", &long)
                .unwrap_err()
                .contains("4_MiB")
        );
        assert_eq!(ask(Kind::Publish, "a", "port"), Ok(String::new()));
    }
}
