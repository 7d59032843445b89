//! Joins a cluster with a node of this crate:
//!
//! ```console
//! $ HADOOP_CONF_DIR=/etc/hadoop/conf cargo run -p mini --example node -- 127.0.0.9 2048
//! ```
//!
//! The address is one of this machine's loopback, so that the ResourceManager must run here too;
//! the number is what the node offers, MiB. It leaves when its standard input ends.

use std::time::Duration;

use mini::node_manager::{NodeManager, NodeManagerOptions};
use proto_hadoop::conf::Configuration;
use proto_hadoop::yarn::Resource;
use tokio::io::{AsyncReadExt, stdin};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(host), Some(memory)) = (arguments.next(), arguments.next()) else {
        return Err("usage: node ADDRESS MIB".into());
    };
    let settings = Configuration::load(&|name| std::env::var(name).ok())?;
    let key = "yarn.resourcemanager.resource-tracker.address";
    let tracker = match settings.trimmed(key)? {
        Some(address) => address,
        None => {
            let manager = settings.trimmed("yarn.resourcemanager.hostname")?;
            format!(
                "{}:8031",
                manager.ok_or("the settings name no ResourceManager")?
            )
        }
    };
    let folder = tempfile::tempdir()?;
    let node = NodeManager::start(NodeManagerOptions {
        host,
        resource: Resource::new(memory.parse()?, 4),
        trackers: vec![tracker],
        folder: folder.path().to_owned(),
        user: "mini".to_owned(),
    })
    .await?;
    tokio::io::AsyncWriteExt::write_all(
        &mut tokio::io::stdout(),
        format!("{} has registered\n", node.id()).as_bytes(),
    )
    .await?;
    stdin().read_to_end(&mut Vec::new()).await?;
    node.stop(Duration::from_secs(1)).await;
    Ok(())
}
