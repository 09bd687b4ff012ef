//! Who is at the other end of a connection.
//!
//! A proxy on this machine that forwards the whole internet to us looks like its owner in everything but
//! one thing: another user of the system runs it. So does the browser of another user of the machine.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

/// The other end of a connection, cheap to clone into each of its requests.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its address.
    pub remote: SocketAddr,
    local: SocketAddr,
    /// Looked up when it is first asked for: a connection has one owner for as long as it lasts.
    user: Arc<OnceLock<Option<u32>>>,
}

impl Peer {
    /// The other end of a connection between these two.
    pub fn new(remote: SocketAddr, local: SocketAddr) -> Self {
        Self { remote, local, user: Arc::default() }
    }

    /// Whether its socket is on this machine and belongs to the user who runs this process.
    pub fn is_same_user(&self) -> bool {
        if !self.remote.ip().to_canonical().is_loopback() {
            return false;
        }
        let user = *self.user.get_or_init(|| sys::owner(self.remote, self.local));
        user.is_some() && user == sys::own_user()
    }
}

/// Whether this system tells who owns a connection.
pub fn is_known_here() -> bool {
    sys::own_user().is_some()
}

#[cfg(target_os = "linux")]
mod sys {
    use std::{
        io::{Read, Write},
        net::{IpAddr, SocketAddr},
        time::Duration,
    };

    use socket2::{Domain, Protocol, Socket, Type};

    const AF_NETLINK: i32 = 16;
    const NETLINK_SOCK_DIAG: i32 = 4;
    const SOCK_DIAG_BY_FAMILY: u16 = 20;
    const NLM_F_REQUEST: u16 = 1;
    const AF_INET: u8 = 2;
    const AF_INET6: u8 = 10;
    const IPPROTO_TCP: u8 = 6;
    const ESTABLISHED: u8 = 1;
    /// The header of a message, and where in the answer the owner stands.
    const HEADER: usize = 16;
    const UID_AT: usize = HEADER + 64;
    const ANSWER_TIME: Duration = Duration::from_millis(500);

    /// The user who runs this process.
    pub fn own_user() -> Option<u32> {
        Some(rustix::process::geteuid().as_raw())
    }

    /// The user whose socket is `from`, connected to `to`, on this machine. The kernel is asked for that one
    /// connection; where it does not answer, its list of all of them is read.
    pub fn owner(from: SocketAddr, to: SocketAddr) -> Option<u32> {
        asked(from, to).or_else(|| listed(from, to))
    }

    fn asked(from: SocketAddr, to: SocketAddr) -> Option<u32> {
        let mut socket = Socket::new(
            Domain::from(AF_NETLINK),
            Type::DGRAM,
            Some(Protocol::from(NETLINK_SOCK_DIAG)),
        )
        .ok()?;
        socket.set_read_timeout(Some(ANSWER_TIME)).ok()?;
        socket.write_all(&question(from, to)).ok()?;
        let mut answer = [0_u8; 1024];
        let length = socket.read(&mut answer).ok()?;
        let answer = answer.get(..length)?;
        // An answer of another kind says that there is no such connection, or that we may not know. One that is
        // closing is nobody's: its owner is told as 0, which is root.
        let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
        let open = kind == SOCK_DIAG_BY_FAMILY && *answer.get(HEADER + 1)? == ESTABLISHED;
        let found = open && answer.get(HEADER + 4..HEADER + 8)? == ports(from, to);
        let uid = u32::from_ne_bytes(answer.get(UID_AT..UID_AT + 4)?.try_into().ok()?);
        found.then_some(uid)
    }

    fn ports(from: SocketAddr, to: SocketAddr) -> [u8; 4] {
        let ([a, b], [c, d]) = (from.port().to_be_bytes(), to.port().to_be_bytes());
        [a, b, c, d]
    }

