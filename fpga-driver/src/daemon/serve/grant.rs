//! Who asks for a virtual device, and gets it, waits, or is refused.

use super::{ClientConnection, Driver, add, refused};
use crate::daemon::devices::Availability;
use crate::daemon::door::{Guest, MOST_CONNECTIONS};
use crate::daemon::lease::{Holder, Lease};
use crate::function::Function;
use crate::wire::{self, Reply};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// What a connection asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GrantRequest {
    /// One device, whose lease is the connection's own.
    Own,
    /// All at the same time, each lease with a socket of its own.
    All,
}

impl Driver {
    /// Grants, or lines up, or refuses. What is granted to [`GrantRequest::All`] is said by then: nothing is left to say.
    pub(super) fn wish(
        &mut self,
        id: u64,
        functions: &[Function],
        asked: GrantRequest,
        wait: bool,
    ) -> Option<Reply> {
        if functions.is_empty() || functions.len() > wire::MOST_AT_ONCE {
            return Some(refused(&format!(
                "{} virtual devices are asked for at the same time: 1 to {} may be",
                functions.len(),
                wire::MOST_AT_ONCE
            )));
        }
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.asked = asked;
        }
        match self.devices.find_last(functions) {
            Availability::Free(found) => self.grant_each(id, functions, &found),
            Availability::None(function) => Some(self.none(function, functions, "")),
            Availability::Taken if wait => Some(Reply::Waiting {
                ahead: self.devices.wait(id, functions),
            }),
            Availability::Taken => Some(refused(&match functions {
                [function] => format!("all virtual devices for {function} are leased"),
                _ => "not all of these virtual devices are free at the same time".to_owned(),
            })),
        }
    }

    /// Why there is none of a function for these.
    fn none(&self, function: Function, functions: &[Function], more: &str) -> Reply {
        let asked = functions.iter().filter(|it| **it == function).count();
        refused(&match self.devices.on(function).count() {
            0 => format!("no board of this node computes {function}{more}, or it is off"),
            there => format!(
                "{asked} virtual devices for {function} are asked for at the same time, and the boards that are on have {there}"
            ),
        })
    }

    /// Grants these devices; what is left to say to the connection.
    fn grant_each(&mut self, id: u64, functions: &[Function], found: &[usize]) -> Option<Reply> {
        let asked = self.connections.get(&id)?.asked;
        match (asked, functions, found) {
            (GrantRequest::Own, [function], [index]) => Some(self.grant(id, *function, *index)),
            _ => self.grant_all(id, functions, found).err(),
        }
    }

    /// Grants all of these, or none and says why.
    fn grant_all(&mut self, id: u64, functions: &[Function], found: &[usize]) -> Result<(), Reply> {
        let mut granted = Vec::with_capacity(found.len());
        for (function, index) in functions.iter().zip(found) {
            let made = self.pair(id).map(|(own, socket)| {
                let reply = self.grant(own, *function, *index);
                (own, reply, socket)
            });
            match made {
                Ok((own, reply @ Reply::Granted { .. }, socket)) => {
                    granted.push((own, reply, socket));
                }
                Ok((own, reply, _)) => {
                    self.give_up(granted.iter().map(|(own, ..)| *own).chain([own]));
                    return Err(reply);
                }
                Err(reason) => {
                    self.give_up(granted.iter().map(|(own, ..)| *own));
                    return Err(refused(&reason));
                }
            }
        }
        let said = self.connections.get(&id).is_some_and(|connection| {
            let mut each = granted.iter();
            each.all(|(_, reply, socket)| {
                wire::send(&connection.guest.socket, reply, &[socket.as_fd()]).is_ok()
            })
        });
        if !said {
            self.give_up(granted.iter().map(|(own, ..)| *own).chain([id]));
        }
        Ok(())
    }

    fn give_up(&mut self, connections: impl Iterator<Item = u64>) {
        for connection in connections {
            self.hang_up(connection, None);
        }
    }

    /// A connection more of the same client, and its end of it.
    fn pair(&mut self, id: u64) -> Result<(u64, OwnedFd), String> {
        if self.connections.len() >= MOST_CONNECTIONS {
            return Err(format!("{MOST_CONNECTIONS} connections are open already"));
        }
        let Some(asking) = self.connections.get(&id) else {
            return Err("the connection is gone".to_owned());
        };
        let (holder, pid, uid) = (asking.holder.clone(), asking.guest.pid, asking.guest.uid);
        let no_socket = |error: std::io::Error| {
            format!(
                "fpgad has no descriptor left for a lease: raise its limit (ulimit -n): {error}"
            )
        };
        let (socket, theirs) = wire::pair().map_err(|errno| no_socket(errno.into()))?;
        let own = self.next;
        self.next += 1;
        add(&self.watch, &socket, own).map_err(no_socket)?;
        let connection = ClientConnection {
            guest: Guest { socket, pid, uid },
            lease: None,
            holder,
            asked: GrantRequest::Own,
        };
        self.connections.insert(own, connection);
        Ok((own, theirs))
    }

    fn grant(&mut self, id: u64, function: Function, index: usize) -> Reply {
        let device = self.devices.all()[index].clone();
        let (Some(connection), Some(queue)) =
            (self.connections.get_mut(&id), self.queues.get(device.board))
        else {
            return refused("the connection is gone");
        };
        let number = self.next;
        self.next += 1;
        let holder = Holder {
            name: connection.holder.clone(),
            pid: connection.guest.pid,
            uid: connection.guest.uid,
        };
        let geometry = self.options.profile.boards[device.board].geometry;
        let lease = match Lease::new(number, function, holder, geometry) {
            Ok(lease) => Arc::new(lease),
            Err(error) => return refused(&error.to_string()),
        };
        if let Err(error) = queue.add(&lease) {
            queue.remove(number);
            return refused(&format!("cannot watch the rings: {error}"));
        }
        connection.lease = Some(number);
        self.devices.give(index, number);
        self.leases.insert(number, (id, device.board, lease));
        Reply::Granted {
            lease: number,
            device: device.name,
            board: queue.name.clone(),
            geometry,
        }
    }

    /// Gives what is free to those who wait.
    pub(super) fn serve_line(&mut self) {
        while let Some((id, functions, wish)) = self.devices.next_in_line() {
            let reply = match wish {
                Availability::Free(found) => self.grant_each(id, &functions, &found),
                Availability::None(function) => Some(self.none(function, &functions, " any more")),
                Availability::Taken => None,
            };
            if let Some(reply) = reply {
                self.say(id, &reply);
            }
        }
    }
}
