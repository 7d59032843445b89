//! One order to the ApplicationMaster.

use job::wire;
use job::wire::client_order::Order;
use tokio::sync::mpsc;

/// Sends it.
pub(super) async fn order(orders: &mpsc::Sender<wire::ClientOrder>, order: Order) {
    let order = wire::ClientOrder { order: Some(order) };
    // A link that is gone has its own report.
    let _sent = orders.send(order).await.is_ok();
}
