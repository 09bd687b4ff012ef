//! Processes that are measured.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
};

/// A running server. It ends when this is stopped or dropped.
pub struct Server(Child);

impl Server {
    /// The optimised binary.
    pub fn greenroom(port: u16, data: &Path) -> Self {
        let mut command = Command::new("target/release/greenroom");
        command.args(["serve", "--addr", &format!("127.0.0.1:{port}"), "--data"]).arg(data);
        command.env("DATABASE_URL", "").env("RUST_LOG", "warn").stdout(Stdio::null());
        Self(command.spawn().expect("`make build` comes first"))
    }

    /// This program as a bare server.
    pub fn bare() -> Self {
        let this = std::env::current_exe().unwrap();
        Self(Command::new(this).arg("--bare").spawn().unwrap())
    }

    /// What it holds in memory.
    pub fn memory_mib(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kib / 1024.0
    }

    /// Ends it.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().unwrap_or_default();
        self.0.wait().map(drop).unwrap_or_default();
    }
}
