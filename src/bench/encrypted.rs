//! A router, served as the services out there are: encrypted, by HTTP/2, with so many answers on a connection.

use std::{convert::Infallible, io, net::SocketAddr, path::Path, sync::Arc};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use rcgen::generate_simple_self_signed;
use rustls::{ServerConfig, crypto::ring::default_provider, pki_types::PrivateKeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// How many answers go on one connection.
pub const STREAMS: u32 = 100;

/// Listens at this address of this machine and serves for ever; what it gives tells where. Whoever asks must
/// trust the certificate in this file.
pub async fn listen(
    at: SocketAddr,
    router: Router,
    file: &Path,
) -> (SocketAddr, impl Future<Output = Infallible> + use<>) {
    let made = generate_simple_self_signed([at.ip().to_string()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec!["h2".into()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let service = TowerToHyperService::new(router);
    let listener = TcpListener::bind(at).await.unwrap();
    let address = listener.local_addr().unwrap();
    std::fs::write(file, made.cert.pem()).unwrap();
    let serving = async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let (acceptor, service) = (acceptor.clone(), service.clone());
            tokio::spawn(async move {
                let stream = TokioIo::new(acceptor.accept(stream).await?);
                let mut server = auto::Builder::new(TokioExecutor::new());
                server.http2().max_concurrent_streams(STREAMS);
                // A connection that ends takes nobody along.
                server.serve_connection(stream, service).await.unwrap_or_default();
                Ok::<(), io::Error>(())
            });
        }
    };
    (address, serving)
}
