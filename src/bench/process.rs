//! Processes that are measured.

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use super::client::Load;

/// How long a tick of the kernel's accounts is: 100 a second on every Linux.
const TICK: Duration = Duration::from_millis(10);

/// A running server at a port of its own. It ends when this is dropped.
pub struct Server {
    child: Child,
    pub port: u16,
}

impl Server {
    /// The server that is measured. Its Ollama is at the other port.
    pub fn greenroom(binary: &Path, data: &Path, service_port: u16) -> Self {
        Self::greenroom_with(binary, data, service_port, &[])
    }

    /// The same with these variables.
    pub fn greenroom_with(
        binary: &Path,
        data: &Path,
        service_port: u16,
        variables: &[(&str, String)],
    ) -> Self {
        let port = free_port();
        let mut command = Command::new(binary);
        command.args(["serve", "--addr", &format!("127.0.0.1:{port}"), "--data"]).arg(data);
        // What goes wrong is told by the client, once, and not by thousands of lines.
        command.env("DATABASE_URL", "").env("RUST_LOG", "off").stdout(Stdio::null());
        command.env("OLLAMA_HOST", format!("127.0.0.1:{service_port}"));
        command.envs(variables.iter().cloned());
        Self { child: command.spawn().expect("`make build` comes first"), port }
    }

    /// This program as the fake service.
    pub async fn service() -> Self {
        Self::this("--service", &[]).ready("/last").await
    }

    /// This program as the fake service, encrypted; the certificate will be in this file.
    pub async fn encrypted_service(file: &Path) -> Self {
        let mut service = Self::this("--encrypted-service", &[file.display().to_string()]);
        // It says so when the file is there.
        let said = service.child.stdout.take().unwrap();
        let line = tokio::task::spawn_blocking(|| BufReader::new(said).lines().next());
        line.await.unwrap().unwrap().unwrap();
        service
    }

    /// This program as the bare server, and a proxy to the service at the other port.
    pub async fn bare(service_port: u16) -> Self {
        Self::this("--bare", &[service_port.to_string()]).ready("/healthz").await
    }

    fn this(role: &str, more: &[String]) -> Self {
        let port = free_port();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(role).arg(port.to_string()).args(more).stdout(Stdio::piped());
        Self { child: command.spawn().unwrap(), port }
    }

    /// Waits until it answers.
    pub async fn ready(mut self, path: &str) -> Self {
        let load = self.load();
        while load.read(path).await.is_none() {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "a server ended before it answered");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        self
    }

    /// A client for it.
    pub fn load(&self) -> Load {
        Load::new(self.port)
    }

    /// What it holds in memory.
    pub fn memory_kib(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// The processor time it took so far, its own and the kernel's for it.
    pub fn processor_time(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        // The name may hold anything, so what comes after it is counted from its end.
        let (_, after_name) = stat.rsplit_once(')').unwrap();
        let fields = after_name.split_whitespace().skip(11).take(2);
        TICK * fields.map(|ticks| ticks.parse::<u32>().unwrap()).sum::<u32>()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

/// How many files and connections a process may have open here.
pub fn descriptors() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    line.split_whitespace().nth(3).unwrap().parse().unwrap_or(usize::MAX)
}

/// A port that nobody listens on.
fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}
