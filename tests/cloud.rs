//! A table on S3, served by moto on loopback, where Python has it and feature `cloud` is on.

#![cfg_attr(not(feature = "cloud"), allow(unused_imports))]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use miniblock::{MiniblockOptions, SessionContextExt};

use crate::files::{properties, sample};
use crate::oracle::{Settings, announce, miniblock_session, run};

#[cfg(not(feature = "cloud"))]
#[test]
fn s3() {
    announce("NOT TESTED: tables on S3, for feature `cloud` is off (cargo test --workspace --features cloud)");
}

/// A server that ends with the test.
#[cfg(feature = "cloud")]
struct Moto(Child, u16);

#[cfg(feature = "cloud")]
impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(feature = "cloud")]
impl Moto {
    /// None if Python or moto is not there.
    fn start() -> Option<Self> {
        let there = Command::new("python3").args(["-c", "import moto.server, flask"]).stderr(Stdio::null()).status();
        if !there.is_ok_and(|status| status.success()) {
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Command::new("python3")
            .args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let moto = Self(server, port);
        for _ in 0..300 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(moto);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("moto does not answer");
    }

    fn put(&self, path: &str, body: &[u8]) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.1)).unwrap();
        let head = format!(
            "PUT {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: {}\r\nConnection: close\r\n\
             Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request\r\n\r\n",
            self.1,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

#[cfg(feature = "cloud")]
#[tokio::test]
async fn s3() {
    let Some(moto) = Moto::start() else {
        announce("NOT TESTED: tables on S3, for there is no moto (pip install 'moto[server]')");
        return;
    };
    let batch = sample(5000);
    let mut writer = parquet::arrow::ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties())).unwrap();
    writer.write(&batch).unwrap();
    moto.put("/bucket", b"");
    let file = writer.into_inner().unwrap();
    moto.put("/bucket/folder/a.parquet", &file);
    moto.put("/bucket/folder/b.parquet", &file);
    let options = || {
        MiniblockOptions::new()
            .with_store_option("aws_endpoint", format!("http://127.0.0.1:{}", moto.1))
            .with_store_option("aws_allow_http", "true")
            .with_store_option("aws_region", "us-east-1")
            .with_store_option("aws_access_key_id", "test")
            .with_store_option("aws_secret_access_key", "hidden")
    };
    assert!(!format!("{:?}", options()).contains("hidden"));
    for partitions in [1, 3] {
        let ctx = miniblock_session(Settings { partitions, ..Settings::default() });
        ctx.register_miniblock("one", "s3://bucket/folder/a.parquet", options()).await.unwrap();
        ctx.register_miniblock("all", "s3://bucket/folder/", options()).await.unwrap();
        let sums = "SELECT count(*), sum(id), count(k), max(s) FROM one WHERE id >= 10";
        assert_eq!(run(&ctx, sums).await.unwrap().num_rows(), 1);
        let count = run(&ctx, "SELECT id FROM all WHERE k < 10").await.unwrap().num_rows();
        assert_eq!(count, 2 * run(&ctx, "SELECT id FROM one WHERE k < 10").await.unwrap().num_rows());
        assert!(count > 1000);
        let error =
            ctx.register_miniblock("none", "s3://bucket/none.parquet", options()).await.unwrap_err().to_string();
        assert!(error.contains("none.parquet"), "{error}");
    }
}
