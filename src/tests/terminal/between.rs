//! What stands between a terminal and a server: it lets through what it is told to, and is heard of what it
//! does not.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, mpsc},
};

use super::program::{PATIENCE, Server};

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The server answers it.
    Passed,
    /// Nobody ever answers it.
    Held,
    /// The server answers it, and the answer is lost.
    Lost,
}

/// A connection that is not to be trusted.
pub struct Between {
    pub address: String,
    met: mpsc::Receiver<String>,
}

impl Between {
    /// Stands before a server. What becomes of a request is decided by its first line.
    pub fn before(server: &Server, fate: impl Fn(&str) -> Fate + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let host = server.address.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let (fate, (tell, met)) = (Arc::new(fate), mpsc::channel());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (host, fate, tell) = (host.clone(), fate.clone(), tell.clone());
                std::thread::spawn(move || carry(stream, &host, &*fate, &tell));
            }
        });
        Self { address, met }
    }

    /// Waits until something was held or lost.
    pub fn meets(&self) -> String {
        self.met.recv_timeout(PATIENCE).expect("nothing was asked for that does not come through")
    }

    /// Whatever was held or lost meanwhile.
    pub fn met(&self) -> Vec<String> {
        self.met.try_iter().collect()
    }
}

/// Carries one request to the server, and its answer back.
fn carry(
    mut stream: TcpStream,
    host: &str,
    fate: &dyn Fn(&str) -> Fate,
    tell: &mpsc::Sender<String>,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut first = String::new();
    // A connection may be opened and not used.
    if reader.read_line(&mut first).unwrap_or_default() == 0 {
        return;
    }
    let (mut head, mut length) = (first.clone(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let name = line.split(':').next().unwrap_or_default().trim().to_lowercase();
        match name.as_str() {
            "" => break,
            "host" | "connection" => continue,
            "content-length" => length = line.split(':').nth(1).unwrap().trim().parse().unwrap(),
            _ => {}
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let fate = fate(&first);
    if fate == Fate::Held {
        tell.send(first).unwrap_or_default();
        // It stays open until whoever asked is gone.
        std::io::copy(&mut reader, &mut std::io::sink()).unwrap_or_default();
        return;
    }
    let mut server = TcpStream::connect(host).unwrap();
    write!(server, "{head}Host: {host}\r\nConnection: close\r\n\r\n").unwrap();
    server.write_all(&body).unwrap();
    match fate {
        Fate::Lost => {
            server.set_read_timeout(Some(PATIENCE)).unwrap();
            std::io::copy(&mut server, &mut std::io::sink()).unwrap();
            tell.send(first).unwrap_or_default();
        }
        Fate::Passed | Fate::Held => {
            // Whoever asked may be gone before all of the answer is there.
            std::io::copy(&mut server, &mut stream).unwrap_or_default();
        }
    }
}
