//! Who asks for a virtual device, and gets it, waits, or is refused.

use super::{Driver, refused};
use crate::daemon::devices::Availability;
use crate::daemon::lease::{Holder, Lease};
use crate::function::Function;
use crate::wire::Reply;
use std::sync::Arc;

impl Driver {
    pub(super) fn wish(&mut self, id: u64, function: Function, wait: bool) -> Reply {
        match self.devices.find(function) {
            Availability::Free(index) => self.grant(id, function, index),
            Availability::None => refused(&format!(
                "no board of this node computes {function}, or it is off"
            )),
            Availability::Taken if wait => Reply::Waiting {
                ahead: self.devices.wait(id, function),
            },
            Availability::Taken => {
                refused(&format!("all virtual devices for {function} are leased"))
            }
        }
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
        while let Some((id, function, wish)) = self.devices.next_in_line() {
            let reply = match wish {
                Availability::Free(index) => self.grant(id, function, index),
                _ => refused(&format!(
                    "no board of this node computes {function} any more"
                )),
            };
            self.say(id, &reply);
        }
    }
}
