//! Log-ins to NodeManagers, kept for the life of an ApplicationMaster.

use std::collections::BTreeMap;

use credentials::Token;

use crate::NodeId;

use super::NmToken;

/// The newest log-in to each node.
///
/// The ResourceManager sends each one once, and again only when its key changed or the node
/// registered anew; one that is lost cannot be asked for again. A connection stays logged in with
/// the token it began with, so a node whose token changed wants a new
/// [`ContainerClient`](crate::ContainerClient).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NmTokens {
    tokens: BTreeMap<NodeId, Token>,
}

impl NmTokens {
    /// Keeps these, each in place of an older one of its node. Returns the nodes whose token
    /// changed, in order.
    pub fn keep(&mut self, newer: impl IntoIterator<Item = NmToken>) -> Vec<NodeId> {
        let mut changed = Vec::new();
        for NmToken { node, token } in newer {
            if self.tokens.get(&node) != Some(&token) {
                changed.push(node.clone());
                self.tokens.insert(node, token);
            }
        }
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// The newest log-in to `node`.
    #[must_use]
    pub fn of(&self, node: &NodeId) -> Option<&Token> {
        self.tokens.get(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_token_of_each_node_wins() {
        let node = |port| NodeId {
            host: "n1".into(),
            port,
        };
        let token = |byte: u8| Token {
            identifier: vec![byte],
            ..Token::default()
        };
        let mut tokens = NmTokens::default();
        let first = NmToken {
            node: node(1),
            token: token(1),
        };
        let other = NmToken {
            node: node(2),
            token: token(2),
        };
        assert_eq!(tokens.keep([first.clone(), other]), [node(1), node(2)]);
        assert_eq!(tokens.keep([first]), []);
        assert_eq!(
            tokens.keep([NmToken {
                node: node(1),
                token: token(3)
            }]),
            [node(1)]
        );
        assert_eq!(tokens.of(&node(1)), Some(&token(3)));
        assert_eq!(tokens.of(&node(2)), Some(&token(2)));
        assert_eq!(tokens.of(&node(9)), None);
    }
}
