//! A whole job whose ApplicationMaster's port is attacked while it runs, by strangers and by one who
//! has a launcher's keys.

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::{Output, Stdio};
    use std::time::{Duration, Instant};

    use job::wire::launcher_event::Event;
    use job::wire::launchers_client::LaunchersClient;
    use job::{LauncherContext, Role, secrets, wire};
    use proto_hadoop::credentials::Credentials;
    use tempfile::TempDir;
    use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
    use tokio::net::TcpStream;
    use tokio::process::{Child, Command};
    use tokio::sync::mpsc;
    use tokio::time::{sleep, timeout};
    use tokio_stream::wrappers::ReceiverStream;
    use tonic::Code;
    use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

    /// A job of a second on a busy machine.
    const SOON: Duration = Duration::from_secs(40);
    /// Most that the ApplicationMaster may grow under attack, KiB: 512 handshakes of some 20 KiB.
    const GROWTH_MAX: u64 = 16 * 1024;

    /// A job of two nodes that runs until it is let go.
    struct HeldJob {
        child: Child,
        folder: TempDir,
        /// What one of its launchers was given.
        context: LauncherContext,
        credentials: Credentials,
    }

    impl HeldJob {
        async fn start() -> Self {
            use std::os::unix::fs::PermissionsExt as _;
            let open = std::fs::Permissions::from_mode(0o755);
            let folder = tempfile::Builder::new()
                .permissions(open)
                .tempdir()
                .unwrap();
            let script = "echo up; while [ ! -e \"$0\" ]; do sleep 0.05; done; echo gone";
            let mut child = Command::new(env!("CARGO_BIN_EXE_gerbil-run"))
                .args([
                    "--local=2",
                    "-n",
                    "2",
                    "--mem-per-proc",
                    "64",
                    "-r",
                    "loc+dist",
                ])
                .args(["--nodes", "2", "sh", "-c", script])
                .arg(folder.path().join("gate"))
                .env("TMPDIR", folder.path())
                .env("XDG_STATE_HOME", folder.path().join("state"))
                .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .kill_on_drop(true)
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap());
            for _ in 0..2 {
                let mut line = String::new();
                let read = timeout(SOON, lines.read_line(&mut line)).await;
                read.unwrap().unwrap();
                assert_eq!(line, "up\n");
            }
            child.stdout = Some(lines.into_inner());
            let (context, credentials) = files(folder.path(), "container_tokens")
                .iter()
                .find_map(|path| {
                    let credentials = Credentials::read(&std::fs::read(path).ok()?).ok()?;
                    let context =
                        serde_json::from_slice(credentials.secret(secrets::CONTEXT)?).ok()?;
                    Some((context, credentials))
                })
                .unwrap();
            Self {
                child,
                folder,
                context,
                credentials,
            }
        }

        /// Lets it end, well.
        async fn let_go(self) -> Output {
            std::fs::write(self.folder.path().join("gate"), "").unwrap();
            let output = timeout(SOON, self.child.wait_with_output()).await;
            let output = output.unwrap().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(0), "{said}");
            assert_eq!(output.stdout, b"gone\ngone\n", "{said}");
            output
        }

        fn secret(&self, alias: &str) -> &[u8] {
            self.credentials.secret(alias).unwrap()
        }

        /// A connection by TLS with a launcher's keys.
        async fn dial(&self) -> Channel {
            let identity =
                Identity::from_pem(self.secret(secrets::CERTIFICATE), self.secret(secrets::KEY));
            self.dial_as(Some(identity)).await.unwrap()
        }

        async fn dial_as(
            &self,
            identity: Option<Identity>,
        ) -> Result<Channel, tonic::transport::Error> {
            let mut tls = ClientTlsConfig::new()
                .ca_certificate(Certificate::from_pem(self.secret(secrets::AUTHORITY)))
                .domain_name(secrets::APPMASTER_NAME);
            if let Some(identity) = identity {
                tls = tls.identity(identity);
            }
            let endpoint = Endpoint::from_shared(format!("https://{}", self.context.appmaster))?;
            endpoint.tls_config(tls)?.connect().await
        }

        /// The process of the ApplicationMaster.
        fn appmaster(&self) -> PathBuf {
            let role = Role::Appmaster.argument();
            let folder = self.folder.path().to_str().unwrap();
            let holds = |path: &Path, file: &str, text: &str| {
                let bytes = std::fs::read(path.join(file)).unwrap_or_default();
                String::from_utf8_lossy(&bytes).contains(text)
            };
            let found = std::fs::read_dir("/proc").unwrap().flatten();
            let mut found = found.map(|entry| entry.path()).filter(|path| {
                let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
                // Not the shell that YARN starts it by.
                let own = line.split(|&byte| byte == 0).nth(1) == Some(role.as_bytes());
                own && holds(path, "environ", folder)
            });
            found.next().unwrap()
        }

        fn resident_kib(&self) -> u64 {
            let status = std::fs::read_to_string(self.appmaster().join("status")).unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
            line.unwrap()
                .trim()
                .trim_end_matches(" kB")
                .parse()
                .unwrap()
        }

        /// What the containers have written into their logs.
        fn logs(&self) -> String {
            let all = files(self.folder.path(), "stderr").into_iter();
            let all = all.chain(files(self.folder.path(), "stdout"));
            all.map(|path| std::fs::read_to_string(path).unwrap())
                .collect()
        }

        async fn logged(&self, words: &str) {
            let begin = Instant::now();
            while !self.logs().contains(words) {
                assert!(begin.elapsed() < SOON, "no {words:?} in {}", self.logs());
                sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// All files of that name below a folder.
    fn files(folder: &Path, name: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            // Links into the caches lead nowhere new.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                found.extend(files(&path, name));
            } else if entry.file_name() == name {
                found.push(path);
            }
        }
        found
    }

    /// Says hello in the name of `container`.
    async fn join(channel: Channel, container: &str, ticket: &[u8]) -> Code {
        let (said, saying) = mpsc::channel(1);
        let hello = Event::Hello(wire::LauncherHello {
            build: job::BUILD.into(),
            container: container.into(),
            ticket: ticket.to_vec(),
            node: None,
            life: b"a guest".to_vec(),
        });
        let hello = wire::LauncherEvent {
            event: Some(hello),
            ..wire::LauncherEvent::default()
        };
        said.send(hello).await.unwrap();
        let mut client = LaunchersClient::new(channel);
        let answer = timeout(SOON, client.join(ReceiverStream::new(saying))).await;
        answer
            .unwrap()
            .map_or_else(|status| status.code(), |_| Code::Ok)
    }

    #[tokio::test]
    async fn a_job_goes_on_while_strangers_flood_its_port() {
        let held = HeldJob::start().await;
        let before = held.resident_kib();
        let address = held.context.appmaster.clone();
        let mut flood = Vec::new();
        for number in 0..500_usize {
            let mut stream = TcpStream::connect(&address).await.unwrap();
            // Some say nothing, some the beginning of a handshake, some nonsense.
            let words = [b"".as_slice(), b"\x16\x03\x01\x40\x00\x01", b"hello?\r\n"][number % 3];
            stream.write_all(words).await.unwrap();
            flood.push(stream);
        }
        // Neither certificates of others nor none.
        let key = rcgen::KeyPair::generate().unwrap();
        let own = rcgen::CertificateParams::new(["launcher.gerbil".to_owned()]).unwrap();
        let own = own.self_signed(&key).unwrap();
        let others = Identity::from_pem(own.pem(), key.serialize_pem());
        for identity in [Some(others), None] {
            if let Ok(channel) = held.dial_as(identity).await {
                let code = join(channel, &held.context.container, &held.context.ticket).await;
                assert_ne!(code, Code::Ok);
            }
        }
        // Who has the keys gets through to the service meanwhile.
        let began = Instant::now();
        let code = join(
            held.dial().await,
            &held.context.container,
            &held.context.ticket,
        )
        .await;
        assert_eq!(code, Code::PermissionDenied);
        println!("through the flood in {:?}", began.elapsed());
        held.logged("refused").await;
        let grown = held.resident_kib().saturating_sub(before);
        println!("{before} KiB before, {grown} KiB more under 500 connections");
        assert!(grown < GROWTH_MAX, "{grown} KiB more than {before} KiB");
        // All are turned away at the deadline.
        for mut stream in flood {
            let mut rest = Vec::new();
            let _reset = timeout(SOON, stream.read_to_end(&mut rest)).await.unwrap();
        }
        assert!(held.logs().lines().count() < 100, "{}", held.logs());
        held.let_go().await;
    }

    #[tokio::test]
    async fn a_job_goes_on_when_somebody_has_the_keys_of_a_launcher() {
        let held = HeldJob::start().await;
        let (container, ticket) = (&held.context.container, &held.context.ticket);
        // The ticket has been used, and opens no other container's place.
        assert_eq!(
            join(held.dial().await, container, ticket).await,
            Code::PermissionDenied
        );
        let other = container.replace("000002", "000003");
        assert_eq!(
            join(held.dial().await, &other, ticket).await,
            Code::PermissionDenied
        );
        assert_eq!(
            join(held.dial().await, "", &[]).await,
            Code::PermissionDenied
        );
        held.logged("refused a launcher").await;
        // The client's service is not a launcher's.
        let mut client = wire::clients_client::ClientsClient::new(held.dial().await);
        let refused = client
            .output(wire::OutputRequest::default())
            .await
            .unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
        let before = held.resident_kib();
        // Messages of the greatest length that is no error by itself, for nobody.
        for _ in 0..3 {
            let code = join(held.dial().await, &"x".repeat(4_000_000), ticket).await;
            assert_ne!(code, Code::Ok);
        }
        let grown = held.resident_kib().saturating_sub(before);
        println!("{before} KiB before, {grown} KiB more");
        assert!(grown < GROWTH_MAX, "{grown} KiB more than {before} KiB");
        held.let_go().await;
    }
}
