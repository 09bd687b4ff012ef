//! Which addresses are those of the public internet: what is asked for by somebody who does not run the server
//! reaches nothing nearer.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

/// Ranges of IPv4 that are not the public internet: the first address and how many bits count.
const PRIVATE_V4: [(Ipv4Addr, u32); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10), // of providers, behind their own translation
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(168, 63, 129, 16), 32), // tells machines of one cloud about themselves
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
    (Ipv4Addr::new(255, 255, 255, 255), 32),
];

/// Where the public internet is in IPv6, and what in there is not: documentation, and addresses that
/// stand for one of IPv4.
const PUBLIC_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
const PRIVATE_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// One address, or all that begin as it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    /// How many bits count.
    bits: u32,
}

impl Network {
    /// Whether an address is one of these.
    pub fn contains(&self, address: IpAddr) -> bool {
        let rest = |width: u32| width - self.bits;
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(ours), IpAddr::V4(other)) => {
                (ours.to_bits() ^ other.to_bits()) >> rest(Ipv4Addr::BITS) == 0
            }
            (IpAddr::V6(ours), IpAddr::V6(other)) => {
                (ours.to_bits() ^ other.to_bits()) >> rest(Ipv6Addr::BITS) == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

impl FromStr for Network {
    type Err = String;

    /// `10.0.0.1` or `10.0.0.0/8`; never all addresses.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("“{text}” is no address such as 10.0.0.1, and no network such as 10.0.0.0/8")
        };
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(at, bits)| (at, Some(bits)));
        let address = address.parse::<IpAddr>().map_err(|_| wrong())?.to_canonical();
        let most = if address.is_ipv4() { Ipv4Addr::BITS } else { Ipv6Addr::BITS };
        let bits = bits.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
        if (1..=most).contains(&bits) { Ok(Self { address, bits }) } else { Err(wrong()) }
    }
}

/// The addresses that are counted together with this one: whoever has one address of IPv6 has some billions of
/// them.
pub fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        IpAddr::V4(address) => address.into(),
    }
}

/// The same as a word to count by. What is no address stands for itself.
pub fn neighbourhood_word(address: &str) -> String {
    match address.parse() {
        Ok(address) => neighbourhood(address).to_string(),
        Err(_) => address.to_owned(),
    }
}

/// Whether an address is one of the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !PRIVATE_V4.iter().any(|(range, bits)| {
            let shift = 32 - bits;
            address.to_bits() >> shift == range.to_bits() >> shift
        }),
        IpAddr::V6(address) => {
            let within = |(range, bits): &(Ipv6Addr, u32)| {
                let shift = 128 - bits;
                address.to_bits() >> shift == range.to_bits() >> shift
            };
            within(&PUBLIC_V6) && !PRIVATE_V6.iter().any(within)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_all_addresses_that_begin_alike() {
        let held = |network: &str, address: &str| {
            network.parse::<Network>().unwrap().contains(address.parse().unwrap())
        };

        for (network, inside, outside) in [
            ("10.0.0.1", "10.0.0.1", "10.0.0.2"),
            ("::ffff:10.0.0.1", "::ffff:10.0.0.1", "::1"),
            ("172.18.3.4/16", "172.18.255.255", "172.19.0.0"),
            ("10.0.0.1/1", "127.255.255.255", "128.0.0.0"),
            ("fd00::/8", "fdff::1", "fe00::"),
            ("fd00::1", "fd00::1", "fd00::2"),
        ] {
            assert!(held(network, inside), "{network} {inside}");
            assert!(!held(network, outside), "{network} {outside}");
        }
    }

    #[test]
    fn the_addresses_of_one_house_are_counted_together() {
        let word = neighbourhood_word;
        assert_eq!(word("2001:db8:1:2:3:4:5:6"), word("2001:db8:1:2::9"));
        assert_ne!(word("2001:db8:1:2::9"), word("2001:db8:1:3::9"));
        assert_eq!(word("::ffff:10.0.0.1"), "10.0.0.1");
        assert_eq!(word("10.0.0.1"), "10.0.0.1");
        assert_eq!(word(""), "");
    }

    #[test]
    fn only_the_public_internet_is_public() {
        for near in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(near.parse().unwrap()), "{near}");
        }
        for far in [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.216.34",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.167.1.1",
            "198.17.1.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450:4001::200e",
            "2001:4860:4860::8888",
        ] {
            assert!(is_public(far.parse().unwrap()), "{far}");
        }
    }
}