    /// `struct nlmsghdr`, then `struct inet_diag_req_v2`, as the kernel lays them out.
    fn question(from: SocketAddr, to: SocketAddr) -> Vec<u8> {
        let mut out = Vec::with_capacity(72);
        out.extend(72_u32.to_ne_bytes());
        out.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        out.extend(NLM_F_REQUEST.to_ne_bytes());
        out.extend([0; 8]);
        let family = if from.is_ipv4() { AF_INET } else { AF_INET6 };
        out.extend([family, IPPROTO_TCP, 0, 0]);
        out.extend((1_u32 << ESTABLISHED).to_ne_bytes());
        out.extend(ports(from, to));
        for ip in [from.ip(), to.ip()] {
            let mut bytes = [0_u8; 16];
            match ip {
                IpAddr::V4(ip) => bytes[..4].copy_from_slice(&ip.octets()),
                IpAddr::V6(ip) => bytes = ip.octets(),
            }
            out.extend(bytes);
        }
        out.extend(0_u32.to_ne_bytes());
        // No cookie: whichever connection has these addresses.
        out.extend([0xff; 8]);
        out
    }

    /// The same from `/proc/net/tcp` and `tcp6`, which list every connection of the machine.
    fn listed(from: SocketAddr, to: SocketAddr) -> Option<u32> {
        let file = if from.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
        found_in(&std::fs::read_to_string(file).ok()?, from, to)
    }

    /// One line has `sl local remote state tx:rx tr:when retransmitted uid …`.
    pub(super) fn found_in(list: &str, from: SocketAddr, to: SocketAddr) -> Option<u32> {
        let (from, to) = (written(from), written(to));
        list.lines().skip(1).find_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let line = (words.next()?, words.next()?, words.next()?);
            // One that is closing is listed as root's.
            if line != (from.as_str(), to.as_str(), "01") {
                return None;
            }
            words.nth(3)?.parse().ok()
        })
    }

    /// An address as the kernel writes it there: words of four bytes in the order of the processor.
    pub(super) fn written(address: SocketAddr) -> String {
        let bytes = match address.ip() {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        let words = bytes.chunks_exact(4).map(|word| {
            format!("{:08X}", u32::from_ne_bytes([word[0], word[1], word[2], word[3]]))
        });
        format!("{}:{:04X}", words.collect::<String>(), address.port())
    }

    #[cfg(test)]
    mod tests {
        use std::net::{TcpListener, TcpStream};

        use super::*;

        #[test]
        fn both_ways_name_the_owner_of_a_connection_of_our_own() {
            for address in ["127.0.0.1:0", "[::1]:0"] {
                let Ok(listener) = TcpListener::bind(address) else { continue };
                let to = listener.local_addr().unwrap();
                let stream = TcpStream::connect(to).unwrap();
                let from = stream.local_addr().unwrap();

                assert_eq!(listed(from, to), own_user(), "{address}");
                assert_eq!(owner(from, to), own_user(), "{address}");
                let nobody = SocketAddr::new(from.ip(), 1);
                assert_eq!(asked(nobody, to), None);
                assert_eq!(listed(nobody, to), None);
            }
        }

        #[test]
        fn a_line_of_the_kernels_list_is_read() {
            let list = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                 \x20  0: 0100007F:0BB8 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 1 1\n\
                 \x20  1: 0100007F:D431 0100007F:0BB8 01 00000000:00000000 00:00000000 00000000    33        0 2 1\n";
            let (server, client) =
                ("127.0.0.1:3000".parse().unwrap(), "127.0.0.1:54321".parse().unwrap());

            assert_eq!(found_in(list, client, server), Some(33));
            assert_eq!(found_in(list, server, client), Some(1000));
            assert_eq!(found_in("", server, client), None);
            assert_eq!(found_in(&list.replace(" 01 ", " 06 "), client, server), None);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod sys {
    use std::net::SocketAddr;

    /// Not known here.
    pub fn own_user() -> Option<u32> {
        None
    }

    /// Not known here.
    pub fn owner(_: SocketAddr, _: SocketAddr) -> Option<u32> {
        None
    }
}
