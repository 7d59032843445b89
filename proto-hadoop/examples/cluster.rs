//! Lists the nodes and applications of the cluster that `HADOOP_CONF_DIR` names.
//!
//! ```text
//! HADOOP_CONF_DIR=/etc/hadoop/conf cargo run -p proto-hadoop --example cluster
//! ```
#![expect(clippy::print_stdout, reason = "an example that prints")]

use std::error::Error;

use proto_hadoop::ApplicationClient;
use proto_hadoop::conf::Configuration;
use proto_hadoop::yarn::ApplicationFilter;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let env = |name: &str| std::env::var(name).ok();
    let settings = Configuration::load(&env)?;
    for file in settings.files() {
        println!("read {}", file.display());
    }
    let user = env("HADOOP_USER_NAME")
        .or_else(|| env("USER"))
        .unwrap_or("nobody".to_owned());
    let client = ApplicationClient::new(settings.resource_managers()?.client, &user);

    // The calls share one connection.
    let filter = ApplicationFilter::default();
    let (metrics, nodes, types, applications) = tokio::try_join!(
        client.cluster_metrics(),
        client.nodes(&[]),
        client.resource_types(),
        client.applications(&filter),
    )?;
    println!(
        "{} nodes, {} of them active, {} lost",
        metrics.nodes, metrics.active, metrics.lost
    );
    if nodes.unread > 0 {
        println!("{} nodes could not be read", nodes.unread);
    }
    for node in nodes {
        println!(
            "{:<24} {:?} {} {}: {} containers, uses {} of {}",
            node.id.to_string(),
            node.state,
            node.rack,
            node.labels.join(","),
            node.containers,
            node.used,
            node.capability
        );
    }
    let types: Vec<String> = types.into_iter().map(|known| known.name).collect();
    println!("resource types: {}", types.join(", "));
    println!(
        "{} applications, {} could not be read",
        applications.len(),
        applications.unread
    );
    for report in applications {
        println!(
            "{} {:?}/{:?} {} {} {} \"{}\" {}",
            report.id,
            report.state,
            report.final_status,
            report.user,
            report.queue,
            report.application_type,
            report.name,
            report.diagnostics.trim()
        );
    }
    Ok(())
}
