//! Connections that did not come about, or have ended, in the words of one call.

use std::io;
use std::sync::Arc;

use super::connection::Disconnect;
use super::error::CallError;

/// Why no connection came about, with what to look at.
pub(super) fn connect_error(address: &str, source: io::Error) -> CallError {
    let hint = match source.kind() {
        io::ErrorKind::ConnectionRefused => {
            "nothing listens there: is the daemon running, and is it the active one?"
        }
        io::ErrorKind::TimedOut => "is the host up, and does a firewall drop the port?",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            "is there a route to this network?"
        }
        io::ErrorKind::InvalidInput => "an address is host:port",
        _ => "does the name resolve here, and is the address right?",
    };
    CallError::Connect {
        address: address.to_owned(),
        hint,
        source: Arc::new(source),
    }
}

/// Puts the end of a connection into the words of one call.
pub(super) fn explain_end(
    end: Disconnect,
    method: &'static str,
    address: String,
    sent: bool,
) -> CallError {
    match end {
        Disconnect::Fatal { class, message }
            if class.ends_with("AccessControlException") && message.contains("KERBEROS") =>
        {
            // "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]"
            let offered = message
                .split_once('[')
                .and_then(|(_, rest)| rest.split_once(']'));
            let offered = offered.map_or("KERBEROS", |(list, _)| list).to_owned();
            CallError::KerberosWanted { address, offered }
        }
        Disconnect::Fatal { class, message } => CallError::Refused {
            address,
            class,
            message,
        },
        Disconnect::Kerberos { offered } => CallError::KerberosWanted { address, offered },
        Disconnect::Io(source) => CallError::Lost {
            method,
            address,
            sent,
            source,
        },
        Disconnect::Foreign { found } => CallError::NotHadoop { address, found },
        Disconnect::Garbled { problem } => CallError::Malformed {
            method,
            address,
            problem,
        },
        Disconnect::Sasl(source) => CallError::Login { address, source },
        Disconnect::Dropped => {
            let source = Arc::new(io::Error::from(io::ErrorKind::ConnectionAborted));
            CallError::Lost {
                method,
                address,
                sent,
                source,
            }
        }
    }
}
